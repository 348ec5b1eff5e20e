"""The splits of questions over sets of up to five images (COVR, Bogin et al. 2021): rows of kinds.toml."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from clevrhope.runtime.toml import read_rows
from clevrhope.splits.kinds import Rule

_PREFIX = "covr_"

HeldOutOf = Literal["both", "words"]
"""What a pair is held out of: images and questions, or only questions."""

Distractors = Literal["edited", "random"]
"""Distractors that contradict part of a question's description, or arbitrary images."""

PairPlace = Literal["nowhere", "question", "distractor"]
"""Where a pair occurs: nowhere, in the question, or in images that do not show what it describes."""


@dataclass(frozen=True)
class CovrKind:
    """One split.

    Attributes:
        name: of the split; its file is named without `covr_`.
        role: whether models are trained, tuned or tested on it.
        pool: the pool of its sets' scenes, if a pair is held out.
        size: the field of `Sizes` with its number of questions.
        caption: what a reader should look for in it.
        plain_pool: the pool if nothing is held out; "" if the split does not exist then.
        paraphrases: the split whose questions it asks in other words; "" for none.
        half: which half of all texts it uses, so that dev and test share none; None for all texts.
        mentions: whether its questions are about the pair.
        drawn: how it is drawn, as in `SplitKind`.
        unit: the unit in which its size is counted.
    """

    name: str
    role: Literal["train", "tune", "test"]
    pool: str
    size: str
    caption: str
    plain_pool: str = ""
    paraphrases: str = ""
    half: int | None = None
    mentions: bool = False
    drawn: ClassVar[Literal["sets of images"]] = "sets of images"
    unit: ClassVar[Literal["questions"]] = "questions"

    @property
    def questions(self) -> str:
        """The split whose questions it asks, in its own or in other words."""
        return self.paraphrases or self.name

    def scenes(self, held_out_of: HeldOutOf) -> Rule:
        """The rule for the scenes of its sets, if a pair is held out."""
        return "any" if self.mentions or held_out_of == "words" else "without"

    def places(self, held_out_of: HeldOutOf) -> tuple[PairPlace, ...]:
        """Where the pair occurs; pairs of questions take turns through these places."""
        if not self.mentions:
            return ("nowhere",)
        # If images are unrestricted, distractors that show the pair are nothing new.
        return ("question", "question", "question", "distractor") if held_out_of == "both" else ("question",)


COVR_KINDS: Mapping[str, CovrKind] = read_rows(CovrKind, Path(__file__).with_suffix(".toml"))
"""The rows by name, in the order in which splits are listed."""

COVR_SPLITS = tuple(COVR_KINDS)
"""The names of these splits."""

COVR_TRAIN = "covr_train"
"""The split on which models of several images are trained."""

COVR_DEV = "covr_dev"
"""The split by which their weights may be chosen."""

COVR_TEST = "covr_test"
"""The in-distribution test set; some of its questions have the property that a run holds out."""

COVR_COLUMNS: Mapping[str, str] = {"covr_role": "role", "covr_split": "predicate", "shots": "shots"}
"""Columns of predictions that say what a run held out -> the matching keys of its run.json."""


def covr_splits(*, held_out: bool) -> tuple[str, ...]:
    """The splits of a sub-dataset that holds out a pair, or of one that holds out nothing."""
    return tuple(name for name, row in COVR_KINDS.items() if held_out or row.plain_pool)


def is_covr(split: str) -> bool:
    """Whether a split's questions are about sets of images."""
    return split.startswith(_PREFIX)


def covr_file(split: str) -> str:
    """The name of a split's file in its folder: train for covr_train."""
    return split.removeprefix(_PREFIX)
