"""The right answers to a folder's questions about sets of images, and the properties of these questions."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clevrhope.dataset.covr_description import read_description
from clevrhope.dataset.offered_answers import offered_answers
from clevrhope.dataset.question_kinds import SETS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import DatasetError
from clevrhope.metrics.answer_key import AnswerKey, TestSet, answer_numbers
from clevrhope.metrics.covr.frequent_answers import FrequentAnswers, frequent_answers, source_images
from clevrhope.splits.covr.description import Description
from clevrhope.splits.covr.kinds import COVR_KINDS, COVR_TRAIN
from clevrhope.splits.covr.selection import Predicate, resolved_predicate


@dataclass(frozen=True)
class SetTestSet(TestSet):
    """The N questions of a split; `images` are their source images, `families` their templates' numbers."""

    templates: tuple[str, ...]
    """Names of templates by number."""
    structures: Ints
    """(N,) numbers in `question_kinds.STRUCTURES`."""
    pair_places: Ints
    """(N,) numbers in `question_kinds.PAIR_PLACES`."""
    offered: Ints
    """(N, 2) the answers that a choose question offers; -1 in rows of other questions."""
    description: Description

    __test__ = False


class CovrKey(AnswerKey):
    """The right answers of a folder's test sets about sets of images, each read on first use."""

    of_sets = True

    def __init__(self, folder: Path | str) -> None:
        """Reads the manifest and the vocabulary.

        Raises:
            DatasetError: the folder is not a dataset, or has no questions about sets of images.
        """
        super().__init__(folder)
        covr = self._manifest.covr
        if not covr:
            raise DatasetError(
                f"{folder}: it has no questions about sets of images; add them with clevrhope build --covr"
            )
        self._vocab = read_vocab(self._layout.covr_vocab)
        self.answers = answer_numbers(self._vocab)
        self.splits: Mapping[str, tuple[str, ...]] = {
            hop: tuple(name for name in COVR_KINDS if name in splits and name != COVR_TRAIN)
            for hop, splits in covr.items()
        }
        self._sets: dict[tuple[str, str], SetTestSet] = {}
        self._train: dict[str, tuple[Description, Ints, Ints]] = {}

    def test_set(self, hop: str, split: str) -> SetTestSet:
        """A split's right answers.

        Raises:
            DatasetError: its HDF5 file is missing or incomplete.
        """
        if (hop, split) not in self._sets:
            path = self._layout.questions_h5(hop, split)
            rows = read_table(path, SETS, vocab=self._vocab)
            self._sets[hop, split] = SetTestSet(
                hop=hop,
                split=split,
                pool=rows.pool,
                answers=rows.answers,
                images=source_images(rows.image_idxs, rows.sources).astype(np.int32),
                families=rows.question_families,
                templates=rows.templates,
                structures=rows.structures.astype(np.int32),
                pair_places=rows.pair_places.astype(np.int32),
                offered=offered_answers(
                    rows.programs, self._vocab.programs(), self._vocab.answer_token_to_idx
                ).astype(np.int32),
                description=read_description(path),
            )
        return self._sets[hop, split]

    def frequent_answers(self, hop: str, size: int | None) -> FrequentAnswers:
        """The most frequent answers of the first `size` questions of covr_train, or of all.

        Raises:
            DatasetError: covr_train is missing.
        """
        _, answers, templates = self._read_train(hop)
        names = read_table(self._layout.questions_h5(hop, COVR_TRAIN), SETS).templates
        return frequent_answers(
            answers[:size], templates[:size], n_templates=len(names), n_answers=len(self._vocab.answers())
        )

    def n_filtered(self, hop: str, predicate: Predicate, size: int | None) -> int:
        """The number of questions that a predicate holds out of the first `size` of covr_train, or of all.

        Raises:
            DatasetError: covr_train is missing.
        """
        description, _, _ = self._read_train(hop)
        return int(predicate.holds(description)[:size].sum())

    def predicate(self, hop: str, text: str) -> Predicate:
        """A predicate on the questions of a HOP.

        Raises:
            ConfigError: the text is not a predicate, or the predicate needs pairs to be drawn.
        """
        any_set = self.test_set(hop, self.splits[hop][0]).description
        return resolved_predicate(text, property_names=any_set.property_names, term_names=any_set.term_names)

    def _read_train(self, hop: str) -> tuple[Description, Ints, Ints]:
        if hop not in self._train:
            path = self._layout.questions_h5(hop, COVR_TRAIN)
            rows = read_table(path, SETS)
            self._train[hop] = (read_description(path), rows.answers, rows.question_families)
        return self._train[hop]
