"""The splits of questions over sets of up to five images (COVR, Bogin et al. 2021), a row each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from clevrhope.splits.kinds import Rule

_PREFIX = "covr_"

HeldOutOf = Literal["both", "words"]
"""What a pair is held out of: images and questions, or questions alone."""

Distractors = Literal["edited", "random"]
"""Distractors that contradict a part of what a question describes, or any images."""

PairPlace = Literal["nowhere", "question", "distractor"]
"""Where a pair is: nowhere, mentioned in the question, or in images that do not show what it describes."""


@dataclass(frozen=True)
class CovrKind:
    """One split.

    Attributes:
        name: of the split; its file is named without `covr_`.
        role: whether models are trained, tuned or tested on it.
        pool: whose scenes its sets are of, where a pair is held out.
        plain_pool: the same where nothing is held out; "" if there is no such split then.
        size: the field of `Sizes` that says how many questions it has.
        questions: the split whose questions these are, said in other words; its own name elsewhere.
        half: which half of all texts it has, so that dev and test share none; None for all.
        mentions: whether its questions are about the pair.
        caption: what a reader should look for in it.
    """

    name: str
    role: Literal["train", "tune", "test"]
    pool: str
    plain_pool: str
    size: str
    questions: str
    caption: str
    half: int | None = None
    mentions: bool = False

    @property
    def unit(self) -> str:
        """What its size counts."""
        return "questions"

    @property
    def paraphrased(self) -> bool:
        """Whether its questions are those of another split in other words."""
        return self.questions != self.name

    def scenes(self, held_out_of: HeldOutOf) -> Rule:
        """Which scenes its sets are of, where a pair is held out."""
        return "any" if self.mentions or held_out_of == "words" else "without"

    def places(self, held_out_of: HeldOutOf) -> tuple[PairPlace, ...]:
        """Where the pair is, from one pair of questions to the next in turn."""
        if not self.mentions:
            return ("nowhere",)
        # Where images are free, distractors with the pair are nothing new.
        return ("question", "question", "question", "distractor") if held_out_of == "both" else ("question",)


_ROWS = (
    CovrKind(
        "covr_train",
        "train",
        "train",
        "train",
        "covr_train",
        "covr_train",
        "Questions over several images, without the pair.",
    ),
    CovrKind(
        "covr_dev",
        "tune",
        "val_iid",
        "val",
        "covr_dev",
        "covr_dev",
        "For tuning, in distribution.",
        half=0,
    ),
    CovrKind(
        "covr_test",
        "test",
        "test_iid",
        "test_iid",
        "covr_test",
        "covr_test",
        "In distribution: no question mentions the pair.",
        half=1,
    ),
    CovrKind(
        "covr_test_paraphrased",
        "test",
        "test_iid",
        "test_iid",
        "covr_test",
        "covr_test",
        "The questions of test, in words that no other split has.",
        half=1,
    ),
    CovrKind(
        "covr_test_ood",
        "test",
        "test_ood",
        "",
        "covr_test",
        "covr_test_ood",
        "Out of distribution: each question mentions the pair, or distractors show it.",
        half=1,
        mentions=True,
    ),
)

COVR_KINDS: Mapping[str, CovrKind] = {row.name: row for row in _ROWS}
"""The rows by name, in the order in which lists of splits have them."""

COVR_SPLITS = tuple(COVR_KINDS)
"""The names of all of them."""

COVR_TRAIN = "covr_train"
"""What models of several images learn from."""

COVR_DEV = "covr_dev"
"""The split that their weights may be chosen by."""

COVR_TEST = "covr_test"
"""The test set in distribution, of whose questions some have what a run holds out."""

COVR_OOD = "covr_test_ood"
"""The test set whose questions mention the held-out pair, or whose distractors show it."""


COVR_COLUMNS: Mapping[str, str] = {"covr_role": "role", "covr_split": "predicate", "shots": "shots"}
"""Columns of predictions that say what a run held out -> the names of the same in its run.json."""


def covr_splits(*, pair: bool) -> tuple[str, ...]:
    """The splits of a sub-dataset that holds a pair out, or nothing."""
    return tuple(name for name, row in COVR_KINDS.items() if pair or row.plain_pool)


def is_covr(split: str) -> bool:
    """Whether a split's questions are about sets of images."""
    return split.startswith(_PREFIX)


def covr_file(split: str) -> str:
    """The name of a split's file in its folder: train for covr_train."""
    return split.removeprefix(_PREFIX)
