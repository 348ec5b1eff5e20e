"""A finished folder and a held-out pair in, a report out: is the pair where it must be, and nowhere else?

Reads the files alone, with code that shares nothing with what made them (`finished`, `audit_reader`).
What it proves is listed at `LeakCheck`.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import combinations
from pathlib import Path

import numpy as np

from clevrhope.audit.checks.json_beside_arrays import JsonBesideArrays
from clevrhope.audit.leaks.absent import AbsentCheck
from clevrhope.audit.leaks.groups import GroupCheck
from clevrhope.audit.leaks.report import (
    Found,
    Kind,
    LeakReport,
    SplitCounts,
)
from clevrhope.dataset.images_h5 import images_in
from clevrhope.dataset.layout import Layout, images_of
from clevrhope.dataset.manifest import MAX_MANIFEST_BYTES
from clevrhope.dataset.native_reader import CLEVR_WORDS, WHY, Findings, Ints, QuestionReader, vocabulary_of
from clevrhope.dataset.scene_files import MISSING, Pools, PoolScenes, Rows
from clevrhope.dataset.split_files import SplitArrays, Value, Vocab, read_vocab
from clevrhope.errors import DatasetError, VocabularyError
from clevrhope.runtime.json_text import read_object
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS

_ROWS_AT_ONCE = 65_536
"""Rows of arrays looked at in one go."""


def check_leaks(
    folder: Path,
    hop: Hop,
    *,
    splits: Sequence[str] | None = None,
    images: bool = False,
    words: Mapping[str, Sequence[str]] = CLEVR_WORDS,
) -> LeakReport:
    """Checks the finished files of one sub-dataset: see `LeakCheck`."""
    return LeakCheck(folder, words=words).check(hop, splits=splits, images=images)


class LeakCheck:
    """Checks the finished files of a folder's sub-datasets; scenes are read once for all of them.

    - No scene of train, complex_iid and minimal_iid holds the pair, and no question there mentions it:
      neither its program nor its words (`mention` says what that means).
    - Where the manifest says `--strictness implied`, no question of train, complex_iid and minimal_iid asks
      for the pair by way of likenesses either (docs/configuration.md); else those that do are counted.
    - Every scene of complex_ood holds it; every question of complex_ood and minimal_ood mentions it, in both.
    - Of the four images of minimal_ood that show an object in the same place (eight where three values are
      held out), exactly one holds it, and all are asked the same; all other answers are no.
    - Of a value that is asked for alone: every question mentions it; of the two images of a place of
      existence exactly one shows it; the images of a counting set are asked the same, and the answers are
      0, 1, ... 5.
    - Where the manifest has a palette: no object has a combination of values that is not in it, the pair
      apart where it belongs, and no question of a pair's splits asks for one (`absent`).
    - No image is in two splits, the minimal ones apart: not by name, not by its scene's objects and, for
      PNG files, not by its checksum in the manifest.
    - Every program, executed again, gives the question's answer.
    - HDF5 and JSON say the same: tokens, lengths, answers, images, families, order. Every question's scene
      is there and has the image's name that the question has.

    Of `none`, the dataset that holds nothing out, it checks all that does not concern a pair. Where question
    files were left out (the manifest lists none), there is nothing for HDF5 to agree with.
    """

    def __init__(self, folder: Path, *, words: Mapping[str, Sequence[str]] = CLEVR_WORDS) -> None:
        """`words` are those for values and for "thing", where they are not CLEVR's (`synonyms.json`).

        Raises:
            DatasetError: no vocabulary that can be read.
        """
        self._layout = Layout(folder)
        self._words = words
        self._vocab = read_vocab(self._layout.vocab)
        self._vocabulary = vocabulary_of(self._vocab)
        there = (
            read_object(self._layout.manifest, "a manifest", max_bytes=MAX_MANIFEST_BYTES)
            if self._layout.manifest.is_file()
            else {}
        )
        self.may_imply = there.get("questions", {}).get("strictness", "description") != "implied"
        """Whether questions may ask for a pair by way of likenesses."""
        self.pools = Pools(self._layout, self._vocabulary)
        """The folder's scenes, read when they are asked for."""

    def check(
        self,
        hop: Hop,
        *,
        splits: Sequence[str] | None = None,
        images: bool = False,
        without_json: Collection[str] = (),
    ) -> LeakReport:
        """Checks one sub-dataset.

        Args:
            hop: The pair.
            splits: Splits that must be there; those whose files are there when None.
            images: Whether the image of every question must be there too, as PNG, in HDF5, or both.
            without_json: Splits whose question files are not to be looked at.

        Raises:
            DatasetError: a file is missing or cannot be read at all. All else is a violation in the report.
        """
        try:
            reader = QuestionReader(self._vocab, hop.target, self._words, self._vocabulary)
        except VocabularyError as error:
            raise DatasetError(f"{self._layout.vocab}: {error}") from error
        absent = AbsentCheck(self._layout, hop, self._vocab, self._words, self._vocabulary)
        check = _Check(self._layout, hop, self._vocab, reader, absent, self.pools, may_imply=self.may_imply)
        check.without_json = without_json
        return check.run(splits, images=images)


