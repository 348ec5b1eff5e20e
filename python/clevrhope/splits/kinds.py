"""The kinds of split, one row of kinds.toml each: what a split contains, how it is drawn and described.

All properties of a split are defined there, so that a new kind is a new row. A row speaks of "the pair"; in
preliminary sub-datasets, which ask about a single value, it means that value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clevrhope.runtime.toml import read_rows

SHARED_PLACES = "minimal"
"""The pool of minimal images whose places all pairs share: at each place all objects, one an image."""

Rule = Literal["any", "without", "with"]
"""For the scenes and questions of a stream: any, without the held-out pair, or with it."""

Occurs = Literal["anywhere", "never", "always", "in one"]
"""Where the pair occurs: in one image of each group, for instance."""

Dataset = Literal["pair", "plain", "second", "value"]
"""What a split is part of: a held-out pair, `none`, `none` with a second palette, or a single value."""


@dataclass(frozen=True)
class SplitKind:
    """One kind of split.

    Attributes:
        name: the name of its files.
        of: the kinds of dataset that have it.
        role: whether models are trained, tuned or tested on it.
        drawn: "stream" for the first questions on the scenes of a pool; "places" for grids of one object at a
            place; "groups" and "sets" for images that differ in one value.
        pool: the pool of a stream; the pools of other splits follow from the pair.
        rule: the rule for a stream's scenes and questions, if something is held out.
        questions_per_scene: for a stream.
        group: images in a group or set; 1 if images stand alone; 0 if it depends on the pair, as 2 to the
            power of its values.
        size: the field of `Sizes` with the number of questions, places, groups or sets.
        shown: where images show the pair.
        asked: where questions ask for it.
        baseline: the split with whose accuracy its own is compared; "" for none.
        gap: the name of the difference; "" for none.
        caption: what a reader should look for in it; {group} is the size of a group.
        construction: how its groups or sets are made, for datasheets; "" if the pair's datasheet says it.
        color: its color in plots.
        marker: its marker in plots, as matplotlib names it.
    """

    name: str
    of: tuple[Dataset, ...]
    drawn: Literal["stream", "places", "groups", "sets"]
    size: str
    caption: str
    color: str
    marker: str
    role: Literal["train", "tune", "test"] = "test"
    pool: str = ""
    rule: Rule = "any"
    questions_per_scene: int = 0
    group: int = 1
    shown: Occurs = "anywhere"
    asked: Occurs = "anywhere"
    baseline: str = ""
    gap: str = ""
    construction: str = ""

    @property
    def reference(self) -> str:
        """The split with which its distributions are compared: its baseline, or train; "" for none."""
        beside_train = self.drawn == "stream" and self.role != "train"
        return self.baseline or ("train" if beside_train else "")

    @property
    def is_test_set(self) -> bool:
        """Whether models answer it by default: not a train set, nor a split on which a pair is tuned."""
        return self.role == "test" or (self.role == "tune" and "pair" not in self.of)

    @property
    def unit(self) -> str:
        """The unit in which its size is counted."""
        return {"stream": "questions", "places": "places"}.get(self.drawn, "sets")

    def group_of(self, n_values: int) -> int:
        """Images in a group, for a pair of `n_values` values."""
        return self.group or 2**n_values

    def caption_of(self, n_values: int) -> str:
        """The caption for a pair of `n_values` values; 0 if nothing is held out."""
        if not n_values and "plain" in self.of and "pair" in self.of:
            return "Nothing held out."
        return self.caption.format(group=self.group_of(n_values))


SPLITS: Mapping[str, SplitKind] = read_rows(SplitKind, Path(__file__).with_suffix(".toml"))
"""The kinds by name, in the order in which splits are listed."""

TRAIN = SPLITS["train"]
"""The split on which models are trained; scenes of CLEVR, if the dataset has any, are in its pool."""


GAPS: Mapping[str, SplitKind] = {row.gap: row for row in SPLITS.values() if row.gap}
"""Name of a gap -> the split whose accuracy, minus that of its baseline, it is.

The gaps of `none` are between palettes, such as those of CoGenT's two conditions."""

SYSTEMATICITY_GAPS: Mapping[str, SplitKind] = {name: kind for name, kind in GAPS.items() if "pair" in kind.of}
"""The gaps of a held-out pair: on whole scenes ("complex") and on single objects ("minimal")."""

MINIMAL_IID, MINIMAL_OOD = GAPS["minimal"].baseline, GAPS["minimal"].name
"""The test sets of single objects."""

IID, OOD = GAPS["complex"].baseline, GAPS["complex"].name
"""The test sets of whole scenes: the main gap is between the two, and runs are judged on the first."""


def splits_of_dataset(*datasets: Dataset) -> tuple[str, ...]:
    """The names of the splits that some kinds of dataset have, in order."""
    return tuple(row.name for row in SPLITS.values() if set(row.of) & set(datasets))


PAIR_SPLITS = splits_of_dataset("pair")
"""Splits of a held-out pair."""

PAIR_TEST_SPLITS = tuple(name for name in PAIR_SPLITS if SPLITS[name].is_test_set)
"""Test sets of a held-out pair."""

PLAIN_SPLITS = splits_of_dataset("plain")
"""Splits of `none`, the dataset that holds nothing out."""

SECOND_SPLITS = splits_of_dataset("second")
"""Splits of `none` on the pools of a second palette, as large as the first ones: CoGenT's condition B."""

VALUE_SPLITS = splits_of_dataset("value")
"""Splits of a preliminary sub-dataset, which asks about a single value."""
