"""Measures questions over several images as measured.json has them: answers, forms, properties and cuts.

The counts in COVR's paper are here too, which datasheets show beside a split's own numbers.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.covr_questions import offered_answers
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import PAIR_PLACES, SETS, STRUCTURES
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import DatasetError
from clevrhope.splits.covr.kinds import COVR_SPLITS, COVR_TRAIN

N_TRAIN = 248_154
"""Train questions of COVR. Source: Bogin et al. 2021, section 3."""

FILTERED: Mapping[str, int] = {
    "has-quant": 33_300,
    "has-quant-all": 21_100,
    "compscope": 22_800,
    "has-compar": 16_700,
    "has-compar-more": 7_600,
    "has-groupby": 33_300,
    "has-logic": 16_700,
    "has-logic-and": 8_800,
    "num-3": 6_900,
    "num-3-ans-3": 12_100,
    "ans-num": 33_300,
    "program": 48_000,
    "sameattr-color": 27_300,
    "tpl-choose-object": 16_700,
    "tpl-verify-quantifier-attr": 16_700,
    "tpl-verify-attr": 16_700,
}
"""Property -> train questions that have it, rounded. Source: "Filtered" in tables 7 and 8."""

MAJ, MAJ_TEMPL = 26.8, 41.5
"""Accuracy of the most frequent answers on COVR's test set, in per cent. Source: table 6."""

_ROWS_A_BLOCK = 16_384


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

    def measured(self) -> dict[str, Any]:
        """The measurements of the questions so far, without `baselines`."""
        attributes = self._attributes
        templates: dict[str, dict[str, Any]] = {}
        totals: Counter[int] = Counter()
        for (number, answer), n in sorted(self._of_templates.items()):
            template = templates.setdefault(attributes.templates[number], {"questions": 0, "answers": {}})
            template["questions"] += n
            template["answers"][self._answers[answer]] = n
            template["cut"] = {name: self._cuts[number, cut] for name, cut in _CUTS.items()}
            totals[answer] += n
        return {
            "pool": attributes.pool,
            "questions": self._sizes.total(),
            "images": len(self._images),
            "images_a_question": dict(sorted(self._sizes.items())),
            "answers": {self._answers[answer]: n for answer, n in sorted(totals.items())},
            "templates": templates,
            "structures": {STRUCTURES[number]: n for number, n in sorted(self._structures.items())},
            "properties": dict(zip(attributes.property_names, self._properties.tolist(), strict=True)),
            "pair_places": {PAIR_PLACES[number]: n for number, n in sorted(self._places.items())},
            "tokens": dict(sorted(self._words.items())),
            "functions": dict(sorted(self._functions.items())),
            "pairs_not_found": dict(zip(attributes.templates, attributes.skipped, strict=True))
            if attributes.skipped
            else None,
        }

    def guessed(self, train: Mapping[str, Any], *, by_template: bool) -> float | None:
        """Accuracy of the most frequent answer of train, or of each template of train; None if empty.

        In a tie, the first answer in the vocabulary counts. By template, a choose question gets the more
        frequent of the answers that it offers. Source: COVR's table 6.
        """
        names, n_questions, right = self._attributes.templates, self._sizes.total(), 0
        if not n_questions:
            return None

        def seen(template: int) -> Mapping[str, int]:
            found: Mapping[str, int] = train["templates"].get(names[template], train)["answers"]
            return found

        chosen = {template for template, *_ in self._choices} if by_template else set[int]()
        for (template, answer), n in self._of_templates.items():
            if template not in chosen:
                answers = seen(template) if by_template else train["answers"]
                right += n * (self._answers[answer] == max(answers, key=answers.__getitem__, default=""))
        for (template, *offered, answer), n in self._choices.items() if by_template else ():
            first, second = (seen(template).get(self._answers[number], 0) for number in offered)
            right += n * (answer == offered[0 if first >= second else 1])
        return round(right / n_questions, 6)


_CUTS = {"changed": 1, "stays": 0, "exempt": -1}
"""Names of the numbers of the column `cut`."""


def _pairs(a: npt.NDArray[np.integer[Any]], b: npt.NDArray[np.integer[Any]]) -> Iterable[tuple[int, int]]:
    return zip(a.tolist(), b.tolist(), strict=True)


def measure_covr(
    layout: Layout, manifest: Manifest, hop: str, splits: Sequence[str] | None = None
) -> dict[str, dict[str, Any]]:
    """Split -> the measurements of a sub-dataset's splits over several images, of the given ones or of all.

    Raises:
        DatasetError: a file is missing or damaged.
    """
    tallies = {
        split: _tally(layout, hop, split)
        for split in COVR_SPLITS
        if split in manifest.covr.get(hop, {}) and (splits is None or split in splits)
    }
    measured = {split: tally.measured() for split, tally in tallies.items()}
    train = measured.get(COVR_TRAIN)
    return {
        split: {
            **measured[split],
            "baselines": {
                "maj": tally.guessed(train, by_template=False) if train else None,
                "maj_templ": tally.guessed(train, by_template=True) if train else None,
            },
        }
        for split, tally in tallies.items()
    }


def _tally(layout: Layout, hop: str, split: str) -> CovrTally:
    path = layout.questions_h5(hop, split)
    tally = CovrTally(read_table(path, SETS), read_vocab(layout.covr_vocab))
    for rows in read_table(path, SETS).parts(_ROWS_A_BLOCK):
        try:
            tally.add(rows)
        except (IndexError, ValueError) as error:
            raise DatasetError(f"{path}: numbers that are not in {layout.covr_vocab} ({error})") from error
    return tally
