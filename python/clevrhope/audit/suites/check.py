"""The check of all suites of a folder, one file of pairs at a time."""

from collections import Counter
from collections.abc import Sequence

from clevrhope._core import TextReader
from clevrhope.audit.checks.columns import ColumnCheck
from clevrhope.audit.checks.question_rows import family_places
from clevrhope.audit.checks.text import text_reader
from clevrhope.audit.folder import AuditFolder, SuitePlace
from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.audit.leaks.palette import PaletteCheck
from clevrhope.audit.report import Check
from clevrhope.audit.suites.answers import AnswerCheck
from clevrhope.audit.suites.augmented import check_train_file, check_train_order
from clevrhope.audit.suites.foils import check_foils
from clevrhope.audit.suites.lines import PairLines, pair_lines
from clevrhope.audit.suites.question_file import check_question_file
from clevrhope.audit.suites.questions import Mentions, QuestionCheck
from clevrhope.audit.suites.sides import Flags, Sides
from clevrhope.audit.suites.source import SuiteSource, find_source
from clevrhope.audit.suites.structure import (
    check_attributes,
    check_order,
    check_originals,
    check_rules,
    check_searched,
    check_structure,
    check_vocabulary,
)
from clevrhope.audit.suites.visual import VISUAL, check_visual, pool_of
from clevrhope.dataset.native_reader import QuestionReader, vocabulary_of
from clevrhope.dataset.split_files import PairArrays, SplitArrays, Vocab, read_vocab
from clevrhope.dataset.vocab import by_number
from clevrhope.runtime import assets
from clevrhope.runtime.progress import Advance


def check_suites(folder: AuditFolder, leaks: LeakCheck, advance: Advance) -> list[Check]:
    """Reads the pairs of every suite; `leaks` is the folder's check for leaks, to share its scenes.

    Raises:
        DatasetError: a file is missing or cannot be read.
    """
    lines = pair_lines()
    checks = _SuiteChecks(folder, leaks, lines)
    for place in folder.suites:
        checks.check(place)
        advance(1)
    for place in folder.augmented:
        checks.check_augmented(place)
        advance(1)
    checks.add_notes()
    if not folder.all_suites and not folder.all_augmented:
        for line in lines.all():
            line.skip("this folder has no suites of paired tests")
    elif not folder.all_augmented:
        lines.added.skip("this folder has no train sets with questions of suites")
    return lines.all()


