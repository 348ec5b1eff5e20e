"""The check for leaks: whether a held-out pair occurs where it must, and nowhere else.

It reads only finished files, with code that shares nothing with the generator. `LeakCheck` lists what it
proves.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from clevrhope._core import AuditFindings, AuditViolation
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.json_agreement import compare_json, question_encoder, row_keys
from clevrhope.audit.leaks.groups import check_groups
from clevrhope.audit.leaks.palette import PaletteCheck, seen_values
from clevrhope.audit.leaks.report import (
    VIOLATIONS,
    LeakKind,
    LeakReport,
    SplitCounts,
    add_violations,
)
from clevrhope.audit.report import MAX_LISTED, CheckResult, Found, Results
from clevrhope.config.question_settings import QuestionSettings
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import read_plainly
from clevrhope.dataset.native_reader import WHY, Ints, question_reader, vocabulary_of
from clevrhope.dataset.scene_files import MISSING, Pools, PoolScenes, Rows
from clevrhope.dataset.split_files import SplitArrays, read_vocab
from clevrhope.dataset.vocab import CLEVR_WORDS
from clevrhope.errors import DatasetError, VocabularyError, with_article
from clevrhope.runtime.progress import Advance
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS

Asked = Literal["anywhere", "always", "never", "never implied"]
"""Which questions of a split may ask for the pair."""

_ROWS_AT_ONCE = 65_536
"""Number of rows of arrays that are checked at once."""


def check_pairs(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Looks for leaks in each sub-dataset, and compares its question files with HDF5."""
    leaks = LeakCheck(folder.layout.root, words=folder.templates.words, audited=folder)
    n_described = 0
    for hop in folder.hops:
        if any(split.hop == hop for split in folder.splits):
            counts = leaks.check(hop, results=results).splits
            n_described += sum(each.n_described for each in counts if SPLITS[each.split].asked == "never")
        advance(1)
    pair = results[LeakKind.PAIR]
    files = results[LeakKind.DISAGREEMENT]
    if not files.n_checked and not files.n_faults:
        files.skip("this folder has no question files in JSON")
    if leaks.strictness == "chain":
        pair.notes.append(
            f"made with --strictness chain; the default rule would find {n_described:,} train and IID "
            'questions that mention a pair in a description that passes through "or" or "and"'
        )
    if not any(hop.target for hop in folder.hops):
        pair.skip("this folder holds nothing out")
    if not any(hop.palette for hop in folder.hops):
        results[LeakKind.PALETTE].skip("all combinations of values occur in this folder")
    if not any(split.is_grouped for split in folder.splits):
        results[LeakKind.GROUP].skip("this folder has no minimal sets, nor questions about single values")
    for pool in dict.fromkeys(each.pool for each in folder.splits if SPLITS[each.name].drawn == "sets"):
        _check_positions(folder, pool, results[LeakKind.GROUP])


def _check_positions(folder: AuditFolder, pool: str, check: CheckResult) -> None:
    """Checks that all images of a counting pool have their objects at the most common positions."""
    positions = {
        int(scene["image_index"]): tuple(
            float(x) for thing in scene["objects"] for x in thing["3d_coords"][:2]
        )
        for scene, _ in folder.parsed_scenes(pool)
    }
    counts = Counter(positions.values())
    usual = max(counts, key=counts.__getitem__, default=())
    for index, of_scene in positions.items():
        if of_scene != usual:
            problem = "objects are not at the same positions as in the other images"
            check.fault(f"scenes/{pool}", index, problem, of_scene)


class LeakCheck:
    """Checks the finished files of a folder's sub-datasets; scenes are read once for all of them.

    - In train and IID splits, no scene shows the pair, and no question mentions it, either in its program or
      in its words (docs/configuration.md defines mentioning).
    - With `--strictness implied`, no question of these splits asks for the pair through likenesses ("the same
      color as") either; otherwise such questions are counted.
    - With `--strictness chain`, a mention is a chain of filters, and in words a noun phrase. Questions that
      mention the pair by the default rule only, in a description that passes through "or" or "and", are
      counted.
    - Every scene of complex_ood shows the pair; every question of an OOD split mentions it, in its program
      and its words.
    - Of the four images of minimal_ood that show an object at the same place (eight if three values are held
      out), exactly one shows the pair. All have the same question, and the answer for the others is no.
    - Every question about a single value mentions it. Of the two images of an existence place, exactly one
      shows the value. The images of a counting set have the same question, and the answers 0, 1, ... 5.
    - If there is a palette, no object has a combination of values outside it, except the pair where it
      belongs, and no question of a pair's splits asks for such a combination.
    - No image, identified by the objects of its scene, is in two splits, unless both are minimal.
    - Every program, executed again, gives the question's answer.
    - HDF5 and JSON agree on tokens, lengths, answers, images, families and order. Every question's scene
      exists, and names the same image as the question.

    For `none`, which holds nothing out, it checks everything that does not concern a pair. If the manifest
    lists no question files in JSON, HDF5 is not compared with JSON.
    """

    def __init__(
        self,
        folder: Path,
        *,
        words: Mapping[str, Sequence[str]] = CLEVR_WORDS,
        audited: AuditFolder | None = None,
    ) -> None:
        """Opens a folder.

        Args:
            folder: The dataset, which may be still in the making.
            words: Its words for values and "thing" (`synonyms.json`), if not CLEVR's.
            audited: The same folder in an audit, which says what can be read, and has templates by which to
                check all keys of question files.

        Raises:
            DatasetError: the vocabulary cannot be read.
        """
        self.layout = Layout(folder)
        self.words = words
        self.audited = audited
        self.vocab = read_vocab(self.layout.vocab)
        manifest = read_plainly(self.layout.manifest)
        self.palettes: Mapping[str, Any] = manifest.get("palettes", {})
        self.strictness = QuestionSettings.from_json(manifest.get("questions", {})).strictness
        """Which questions ask for a pair."""
        self.pools = audited.scenes if audited else Pools(self.layout, vocabulary_of(self.vocab))
        """The folder's scenes, read when they are needed."""

    def check(self, hop: Hop, results: Results | None = None) -> LeakReport:
        """Checks the splits of one sub-dataset, or in an audit those that can be read.

        Args:
            hop: The pair.
            results: Of an audit, to which what is found is added; None for new ones.

        Raises:
            DatasetError: a file is missing or cannot be read. Everything else is a violation in the report.
        """
        results = {kind: CheckResult(kind) for kind in LeakKind} if results is None else results
        return _HopCheck(self, hop, results).run()


