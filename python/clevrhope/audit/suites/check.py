"""The check of all suites of a folder: the table of rules, applied to one file of pairs at a time."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from itertools import chain
from pathlib import Path

from clevrhope._core import TextReader
from clevrhope.audit.checks.questions import of_vocabulary, several_readings
from clevrhope.audit.folder import AuditFolder, PairFile
from clevrhope.audit.json_agreement import compare_json, question_encoder, row_keys
from clevrhope.audit.report import Found, Results
from clevrhope.audit.suites import answers, paraphrases, questions, structure
from clevrhope.audit.suites.pairs import SuitePairs, named
from clevrhope.audit.suites.source import SuiteSource, find_source
from clevrhope.audit.suites.visual import check_visual
from clevrhope.dataset.native_reader import text_reader
from clevrhope.dataset.question_kinds import RELATIONS, ROLES, TIERS
from clevrhope.dataset.split_files import AddedPairs, SplitArrays, read_vocab
from clevrhope.dataset.suite_pools import VISUAL
from clevrhope.runtime import assets
from clevrhope.runtime.progress import Advance

Rule = Callable[[SuitePairs], Iterator[Found]]
"""Finds faults in a file; the function's sentence says what holds."""


OF_PAIRS: Mapping[str, Sequence[Rule]] = {
    "pairs": (structure.structure, structure.order),
    "pair balance": (answers.balance,),
}
"""By line of the report, what holds for pairs alone, and not for questions added to a train set."""

OF_ALL: Mapping[str, Sequence[Rule]] = {
    "pairs": (
        structure.attributes,
        structure.originals,
        structure.rules,
        structure.searched,
        structure.quotas,
    ),
    "pair programs": (questions.programs, questions.equivalents),
    "pair answers": (answers.relations, answers.offers),
    "pair mentions": (questions.mentions, questions.unseen),
    "pair foils": (answers.cells, answers.foils),
}
"""By line of the report, what holds for both."""


