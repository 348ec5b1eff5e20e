"""The comparison of a suite's question files in JSON with its arrays in HDF5."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from clevrhope.audit.checks.json_agreement import JsonAgreement
from clevrhope.audit.checks.question_rows import RowCheck
from clevrhope.audit.folder import AuditFolder, SuitePlace
from clevrhope.audit.leaks.report import Violations
from clevrhope.audit.report import Check
from clevrhope.audit.suites.structure import RELATIONS, TIERS
from clevrhope.dataset.native_reader import QuestionReader
from clevrhope.dataset.scene_files import PoolScenes
from clevrhope.dataset.split_files import PairArrays, SplitArrays, Vocab, read_question_rows
from clevrhope.runtime.json_text import parse_json

ROLES = ("original", "partner")
"""Roles by their number in files."""


def check_question_file(
    folder: AuditFolder,
    place: SuitePlace,
    arrays: PairArrays,
    pool: PoolScenes,
    reader: QuestionReader,
    families: Sequence[tuple[str, int]],
    check: Check,
) -> None:
    """Compares each row's question and its keys about the pair; `families` are (file, index) by number.

    Raises:
        DatasetError: the file cannot be read, or a row is not a question.
    """
    wanted = _of_pairs(place, arrays, folder.vocab)
    check_rows(folder, place, arrays, pool, reader, families, check, wanted=wanted, numbered=False)
    check.n_checked += len(arrays)


def check_rows(
    folder: AuditFolder,
    place: SuitePlace,
    arrays: SplitArrays,
    pool: PoolScenes,
    reader: QuestionReader,
    families: Sequence[tuple[str, int]],
    check: Check,
    *,
    wanted: Iterable[Mapping[str, object]],
    numbered: bool,
) -> None:
    """Compares each row's question with the arrays, and the keys at its end with those in `wanted`.

    `numbered` says whether the rows have numbers in their split.

    Raises:
        DatasetError: the file cannot be read, or a row is not a question.
    """
    path, found = place.json, Violations()
    agreement = JsonAgreement(reader, path, folder.layout.root, place.file, found, numbered=numbered)
    agreement.compare(arrays, pool)
    for each in found.listed:
        check.fault(each.file, each.index, each.problem, each.value)
    check.n_faults += sum(found.counts.values()) - len(found.listed)
    file = folder.layout.relative(path)
    RowCheck(place, path, file, families, check).check(arrays)
    for k, (keys, (line, row)) in enumerate(zip(wanted, read_question_rows(path), strict=False)):
        # As in question_rows, a row is parsed only if this package would have written it differently.
        if row.endswith(b", " + json.dumps(keys)[1:].encode()):
            continue
        fields = parse_json(row, path, line=line)
        for name, value in keys.items():
            if fields.get(name, "") != value:
                check.fault(file, k, f"{name} is not {value}, as in HDF5", fields.get(name))


def _of_pairs(place: SuitePlace, arrays: PairArrays, vocab: Vocab) -> Iterator[dict[str, object]]:
    """The keys of each row that describe its pair, from the columns."""
    names = ("pair_idxs", "role", "test", "tier", "cell", "orig_idxs", "relation", "value")
    answers = {number: answer for answer, number in vocab.answers.items()}
    for pair, role, test, tier, cell, original, relation, value in zip(
        *(arrays.columns[name].tolist() for name in names), strict=True
    ):
        yield {
            "suite": place.suite,
            "pair_index": pair,
            "role": _name(ROLES, role),
            "test": _name(arrays.tests, test),
            "tier": _name(TIERS, tier),
            "cell": f"{cell >> 1}{cell & 1}",
            "original_index": None if original < 0 else original,
            "relation": _name(RELATIONS, relation),
            "value": None if value < 0 else answers.get(value, str(value)),
        }


def _name(names: Sequence[str], number: int) -> str:
    return names[number] if 0 <= number < len(names) else str(number)