class _HopCheck:
    """The check of one sub-dataset."""

    def __init__(self, leaks: LeakCheck, hop: Hop, results: Results) -> None:
        self.leaks, self.layout, self.hop, self.results = leaks, leaks.layout, hop, results
        try:
            by_chains, self.by_descriptions = (
                question_reader(
                    leaks.vocab, hop.target, leaks.words, vocabulary_of(leaks.vocab), in_chains=in_chains
                )
                for in_chains in (True, False)
            )
        except VocabularyError as error:
            raise DatasetError(f"{leaks.layout.vocab}: {error}") from error
        self.reader = by_chains if leaks.strictness == "chain" else self.by_descriptions
        self.palette = PaletteCheck(self.layout.manifest, leaks.palettes, hop, leaks.vocab, leaks.words)

    def run(self) -> LeakReport:
        files = {name: self.layout.questions_h5(self.hop.name, name) for name in SPLITS}
        names = [name for name, path in files.items() if path.is_file()]
        if self.leaks.audited:
            names = [split.name for split in self.leaks.audited.splits if split.hop == self.hop]
        if not names:
            raise DatasetError(f"{self.layout.hop(self.hop.name)}: there is no split to check")
        with ExitStack() as stack:
            splits = {name: stack.enter_context(closing(SplitArrays(files[name]))) for name in names}
            used = {name: self._scenes_in_use(arrays) for name, arrays in splits.items()}
            counts = tuple(self._check_split(name, arrays, used[name]) for name, arrays in splits.items())
            self._check_shared(splits, used)
        n_images = sum(map(len, used.values()))
        self.results[LeakKind.SHARED].n_checked += n_images
        self.results[LeakKind.PALETTE].n_checked += n_images if self.hop.palette else 0
        return LeakReport(self.hop, counts, self.results, self.leaks.strictness)

    def _scenes_in_use(self, arrays: SplitArrays) -> Rows:
        """Rows of the scenes that a split uses; scenes that are missing or occur twice are violations."""
        pool = self.leaks.pools[arrays.pool]
        rows = pool.rows(arrays.used)
        for problem, indices in {
            "a question's scene is missing": arrays.used[rows == MISSING],
            "the scene occurs twice": np.intersect1d(pool.twice(), arrays.used),
        }.items():
            self._fault_scenes(LeakKind.DISAGREEMENT, pool, indices, problem, pool.name)
        known: Rows = rows[rows != MISSING]
        return known

    def _fault_scenes(
        self, kind: LeakKind, pool: PoolScenes, indices: Rows, problem: str, value: str
    ) -> None:
        for index in indices.tolist():
            self.results[kind].fault(f"scenes/{pool.name}", index, problem, value)

    def _check_split(self, name: str, arrays: SplitArrays, used: Rows) -> SplitCounts:
        """Checks a split's questions by its file, and its images by the rows of their scenes."""
        path, audited = self.layout.questions_json(self.hop.name, name), self.leaks.audited
        has_json = path.exists() and (audited is None or audited.is_readable(path))
        file = self.layout.relative(path if has_json else self.layout.questions_h5(self.hop.name, name))
        mentions = self._check_questions(name, arrays, file)
        if has_json:
            self._check_json(name, arrays, path)
        self._check_images(name, arrays, used)
        if SPLITS[name].drawn != "stream":
            pool, answers = self.leaks.pools[arrays.pool], self.leaks.vocab.answer_names
            seen = seen_values(self.layout.manifest, self.leaks.palettes, self.hop)
            check_groups(self.hop, name, arrays, pool, answers, seen, file, self.results[LeakKind.GROUP])
        return SplitCounts(name, len(arrays), len(arrays.used), *mentions, has_json)

    def _check_questions(self, name: str, arrays: SplitArrays, file: str) -> tuple[int, int, int]:
        """Reads programs and words; counts questions that mention the pair, imply it or only describe it."""
        pool, palette = self.leaks.pools[arrays.pool], self.palette.reader(name)
        asked = self._asked(name)
        n_mentioning = n_implying = n_described = 0
        for first in range(0, len(arrays), _ROWS_AT_ONCE):
            questions = arrays.tokens("questions", first, _ROWS_AT_ONCE)
            programs = arrays.tokens("programs", first, _ROWS_AT_ONCE)
            rows = pool.rows(arrays.columns["image_idxs"][first : first + _ROWS_AT_ONCE])
            findings = self.reader.read(questions, programs, pool.native, rows)
            n_mentioning += int(findings.by_program.sum())
            n_implying += int((findings.implied & ~findings.by_program).sum())
            if self.leaks.strictness == "chain":
                default = self.by_descriptions.read(questions, programs, pool.native, rows)
                n_described += int((default.by_program & ~findings.by_program).sum())
            stored = arrays.columns["answers"][first : first + len(rows)]
            describe = self._describer(findings, stored, questions, first)
            add_violations(self.results, file, findings.violations(stored, asked, MAX_LISTED), describe)
            if palette:
                outside = palette.violations(questions, programs, MAX_LISTED)
                add_violations(self.results, file, outside, describe)
        self.results[LeakKind.PROGRAM].n_checked += len(arrays)
        self.results[LeakKind.PAIR].n_checked += len(arrays) if self.hop.target else 0
        return n_mentioning, n_implying, n_described

    def _asked(self, name: str) -> Asked:
        """Which questions of a split may ask for the pair."""
        kind = SPLITS[name]
        if kind.asked == "in one" or not self.hop.target:
            return "anywhere"
        return "never implied" if (kind.asked, self.leaks.strictness) == ("never", "implied") else kind.asked

    def _check_json(self, name: str, arrays: SplitArrays, path: Path) -> None:
        """Compares a split's question file in JSON with its HDF5 file."""
        audited, check = self.leaks.audited, self.results[LeakKind.DISAGREEMENT]
        keys = row_keys(name, arrays, audited.families) if audited is not None else ()
        encode = question_encoder(self.reader, path, arrays, self.leaks.pools[arrays.pool])
        compare_json(self.layout, path, arrays, encode, keys, check)
        check.n_checked += len(arrays)

    def _check_images(self, name: str, arrays: SplitArrays, used: Rows) -> None:
        """Looks in scenes for unseen combinations, and for the pair where it may not be or has to be."""
        pool, target, shown = self.leaks.pools[arrays.pool], self.hop.target, SPLITS[name].shown
        for index, problem, values in self.palette.unseen_images(name, pool, used):
            self.results[LeakKind.PALETTE].fault(f"scenes/{pool.name}", index, problem, values)
        if target and shown in ("never", "always"):
            is_wrong = pool.holding(target)[used] == (shown == "never")
            problem = f"an image of {name} {'shows' if shown == 'never' else 'lacks'}"
            self._fault_scenes(LeakKind.PAIR, pool, pool.indices[used[is_wrong]], problem, self.hop.words)

    def _describer(
        self, findings: AuditFindings, stored: Ints, questions: Ints, first: int
    ) -> Callable[[int, AuditViolation], Found]:
        """Returns a function that gives the fault of a question's violation."""
        vocab = self.leaks.vocab

        def describe(k: int, violation: AuditViolation) -> Found:
            answer = int(findings.answers[k])
            problem = VIOLATIONS[violation][1].format(
                answer=vocab.answer_names.get(answer),
                pair=self.hop.words,
                a_pair=with_article(self.hop.words),
                why=WHY.get(answer),
            )
            if violation == AuditViolation.WRONG_ANSWER:
                return first + k, problem, vocab.answer(int(stored[k]))
            return first + k, problem, vocab.text(questions[k].tolist())

        return describe

    def _check_shared(self, splits: Mapping[str, SplitArrays], used: Mapping[str, Rows]) -> None:
        """Adds a violation for each image that is in two splits, under the same name or different ones."""
        for a, b in combinations(splits, 2):
            if SPLITS[a].drawn == SPLITS[b].drawn == "places":
                continue
            pool_a, pool_b = (self.leaks.pools[splits[name].pool] for name in (a, b))
            twins = np.asarray(self.leaks.pools.twins(pool_a.name, pool_b.name), np.int64).reshape(-1, 2)
            both = np.isin(twins[:, 0], used[a]) & np.isin(twins[:, 1], used[b])
            for row_a, row_b in twins[both].tolist():
                problem = f"an image of {b} is also in {a}"
                value = f"{pool_a.name}[{pool_a.indices[row_a]}]"
                self._fault_scenes(LeakKind.SHARED, pool_b, pool_b.indices[[row_b]], problem, value)