class _SuiteChecks:
    """The checks of a folder's suites, and the state that files of one suite share."""

    def __init__(self, folder: AuditFolder, leaks: LeakCheck, lines: PairLines) -> None:
        self._folder, self._leaks, self._lines = folder, leaks, lines
        self._templates = folder.templates.files()
        self._families = family_places(self._templates)
        self._sources: dict[tuple[str, str], SuiteSource | None] = {}
        self._readers: dict[tuple[str, ...], TextReader] = {}
        self._unread: Counter[str] = Counter()
        self._several: Counter[str] = Counter()
        self._ambiguous: Counter[str] = Counter()
        self._shares: dict[str, Counter[bool]] = {}

    def check(self, place: SuitePlace) -> None:
        """Checks the pairs on one split."""
        folder, lines = self._folder, self._lines
        vocab = read_vocab(place.vocab)
        check_vocabulary(place, folder.layout.relative(place.vocab), vocab, folder.vocab, lines.pairs)
        with folder.open_pairs(place) as arrays, folder.open(place.split) as split:
            sides = Sides.of(arrays)
            has_original = check_structure(place, arrays, sides, lines.pairs)
            check_order(place, arrays, sides, self._source(place.suite, arrays.fingerprint), lines.pairs)
            mentions, source = self._check_pairs(place, arrays, split, sides, has_original, vocab, lines)
            answers = AnswerCheck(vocab)
            by_original = mentions.by_program[sides.given]
            answers.check_balance(place, arrays, sides, by_original, source, lines.balance)
            answers.check_verified(place, arrays, sides, lines.balance)
            for test, found in answers.shares(place, arrays, sides).items():
                self._shares.setdefault(f"{place.suite} {test}", Counter()).update(found)
            if place.json.is_file() and folder.is_readable(place.json):
                pool, families = self._leaks.pools[pool_of(place)], self._places(source)
                check_question_file(
                    folder, place, arrays, pool, self._question_reader(place, vocab), families, lines.files
                )

    def check_augmented(self, place: SuitePlace) -> None:
        """Checks a train set with added questions of a suite, each a partner of one of its own questions."""
        folder, lines, found = self._folder, self._lines, pair_lines()
        vocab = read_vocab(place.vocab)
        check_vocabulary(place, folder.layout.relative(place.vocab), vocab, folder.vocab, lines.pairs)
        with folder.open_added(place) as arrays, folder.open(place.split) as split:
            check_train_order(place, arrays, split, lines.added)
            sides = Sides.of(arrays)
            found.pairs.n_checked += len(sides.given)
            _, source = self._check_pairs(place, arrays, split, sides, sides.originals >= 0, vocab, found)
            for mine, line in zip(found.all(), lines.all(), strict=True):
                line.take(mine, arrays.rows)
            if place.json.is_file() and folder.is_readable(place.json):
                pool, families = self._leaks.pools[arrays.pool], self._places(source)
                check_train_file(
                    folder, place, arrays, pool, self._question_reader(place, vocab), families, lines.files
                )

    def _check_pairs(
        self,
        place: SuitePlace,
        arrays: PairArrays,
        split: SplitArrays,
        sides: Sides,
        has_original: Flags,
        vocab: Vocab,
        lines: PairLines,
    ) -> tuple[Mentions, SuiteSource | None]:
        """Runs the checks of all pairs; returns the mentions of what is held out and the suite's rules."""
        source = self._source(place.suite, arrays.fingerprint)
        check_attributes(place, arrays, source, lines.pairs)
        sound = check_originals(place, arrays, split, sides, has_original, lines.pairs)
        if source is not None:
            check_rules(place, arrays, sides, sound | sides.searched, source, lines.pairs)
        check_searched(place, arrays, split, sides, source, lines.pairs)
        pool = self._leaks.pools[pool_of(place)]
        questions = QuestionCheck(place, arrays, pool, vocab, self._question_reader(place, vocab), lines)
        mentions = questions.check_programs(ColumnCheck(vocab, lines.programs))
        palette = self._palette(place, vocab)
        if source is not None:
            check_foils(place, arrays, sides, source, questions, vocab, lines.foils)
        questions.check_mentions(
            sides, mentions, may_imply=self._leaks.strictness != "implied", palette=palette
        )
        answers = AnswerCheck(vocab)
        answers.check_relations(place, arrays, sides, lines.answers)
        answers.check_offers(place, arrays, lines.answers)
        if place.suite == VISUAL:
            check_visual(self._folder, place, arrays, split, sides, lines.images)
        else:
            texts = self._reader(place.suite, arrays.fingerprint, vocab)
            counts = questions.check_texts(sides, texts, n_families=len(self._places(source)))
            self._unread[place.suite] += counts.unread
            self._several[place.suite] += counts.several
            self._ambiguous[place.suite] += counts.ambiguous
        return mentions, source

    def _places(self, source: SuiteSource | None) -> list[tuple[str, int]]:
        """File and index of each family of the dataset, and of those that a suite's entries define."""
        return [*self._families, *(source.places if source else ())]

    def _question_reader(self, place: SuitePlace, vocab: Vocab) -> QuestionReader:
        return QuestionReader(vocab, place.hop.target, self._leaks.words, vocabulary_of(vocab))

    def add_notes(self) -> None:
        """Notes unread and ambiguous texts, and how often originals chosen by a coin have the answer yes."""
        for suite, n in self._several.items():
            if n:
                self._lines.texts.notes.append(
                    f"{n:,} texts of {suite} have several readings; for {self._ambiguous[suite]:,} of them "
                    "the readings have different answers"
                )
        for suite, n in self._unread.items():
            if n:
                self._lines.texts.notes.append(
                    f"{n:,} texts of {suite} were not read: their templates follow from files of the suite "
                    f"that are not the package's; give their folder with --templates"
                )
        shares = [
            f"{test} {found[True] / found.total():.0%} of {found.total():,}"
            for test, found in self._shares.items()
        ]
        if shares:
            said = "of originals that a coin chose from two questions, these are answered yes"
            self._lines.balance.notes.append(f"{said}: {', '.join(shares)}")

    def _source(self, suite: str, fingerprint: str) -> SuiteSource | None:
        if (suite, fingerprint) not in self._sources:
            own, packaged = self._folder.templates.folder, assets.question_templates()
            folders = [each / "suites" / suite for each in dict.fromkeys((own, packaged))]
            folders += [self._folder.suite_folder] if self._folder.suite_folder else []
            self._sources[suite, fingerprint] = find_source(suite, fingerprint, folders, self._templates)
        return self._sources[suite, fingerprint]

    def _reader(self, suite: str, fingerprint: str, vocab: Vocab) -> TextReader:
        """The parser for the dataset's templates and those that the suite defines."""
        key = (suite, fingerprint, *by_number(vocab.words), *by_number(vocab.functions))
        if key not in self._readers:
            source = self._source(suite, fingerprint)
            templates: Sequence[tuple[str, bytes]] = [*self._templates, *(source.templates if source else ())]
            self._readers[key] = text_reader(vocab, templates, self._folder.templates.synonyms)
        return self._readers[key]

    def _palette(self, place: SuitePlace, vocab: Vocab) -> PaletteCheck:
        leaks = self._leaks
        manifest = self._folder.layout.manifest
        return PaletteCheck(manifest, leaks.palettes, place.hop, vocab, leaks.words, vocabulary_of(vocab))
