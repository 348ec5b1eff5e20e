"""The check of a folder's questions over several images: rules, applied split by split, and shared texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader
from clevrhope.audit.checks.questions import of_attributes, of_ranges, of_vocabulary, text_digests
from clevrhope.audit.folder import AuditFolder, SetFile
from clevrhope.audit.json_agreement import Columns, Encoder, compare_json
from clevrhope.audit.report import CheckResult, Found, Results, where
from clevrhope.audit.sets.balance import LEAST_QUESTIONS, BalanceCheck
from clevrhope.audit.sets.rules import RULES, SetBatches, scene_rows
from clevrhope.dataset.native_reader import question_reader, vocabulary_of
from clevrhope.dataset.question_kinds import STRUCTURES
from clevrhope.dataset.split_files import read_vocab
from clevrhope.errors import DatasetError, VocabularyError
from clevrhope.runtime.progress import Advance
from clevrhope.splits.covr.kinds import COVR_KINDS
from clevrhope.splits.palettes import pool_name

Numbers: TypeAlias = npt.NDArray[np.int64]

FILES, PAIR = "several images: files", "several images: pair"
"""Names of lines of the report."""

_PHRASINGS = 1 << 16
"""An upper bound on the phrasings of a kind of question."""

_VARIANTS = 16
"""An upper bound on the variants of a template."""


LEAST_SHARE = 0.98
"""Least share of train's texts that must have two answers or more."""


@dataclass(frozen=True)
class Texts:
    """The texts of a split's N questions."""

    digests: npt.NDArray[np.uint64]
    """(N,) a digest of each text."""
    phrasings: npt.NDArray[np.int64]
    """(N,) a number for each phrasing of each kind of question; -1 if JSON does not give one."""
    answers: npt.NDArray[np.int32]