class _Check:
    """One run: what is read once, and what is found."""

    def __init__(
        self,
        layout: Layout,
        hop: Hop,
        vocab: Vocab,
        reader: QuestionReader,
        absent: AbsentCheck,
        pools: Pools,
        *,
        may_imply: bool,
    ) -> None:
        self.may_imply = may_imply
        self.without_json: Collection[str] = ()
        self.layout = layout
        self.absent = absent
        self.hop = hop
        self.pair: tuple[Value, ...] = hop.target
        self.found = Found()
        self.vocab = vocab
        self.answers = {number: name for name, number in vocab.answers.items()}
        self.tokens = {number: name for name, number in vocab.words.items()}
        self.reader = reader
        self.pools = pools

    def run(self, names: Sequence[str] | None, *, images: bool) -> LeakReport:
        names = self._splits_there() if names is None else names
        if not names:
            raise DatasetError(f"{self.layout.hop(self.hop.name)}: no split there to check")
        with ExitStack() as stack:
            splits = {
                name: stack.enter_context(closing(SplitArrays(self.layout.questions_h5(self.hop.name, name))))
                for name in names
            }
            used = {name: self._scenes_in_use(each) for name, each in splits.items()}
            counts = tuple(self._check_split(name, each, used[name]) for name, each in splits.items())
            self._check_shared(splits, used)
            if images:
                by_pool: dict[str, list[Rows]] = {}
                for name, each in splits.items():
                    by_pool.setdefault(each.pool, []).append(used[name])
                for pool, rows in by_pool.items():
                    self._check_images(self.pools[pool], np.unique(np.concatenate(rows)))
        return LeakReport(self.hop, counts, tuple(self.found.listed), dict(self.found.counts))

    def _splits_there(self) -> list[str]:
        """Splits that are whole: one file without the other is a violation, unless it was left out."""
        folder = self.layout.hop(self.hop.name)
        arrays = {path.stem for path in folder.glob("[!.]*.h5")}
        questions = {
            path.name.removesuffix("_questions.json") for path in folder.glob("[!.]*_questions.json")
        }
        for name in sorted(arrays - questions):
            if self._is_listed(self.layout.questions_json(self.hop.name, name)):
                self._missing(self.layout.questions_json(self.hop.name, name), name)
                arrays.discard(name)
        for name in sorted(questions - arrays):
            self._missing(self.layout.questions_h5(self.hop.name, name), name)
        return [name for name in SPLITS if name in arrays]

    def _is_listed(self, path: Path) -> bool:
        """Whether the manifest lists a file; without a manifest all are."""
        if not self.layout.manifest.is_file():
            return True
        return self.layout.relative(path) in read_object(
            self.layout.manifest, "a manifest", max_bytes=MAX_MANIFEST_BYTES
        ).get("files", {})

    def _missing(self, path: Path, split: str) -> None:
        file = self.layout.relative(path)
        self.found.add(Kind.DISAGREEMENT, file, None, "missing, but the split's other file is there", split)

    def _scenes_in_use(self, arrays: SplitArrays) -> Rows:
        """Places of the scenes that a split uses; says which of them are missing, or there twice."""
        pool = self.pools[arrays.pool]
        rows = pool.rows(arrays.used)
        for index in arrays.used[rows == MISSING].tolist():
            self.found.add(
                Kind.DISAGREEMENT, f"scenes/{pool.name}", index, "a question's scene is missing", pool.name
            )
        for index in np.intersect1d(pool.twice(), arrays.used).tolist():
            self.found.add(Kind.DISAGREEMENT, f"scenes/{pool.name}", index, "scene is there twice", pool.name)
        there: Rows = rows[rows != MISSING]
        return there

    # A split

    def _check_split(self, name: str, arrays: SplitArrays, used: Rows) -> SplitCounts:
        path = self.layout.questions_json(self.hop.name, name)
        has_json = path.exists() and name not in self.without_json
        file = self.layout.relative(path if has_json else self.layout.questions_h5(self.hop.name, name))
        pool = self.pools[arrays.pool]
        n_mentioning = n_implying = 0
        for first in range(0, len(arrays), _ROWS_AT_ONCE):
            questions = arrays.tokens("questions", first, _ROWS_AT_ONCE)
            programs = arrays.tokens("programs", first, _ROWS_AT_ONCE)
            rows = pool.rows(arrays.columns["image_idxs"][first : first + _ROWS_AT_ONCE])
            found = self.reader.read(questions, programs, pool.native, rows)
            n_mentioning += int(found.by_program.sum())
            n_implying += int((found.implied & ~found.by_program).sum())
            self._check_mentions(name, file, first, found, questions)
            for k, problem in self.absent.named(name, questions, programs):
                self.found.add(Kind.PALETTE, file, first + k, problem, self._text(questions[k]))
            self._check_answers(file, first, found, arrays, rows, questions)
        if has_json:
            h5 = self.layout.relative(self.layout.questions_h5(self.hop.name, name))
            JsonBesideArrays(self.reader, path, self.layout.root, h5, self.found).compare(arrays, pool)
        n_with_pair = self._check_scenes(name, pool, used)
        for index, problem, value in self.absent.shown(name, pool, used):
            self.found.add(Kind.PALETTE, f"scenes/{pool.name}", index, problem, value)
        n_no = int((arrays.columns["answers"] == self.vocab.answers.get("no", -1)).sum())
        groups = GroupCheck(self.hop, self.answers, self._text, self.found)
        kind = SPLITS[name]
        if kind.drawn == "sets":
            groups.check_sets(arrays, pool, used)
        if kind.shown == "in one":
            groups.check_places(arrays, pool, used)
            corners = self.hop.corners
            if corners * n_no != (corners - 1) * len(arrays):
                value = f"{n_no} of {len(arrays)}"
                problem = f"not exactly {corners - 1} answers in {corners} are no"
                self.found.add(Kind.GROUP, file, None, problem, value)
        return SplitCounts(
            split=name,
            pool=arrays.pool,
            n_questions=len(arrays),
            n_images=len(arrays.used),
            n_images_with_pair=n_with_pair,
            n_mentioning=n_mentioning,
            n_implying=n_implying,
            n_no=n_no,
            has_json=has_json,
            may_imply=self.may_imply,
        )

    def _check_mentions(self, split: str, file: str, first: int, found: Findings, questions: Ints) -> None:
        """Where the pair is mentioned and must not be, or is not and must be."""
        if not self.pair:
            return
        for mentions, where in ((found.by_program, "program"), (found.by_words, "words")):
            wrong, what = mentions, "mentions"
            if SPLITS[split].asked == "always":
                wrong, what = ~mentions, "does not mention"
            for k in np.flatnonzero(wrong).tolist():
                problem = f"{what} {self.hop.words} in its {where}"
                self.found.add(Kind.PAIR, file, first + k, problem, self._text(questions[k]))
        if SPLITS[split].asked == "never" and not self.may_imply:
            for k in np.flatnonzero(found.implied & ~found.by_program).tolist():
                problem = f"asks for a {self.hop.words} by way of likenesses"
                self.found.add(Kind.PAIR, file, first + k, problem, self._text(questions[k]))

    def _check_answers(
        self, file: str, first: int, found: Findings, arrays: SplitArrays, rows: Rows, questions: Ints
    ) -> None:
        """Every program, executed again, gives the answer in the arrays."""
        wanted = arrays.columns["answers"][first : first + len(rows)]
        # Of a scene that is missing it was said once that it is.
        for k in np.flatnonzero((found.answers != wanted) & (rows != MISSING)).tolist():
            answer = int(found.answers[k])
            if answer < 0:
                problem = f"its program has no answer ({WHY[answer]})"
                self.found.add(Kind.PROGRAM, file, first + k, problem, self._text(questions[k]))
            else:
                problem = f"its program gives {self.answers[answer]}, not the answer"
                self.found.add(
                    Kind.PROGRAM, file, first + k, problem, self.answers.get(int(wanted[k]), wanted[k])
                )

    def _text(self, row: Ints) -> str:
        """The words of a question's row."""
        words = (self.tokens.get(token, f"[{token}]") for token in row.tolist() if token)
        return " ".join(word for word in words if word not in ("<START>", "<END>"))

    def _check_scenes(self, split: str, pool: PoolScenes, used: Rows) -> int:
        """Looks at every image of a split; returns how many show the pair."""
        if not self.pair:
            return 0
        holds = pool.holding(self.pair)[used]
        wrong, what = np.zeros(0, np.int64), ""
        if SPLITS[split].shown == "never":
            wrong, what = used[holds], "shows"
        elif SPLITS[split].shown == "always":
            wrong, what = used[~holds], "lacks"
        for index in pool.indices[wrong].tolist():
            self.found.add(
                Kind.PAIR, f"scenes/{pool.name}", index, f"an image of {split} {what}", self.hop.words
            )
        return int(holds.sum())

    # Between splits

    def _check_shared(self, splits: Mapping[str, SplitArrays], used: Mapping[str, Rows]) -> None:
        """No image is in two splits, under whatever name."""
        for a, b in combinations(splits, 2):
            if SPLITS[a].drawn == SPLITS[b].drawn == "places":
                continue
            in_a, in_b = self.pools[splits[a].pool], self.pools[splits[b].pool]
            twins = np.asarray(self.pools.twins(in_a.name, in_b.name), dtype=np.int64).reshape(-1, 2)
            both = np.isin(twins[:, 0], used[a]) & np.isin(twins[:, 1], used[b])
            for mine, theirs in twins[both].tolist():
                problem, value = f"an image of {b} is also in {a}", f"{in_a.name}[{in_a.indices[mine]}]"
                self.found.add(Kind.SHARED, f"scenes/{in_b.name}", int(in_b.indices[theirs]), problem, value)

    def _check_images(self, pool: PoolScenes, rows: Rows) -> None:
        """Every scene in use has its image in each form that the pool has."""
        folder, packed = self.layout.images(pool.name), self.layout.images_h5(pool.name)
        there = {path.name for path in images_of(folder, pool.name).values()}
        if there:
            for row in rows.tolist():
                if pool.filenames[row] not in there:
                    place, name = f"images/{pool.name}", pool.filenames[row]
                    self.found.add(Kind.DISAGREEMENT, place, int(pool.indices[row]), "no such image", name)
        if packed.is_file():
            stored = images_in(packed)
            for index in np.setdiff1d(pool.indices[rows], stored).tolist():
                self.found.add(Kind.DISAGREEMENT, self.layout.relative(packed), index, "no such image", index)
        if not there and not packed.is_file():
            self.found.add(Kind.DISAGREEMENT, f"images/{pool.name}", None, "no images of the pool", pool.name)
