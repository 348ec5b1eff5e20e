"""Measures a split of questions over several images: its answers, structures, properties and cuts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.offered_answers import offered_answers
from clevrhope.dataset.question_kinds import PAIR_PLACES, SETS, STRUCTURES
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import DatasetError
from clevrhope.splits.covr.kinds import COVR_SPLITS

_ROWS_A_BLOCK = 16_384


@dataclass(frozen=True)
class CovrStats:
    """The measured distributions of one split of questions over several images."""

    split: str
    pool: str
    n_questions: int
    n_images: int
    """Number of distinct images in all sets."""
    images_a_question: Mapping[int, int]
    """Images of a set -> questions."""
    answers: Mapping[str, int]
    """Answer -> questions, in the order of the vocabulary."""
    answers_of_templates: Mapping[str, Mapping[str, int]]
    """Template -> answer -> questions, in the same order."""
    choices: Mapping[tuple[str, str, str, str], int]
    """Template, the two answers that it offers, and the right one -> choose questions."""
    structures: Mapping[str, int]
    """Form of the subgraph -> questions."""
    properties: Mapping[str, int]
    """Each of COVR's properties -> questions that have it."""
    cuts: Mapping[str, Mapping[int, int]]
    """Template -> number of the column `cut` -> questions."""
    pair_places: Mapping[str, int]
    """Place of the held-out pair -> questions."""
    words: Mapping[int, int]
    """Number of tokens of a question, including punctuation -> questions."""
    functions: Mapping[int, int]
    """Number of functions in a program -> questions."""
    skipped: Mapping[str, int] | None
    """Template -> pairs of questions that could not be found; None if the file does not say."""

    def share(self, n: int) -> float:
        """A number of questions as a share of all; nan if there are no questions."""
        return n / self.n_questions if self.n_questions else float("nan")

    def guessed_from(self, train: "CovrStats", *, by_template: bool) -> float:
        """Accuracy of the most frequent answer of train, or of each template of train; nan if empty.

        In a tie, the first answer in the vocabulary counts. By template, a choose question gets the more
        frequent of the answers that it offers. Source: COVR's table 6.
        """
        of_all = _most_frequent(train.answers)
        if not by_template:
            return self.share(self.answers.get(of_all, 0))
        right = 0
        chosen = {template for template, *_ in self.choices}
        for template, answers in self.answers_of_templates.items():
            seen = train.answers_of_templates.get(template) or train.answers
            if template not in chosen:
                right += answers.get(_most_frequent(seen), 0)
        for (template, first, second, answer), n in self.choices.items():
            seen = train.answers_of_templates.get(template) or train.answers
            more_frequent = first if seen.get(first, 0) >= seen.get(second, 0) else second
            right += n * (answer == more_frequent)
        return self.share(right)


def _most_frequent(answers: Mapping[str, int]) -> str:
    return max(answers, key=answers.__getitem__, default="")


