"""The check of a folder's questions over several images, split by split."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditSetReader
from clevrhope.audit.folder import AuditFolder, SetSplit
from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.audit.report import Check
from clevrhope.audit.sets.balance import BalanceCheck, Cells
from clevrhope.audit.sets.batches import Batch, digests, read_batches
from clevrhope.audit.sets.files import FileCheck, check_listing, objects_of
from clevrhope.audit.sets.lines import SetLines, set_lines
from clevrhope.audit.sets.questions import MeaningCheck
from clevrhope.audit.sets.texts import Texts, check_texts, joined
from clevrhope.dataset.native_reader import known_words, vocabulary_of
from clevrhope.dataset.scene_files import PoolScenes
from clevrhope.dataset.split_files import SetArrays, Vocab, read_vocab
from clevrhope.dataset.vocab import by_number
from clevrhope.errors import DatasetError, VocabularyError
from clevrhope.runtime.progress import Advance
from clevrhope.splits.hops import Hop

Sizes: TypeAlias = npt.NDArray[np.int64]

_NO_SIZES: Sizes = np.zeros((0, 3), dtype=np.int64)

_PHRASINGS = 1 << 16
"""An upper bound on the phrasings of a kind of question."""

_VARIANTS = 16
"""An upper bound on the variants of a template."""


def check_sets(folder: AuditFolder, leaks: LeakCheck, advance: Advance) -> list[Check]:
    """Reads the questions over several images; `leaks` is the folder's check for leaks, to share its scenes.

    Raises:
        DatasetError: a file is missing or cannot be read.
    """
    lines = set_lines()
    check_listing(folder, lines.files)
    if not folder.all_set_splits:
        for line in lines.all():
            line.skip("this folder has no questions over several images")
        return lines.all()
    if folder.set_splits:
        checks = _SetChecks(folder, leaks, lines)
        for hop in dict.fromkeys(split.hop for split in folder.set_splits):
            checks.check(hop, advance)
        checks.finish()
    return lines.all()


class _SetChecks:
    """The checks of a folder's questions over several images, and the state that its splits share."""

    def __init__(self, folder: AuditFolder, leaks: LeakCheck, lines: SetLines) -> None:
        self._folder, self._leaks, self._lines = folder, leaks, lines
        self._vocab: Vocab = read_vocab(folder.layout.covr_vocab)
        self._answers = {number: name for name, number in self._vocab.answers.items()}
        self._balance = BalanceCheck(self._vocab, lines.balance)
        self._n_by_cut = np.zeros(3, dtype=np.int64)
        self._check_vocab()

    def _check_vocab(self) -> None:
        """Checks that the vocabulary keeps the numbers of the dataset's own vocabulary."""
        own, base = self._vocab, self._folder.vocab
        for what in ("words", "functions", "answers"):
            numbers = getattr(own, what)
            for name, number in getattr(base, what).items():
                if numbers.get(name) != number:
                    file = self._folder.layout.relative(self._folder.layout.covr_vocab)
                    problem = f"{what}: {name} is not {number}, as in vocab.json, but"
                    self._lines.files.fault(file, None, problem, numbers.get(name))

    def check(self, hop: Hop, advance: Advance) -> None:
        """Checks the splits of a sub-dataset."""
        splits = [split for split in self._folder.set_splits if split.hop == hop]
        reader = self._reader(hop)
        texts = {}
        for split in splits:
            texts[split.name] = self._check_split(split, reader)
            advance(1)
        check_texts(self._folder, splits, texts, self._lines.texts)

    def finish(self) -> None:
        """Adds notes with the counts."""
        lines = self._lines
        n = lines.files.n_checked
        lines.files.notes.append(
            f"questions over several images: {n:,} in {len(self._folder.set_splits)} splits"
        )
        n_exempt, n_idle, n_needed = self._n_by_cut.tolist()
        lines.distractors.notes.append(
            f"questions over several images: {n_needed:,} change without their last leaf, {n_idle:,} do not, "
            f"and {n_exempt:,} have none"
        )
        self._balance.finish(n)

    def _reader(self, hop: Hop) -> AuditSetReader:
        vocab, words = self._vocab, self._leaks.words
        try:
            return AuditSetReader(
                vocabulary_of(vocab),
                question_tokens=by_number(vocab.words),
                program_tokens=by_number(vocab.functions),
                answers=by_number(vocab.answers),
                pair=list(hop.target),
                words=known_words(vocab, words, hop.target),
            )
        except VocabularyError as error:
            raise DatasetError(f"{self._folder.layout.covr_vocab}: {error}") from error

    def _check_split(self, split: SetSplit, reader: AuditSetReader) -> Texts:
        folder, lines, pool = self._folder, self._lines, self._leaks.pools[split.pool]
        found: list[Texts] = []
        sizes: list[Sizes] = []
        with folder.open_sets(split) as arrays:
            files = FileCheck(folder, split, arrays, self._vocab, reader, lines.files)
            settings = folder.manifest.settings
            meanings = MeaningCheck(split, settings, arrays.templates, self._answers, lines)
            for batch in read_batches(arrays, split.file, pool, reader):
                phrasings = files.look_at(batch, pool)
                meanings.look_at(batch, pool)
                found.append(_texts(batch, phrasings))
                sizes.append(_sizes(batch, pool))
            files.finish()
            self._balance.look_at(split, _cells(arrays, np.concatenate([_NO_SIZES, *sizes])))
        self._note(split, meanings)
        return joined(found)

    def _note(self, split: SetSplit, meanings: MeaningCheck) -> None:
        self._n_by_cut += meanings.n_by_cut
        name = f"{split.hop.name} {split.name}"
        if split.kind.mentions:
            _, in_question, by_distractors = meanings.n_by_place.tolist()
            self._lines.pair.notes.append(
                f"questions over several images: {in_question:,} of {name} mention the pair, and of "
                f"{by_distractors:,} distractors alone show it"
            )


def _texts(batch: Batch, phrasings: npt.NDArray[np.int64]) -> Texts:
    """The texts of a batch, with a number for each phrasing of each kind of question."""
    kinds = batch.found.templates.astype(np.int64) * _VARIANTS + batch.found.variants
    known = (phrasings >= 0) & (phrasings < _PHRASINGS)
    numbers = np.where(known, kinds * _PHRASINGS + phrasings, -1)
    return Texts(digests(batch.questions), numbers, batch.columns["answers"].astype(np.int32))


def _sizes(batch: Batch, pool: PoolScenes) -> Sizes:
    """(N, 3) images, objects in them, and objects in the source."""
    n_objects, sources = objects_of(batch, pool), batch.columns["sources"]
    places = np.clip(sources, 0, n_objects.shape[1] - 1)
    of_source = n_objects[np.arange(len(places)), places]
    return np.stack([batch.there.sum(axis=1), n_objects.sum(axis=1), of_source], axis=1)


def _cells(arrays: SetArrays, sizes: Sizes) -> Cells:
    columns = arrays.columns
    return Cells(
        templates=columns["question_families"],
        structures=columns["structures"],
        answers=columns["answers"],
        sources=columns["sources"],
        n_images=sizes[:, 0],
        n_objects=sizes[:, 1],
        n_objects_of_source=sizes[:, 2],
        template_names=arrays.templates,
    )