def check_sets(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Reads the questions over several images."""
    if not folder.all_sets:
        for result in results.values():
            result.skip("this folder has no questions over several images")
    if not folder.sets:
        return
    vocab = read_vocab(folder.layout.covr_vocab)
    results[FILES].add("covr/vocab.json", of_vocabulary(vocab, folder.vocab))
    balance = BalanceCheck(vocab, results["several images: balance"])
    for hop in dict.fromkeys(split.hop for split in folder.sets):
        try:
            reader = question_reader(vocab, hop.target, folder.templates.words, vocabulary_of(vocab))
        except VocabularyError as error:
            raise DatasetError(f"{folder.layout.covr_vocab}: {error}") from error
        texts = {}
        splits = [split for split in folder.sets if split.hop == hop]
        for split in splits:
            with split.open() as arrays:
                pool, settings = folder.scenes[split.pool], folder.manifest.settings
                file = SetBatches(split, arrays, vocab, settings, pool, reader)
                texts[split.name] = _check_split(folder, file, results, balance)
            advance(1)
        _check_texts(splits, texts, results["several images: texts"])
    if not results["several images: balance"].n_checked:
        why = f"no cell has {LEAST_QUESTIONS:,} questions; smaller ones are not looked at"
        results["several images: balance"].skip(why)


def _check_split(folder: AuditFolder, file: SetBatches, results: Results, balance: BalanceCheck) -> Texts:
    split, arrays, hop = file.split, file.arrays, file.split.hop
    kind = COVR_KINDS[split.name]
    wanted_pool = pool_name(kind.pool if hop.held_out else kind.plain_pool, hop.pools)
    attributes = {"hop": hop.name, "split": split.name, "pool": wanted_pool}
    results[FILES].add(split.file, of_attributes(arrays, attributes))
    results[FILES].add(split.file, of_ranges(arrays))
    if sorted(arrays.templates) != sorted(AuditReader.TEMPLATES):
        results[FILES].fault(split.file, None, "attribute templates are not COVR's", arrays.templates)
    phrasings: list[Numbers] = []
    if split.json.is_file() and folder.is_readable(split.json):
        compare_json(folder.layout, split.json, arrays, _encoder(file, phrasings), (), results[FILES])
    batches = []
    for batch in file.batches():
        for name, rule in RULES.items():
            if name != PAIR or hop.held_out is not None:
                results[name].n_checked += len(batch)
                results[name].add(split.file, rule(batch), batch.numbers)
        kinds = batch.findings.templates.astype(np.int64) * _VARIANTS + batch.findings.variants
        batches.append((text_digests(batch["questions"]), kinds, batch.sizes))
    empty = (np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros((0, 3), np.int64))
    texts, kinds, sizes = map(np.concatenate, zip(empty, *batches, strict=True))
    balance.check_split(split, arrays, sizes)
    numbers = np.concatenate([*phrasings, np.full(len(arrays), -1)])[: len(arrays)]
    known = (numbers >= 0) & (numbers < _PHRASINGS)
    of_kinds = np.where(known, kinds * _PHRASINGS + numbers, -1)
    return Texts(texts, of_kinds, arrays.columns["answers"].astype(np.int32))


def _encoder(file: SetBatches, phrasings: list[Numbers]) -> Encoder:
    """The encoder of questions over several images; appends the number of each question's phrasing."""
    arrays, split, pool = file.arrays, file.split, file.pool
    widths = [arrays.tokens(name, 0, 1).shape[1] for name in ("questions", "programs")]

    def encode(rows: Sequence[tuple[int, bytes]], first: int) -> tuple[Columns, Iterable[Found]]:
        try:
            names = (split.name, arrays.templates, STRUCTURES)
            found = file.reader.encode_sets([row for _, row in rows], *names)
        except ValueError as error:
            place = f"in the {len(rows)} questions from {first} on"
            raise DatasetError(f"{split.json}: {place}: {error}") from error
        questions, question_lengths = found.questions(widths[0])
        programs, program_lengths = found.programs(widths[1])
        n_images, sources, families, structures, phrasing, other_split, orig_idxs = found.numbers.T
        images = found.image_idxs
        phrasings.append(phrasing)
        scenes = scene_rows(images, pool)[2]
        named = found.are_named(pool.native, scenes) | (scenes[:, 0] < 0)
        named &= (images >= 0).sum(axis=1) == n_images
        numbers = range(first, first + len(rows))
        problem = f"image_filenames are not those of the scenes in {pool.name}"
        of_another = where(other_split != 0, "names another split than", lambda k: split.name, numbers)
        return {
            "questions": questions,
            "programs": programs,
            "question_lengths": question_lengths,
            "program_lengths": program_lengths,
            "answers": found.answers,
            "image_idxs": images,
            "sources": sources,
            "question_families": families,
            "structures": structures,
            "orig_idxs": orig_idxs,
        }, [*where(~named, problem, images, numbers), *of_another]

    return encode


def _check_texts(splits: Sequence[SetFile], texts: Mapping[str, Texts], check: CheckResult) -> None:
    """Checks the splits of one sub-dataset, given the texts of each by name."""
    by_name = {split.name: split for split in splits}
    check.n_checked += sum(len(each.digests) for each in texts.values())
    for name, split in by_name.items():
        kind, mine = COVR_KINDS[name], texts[name]
        for other in by_name.values():
            theirs = texts[other.name]
            if (kind.half, COVR_KINDS[other.name].half) == (0, 1):
                shared = np.isin(theirs.digests, mine.digests)
                check.add(other.file, where(shared, "has a text of another split", lambda k, name=name: name))
            if kind.paraphrases and other.name != name:
                known = theirs.phrasings[theirs.phrasings >= 0]
                for flags, what in (
                    (np.isin(mine.digests, theirs.digests), "text"),
                    (np.isin(mine.phrasings, known), "phrasing"),
                ):
                    problem = f"has a {what} of another split"
                    check.add(split.file, where(flags, problem, lambda k, other=other: other.name))
        if kind.role == "train":
            _two_answers(split, mine, check)
        if kind.paraphrases and kind.questions in by_name:
            check.add(split.file, _other_questions(split, by_name[kind.questions]))


def _two_answers(split: SetFile, texts: Texts, check: CheckResult) -> None:
    """Checks how many texts have two answers; in an odd number of questions, the last one is unpaired."""
    n = len(texts.digests) // 2 * 2
    both = np.stack([texts.digests[:n], texts.answers[:n].astype(np.uint64)], axis=1)
    of_text = np.unique(both, axis=0)[:, 0]
    _, n_answers = np.unique(of_text, return_counts=True)
    if not len(n_answers):
        return
    share = float((n_answers > 1).mean())
    check.notes.append(
        f"questions over several images: {share:.1%} of {len(n_answers):,} texts in {split.hop.name} "
        f"{split.name} have two answers or more"
    )
    if share < LEAST_SHARE:
        problem = f"less than {LEAST_SHARE:.0%} of texts have two answers"
        check.fault(split.file, None, problem, f"{share:.1%}")


def _other_questions(split: SetFile, asked: SetFile) -> Iterator[Found]:
    """A split has the same programs, images and answers as another, row by row."""
    with split.open() as mine, asked.open() as theirs:
        if len(mine) != len(theirs):
            yield None, f"not the {len(theirs)} questions of {asked.name}", len(mine)
        n = min(len(mine), len(theirs))
        for name in sorted(mine.columns.keys() - {"question_lengths"}):
            column = mine.columns[name][:n]
            differs = (column != theirs.columns[name][:n]).reshape(n, -1).any(axis=1)
            yield from where(differs, f"{name}: not as in {asked.name}, but", column)
        programs, wanted = (arrays.tokens("programs", 0, n) for arrays in (mine, theirs))
        if programs.shape != wanted.shape:
            yield None, f"programs: not as wide as in {asked.name}", programs.shape
        else:
            differs = (programs != wanted).any(axis=1)
            yield from where(differs, f"programs: not as in {asked.name}", programs)