class CovrTally:
    """Counts the properties of questions over several images, which are added in blocks."""

    def __init__(self, attributes: QuestionTable, vocab: Vocab) -> None:
        self._attributes, self._vocab, self._answers = attributes, vocab, vocab.answers()
        self._choices: Counter[tuple[int, int, int, int]] = Counter()
        self._images: set[int] = set()
        self._sizes: Counter[int] = Counter()
        self._of_templates: Counter[tuple[int, int]] = Counter()
        self._cuts: Counter[tuple[int, int]] = Counter()
        self._structures: Counter[int] = Counter()
        self._places: Counter[int] = Counter()
        self._words: Counter[int] = Counter()
        self._functions: Counter[int] = Counter()
        self._properties = np.zeros(len(attributes.property_names), np.int64)

    def add(self, rows: QuestionTable) -> None:
        """Counts a block of questions.

        Raises:
            IndexError: an answer is not in the vocabulary.
        """
        if rows.answers.size and rows.answers.max() >= len(self._answers):
            raise IndexError(f"answer {rows.answers.max()} of {len(self._answers)}")
        is_there = rows.image_idxs >= 0
        self._images.update(np.unique(rows.image_idxs[is_there]).tolist())
        self._sizes.update(is_there.sum(axis=1).tolist())
        self._of_templates.update(_pairs(rows.question_families, rows.answers))
        offered = offered_answers(rows.programs, self._vocab.programs(), self._vocab.answer_token_to_idx)
        is_choice = offered[:, 0] >= 0
        choices = np.column_stack([rows.question_families, offered, rows.answers])[is_choice]
        self._choices.update(map(tuple, choices.tolist()))
        self._cuts.update(_pairs(rows.question_families, rows.cut))
        self._structures.update(rows.structures.tolist())
        self._places.update(rows.pair_places.tolist())
        self._words.update((rows.question_lengths - 2).tolist())  # without <START> and <END>
        self._functions.update((rows.program_lengths - 2).tolist())
        self._properties += (rows.properties == 1).sum(axis=0)

    def stats(self) -> CovrStats:
        """The statistics of the questions so far."""
        attributes = self._attributes
        names = attributes.templates
        answers: dict[str, dict[str, int]] = {}
        for (template, answer), n in sorted(self._of_templates.items()):
            answers.setdefault(names[template], {})[self._answers[answer]] = n
        totals: Counter[int] = Counter()
        for (_, answer), n in self._of_templates.items():
            totals[answer] += n
        cuts: dict[str, dict[int, int]] = {}
        for (template, cut), n in sorted(self._cuts.items()):
            cuts.setdefault(names[template], {})[cut] = n
        return CovrStats(
            split=attributes.split,
            pool=attributes.pool,
            n_questions=self._sizes.total(),
            n_images=len(self._images),
            images_a_question=dict(sorted(self._sizes.items())),
            answers={self._answers[answer]: n for answer, n in sorted(totals.items())},
            answers_of_templates=answers,
            choices={
                (names[template], self._answers[first], self._answers[second], self._answers[answer]): n
                for (template, first, second, answer), n in sorted(self._choices.items())
            },
            structures={STRUCTURES[each]: n for each, n in sorted(self._structures.items())},
            properties=dict(zip(attributes.property_names, self._properties.tolist(), strict=True)),
            cuts=cuts,
            pair_places={PAIR_PLACES[each]: n for each, n in sorted(self._places.items())},
            words=dict(sorted(self._words.items())),
            functions=dict(sorted(self._functions.items())),
            skipped=dict(zip(names, attributes.skipped, strict=True)) if attributes.skipped else None,
        )


def _pairs(a: npt.NDArray[np.integer[Any]], b: npt.NDArray[np.integer[Any]]) -> Iterable[tuple[int, int]]:
    return zip(a.tolist(), b.tolist(), strict=True)


def measure_covr(
    layout: Layout, manifest: Manifest, hop: str, splits: Sequence[str] | None = None
) -> Iterator[CovrStats]:
    """The measurements of a sub-dataset's splits over several images, of the given ones or of all.

    Raises:
        DatasetError: a file is missing or damaged.
    """
    there = manifest.covr.get(hop, {})
    for split in COVR_SPLITS:
        if split in there and (splits is None or split in splits):
            yield measure_covr_split(layout, hop, split)


def measure_covr_split(layout: Layout, hop: str, split: str) -> CovrStats:
    """The measurements of one split; raises as `measure_covr` does."""
    path = layout.questions_h5(hop, split)
    tally = CovrTally(read_table(path, SETS), read_vocab(layout.covr_vocab))
    for rows in read_table(path, SETS).parts(_ROWS_A_BLOCK):
        try:
            tally.add(rows)
        except (IndexError, ValueError) as error:
            raise DatasetError(f"{path}: numbers that are not in {layout.covr_vocab} ({error})") from error
    return tally.stats()