def check_suites(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Reads the pairs of every suite."""
    checks = _SuiteChecks(folder, results)
    for place in (*folder.pairs, *folder.added):
        checks.check(place)
        advance(1)
    checks.add_notes()
    if not folder.all_pairs and not folder.all_added:
        for result in results.values():
            result.skip("this folder has no suites of paired tests")
    elif not folder.all_added:
        results["added questions"].skip("this folder has no train sets with questions of suites")


class _SuiteChecks:
    """The checks of a folder's suites, and the state that files of one suite share."""

    def __init__(self, folder: AuditFolder, results: Results) -> None:
        self._folder, self._results = folder, results
        self._templates = folder.templates.files
        self._texts: dict[str, Counter[str]] = {}
        self._source, self._reader = cache(self._find_source), cache(self._make_reader)

    def check(self, place: PairFile) -> None:
        """Checks the pairs on one split, or a train set with added questions."""
        folder, results = self._folder, self._results
        vocab = read_vocab(place.vocab)
        of_split = read_vocab(place.split.vocab)
        results["pairs"].add(folder.layout.relative(place.vocab), of_vocabulary(vocab, of_split))
        with place.open() as arrays, place.split.open() as split:
            source = self._source(place.suite, arrays.fingerprint)
            pairs = SuitePairs(folder, place, arrays, split, vocab, source)
            if arrays.kind.of_sets:
                self._check_sets(pairs)
                return
            families = [*folder.families, *(source.places if source else ())]
            rows = arrays.rows if isinstance(arrays, AddedPairs) else None
            if rows is not None:
                results["added questions"].add(place.file, structure.added(pairs))
            for table in (*([OF_PAIRS] if rows is None else []), OF_ALL):
                for name, rules in table.items():
                    for rule in rules:
                        results[name].add(place.file, rule(pairs), rows)
            for name in ("pairs", "pair answers", "pair mentions"):
                results[name].n_checked += pairs.n
            if place.suite == VISUAL:
                check_visual(pairs, results["pair images"])
            else:
                reader = self._reader(place.suite, arrays.fingerprint, place.vocab)
                texts = questions.texts(pairs, reader, n_families=len(families))
                if arrays.is_paraphrased:
                    texts = chain(paraphrases.words(pairs), paraphrases.meanings(pairs, reader))
                results["pair texts"].add(place.file, texts, rows)
            if place.json.is_file() and folder.is_readable(place.json):
                self._compare_files(pairs, families)
        for name in results.keys() & pairs.counted.keys():
            results[name].n_checked += pairs.counted[name]
        self._texts.setdefault(place.suite, Counter()).update(pairs.counted)
        for name, note in pairs.notes:
            results[name].notes += [] if note in results[name].notes else [note]

    def _check_sets(self, pairs: SuitePairs) -> None:
        """Checks paraphrases about sets of images, whose meaning and question file are not read."""
        results, file = self._results, pairs.place.file
        for rule in (structure.attributes, structure.structure, structure.order, structure.of_sets):
            results["pairs"].add(file, rule(pairs))
        results["pair texts"].add(file, paraphrases.words(pairs))
        for name, n in (("pairs", pairs.n), ("pair texts", pairs.n)):
            results[name].n_checked += n
        note = f"the texts of {pairs.place.suite} are about sets of images, so their meaning was not checked"
        results["pair texts"].notes += [] if note in results["pair texts"].notes else [note]

    def _compare_files(self, pairs: SuitePairs, families: Sequence[tuple[str, int]]) -> None:
        """Compares a question file with the arrays of its file in HDF5, of which each row is its own."""
        place, check, arrays = pairs.place, self._results["pair files"], pairs.arrays
        is_added = isinstance(arrays, AddedPairs)
        with closing(SplitArrays(place.h5)) as whole:
            encoder = question_encoder(pairs.reader, place.json, whole, pairs.pool, numbered=is_added)
            more = _keys_of_added(pairs, arrays) if isinstance(arrays, AddedPairs) else _keys_of_pairs(pairs)
            keys = row_keys(place.name, whole, families, more)
            compare_json(self._folder.layout, place.json, whole, encoder, keys, check)
            check.n_checked += len(whole)

    def add_notes(self) -> None:
        """Notes unread and ambiguous texts."""
        notes = self._results["pair texts"].notes
        for suite, counts in self._texts.items():
            if counts["several"]:
                notes.append(several_readings(f"{counts['several']:,} texts of {suite}", counts["ambiguous"]))
            if counts["beyond templates"]:
                notes.append(
                    f"{counts['beyond templates']:,} of {counts['pair texts']:,} texts of {suite} are in "
                    "words that no template has, so their meaning was not checked"
                )
            if counts["other programs"]:
                notes.append(
                    f"{counts['other programs']:,} of {counts['pair texts']:,} texts of {suite} have other "
                    "programs by the templates, with the same answers on scenes of the pool"
                )
            if counts["unread"]:
                notes.append(
                    f"{counts['unread']:,} texts of {suite} were not read: their templates follow from files "
                    "of the suite that are not the package's; give their folder with --templates"
                )

    def _find_source(self, suite: str, fingerprint: str) -> SuiteSource | None:
        templates = self._folder.templates
        roots = dict.fromkeys((templates.folder, assets.question_templates()))
        folders = [root / "suites" / suite for root in roots]
        folders += [templates.suite] if templates.suite else []
        return find_source(suite, fingerprint, folders, self._templates)

    def _make_reader(self, suite: str, fingerprint: str, vocab: Path) -> TextReader:
        """The parser for the dataset's templates and those that the suite defines."""
        source = self._source(suite, fingerprint)
        templates = [*self._templates, *(source.templates if source else ())]
        return text_reader(read_vocab(vocab), templates, self._folder.templates.synonyms)


def _keys_of_pairs(pairs: SuitePairs) -> Iterator[Mapping[str, object]]:
    """The keys of each row that describe its pair, from the columns."""
    arrays = pairs.arrays
    names = ("pair_idxs", "role", "test", "tier", "cell", "orig_idxs", "relation", "value")
    answer_of = {number: answer for answer, number in pairs.folder.vocab.answers.items()}
    for pair, role, test, tier, cell, original, relation, value in zip(
        *(arrays.columns[name].tolist() for name in names), strict=True
    ):
        yield {
            "suite": pairs.place.suite,
            "pair_index": pair,
            "role": named(ROLES, role),
            "test": named(arrays.tests, test),
            "tier": named(TIERS, tier),
            "cell": f"{cell >> 1}{cell & 1}",
            "original_index": None if original < 0 else original,
            "relation": named(RELATIONS, relation),
            "value": None if value < 0 else answer_of.get(value, str(value)),
        }


def _keys_of_added(pairs: SuitePairs, arrays: AddedPairs) -> Iterator[Mapping[str, object]]:
    """The keys of each row of a train set with added questions that describe where it is from."""
    columns = arrays.whole
    for test, source in zip(columns["test"].tolist(), columns["source_idxs"].tolist(), strict=True):
        is_added = 0 <= test < len(arrays.tests)
        yield {
            "suite": pairs.place.suite,
            "test": arrays.tests[test] if is_added else None,
            "original_index": source if is_added and source >= 0 else None,
        }
