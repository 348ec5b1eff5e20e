"""The kinds of split, one row each: what a split contains, how it is drawn, and how pages describe it.

All properties of a split are defined here, so that a new kind is a new row. A row speaks of "the pair"; in
preliminary sub-datasets, which ask about a single value, it means that value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

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


_ROWS = (
    SplitKind(
        "train",
        ("pair", "plain"),
        "stream",
        "train",
        "The pair is in no image and in no question.",
        "#009E73",
        "s",
        role="train",
        pool="train",
        rule="without",
        questions_per_scene=9,
        shown="never",
        asked="never",
    ),
    SplitKind(
        "val_iid",
        ("pair",),
        "stream",
        "val_iid",
        "For tuning: the pair is in no image and in no question.",
        "#CC79A7",
        "v",
        role="tune",
        pool="val_iid",
        rule="without",
        questions_per_scene=9,
        shown="never",
        asked="never",
    ),
    SplitKind(
        "complex_iid",
        ("pair",),
        "stream",
        "complex_iid",
        "In distribution: the pair is in no image and in no question.",
        "#0072B2",
        "o",
        pool="test_iid",
        rule="without",
        questions_per_scene=9,
        shown="never",
        asked="never",
    ),
    SplitKind(
        "complex_ood",
        ("pair",),
        "stream",
        "complex_ood",
        "Out of distribution: the pair is in every image and in every question.",
        "#D55E00",
        "D",
        pool="test_ood",
        rule="with",
        questions_per_scene=1,
        shown="always",
        asked="always",
        baseline="complex_iid",
        gap="complex",
    ),
    SplitKind(
        "minimal_iid",
        ("pair",),
        "places",
        "minimal_copies",
        "One object; each question names two values of the pair's types, never both held-out ones.",
        "#56B4E9",
        "o",
        group=0,
        shown="never",
        asked="never",
    ),
    SplitKind(
        "minimal_ood",
        ("pair",),
        "places",
        "minimal_copies",
        "One object; the question is whether it has the held-out pair, as it does in one image of {group}.",
        "#E69F00",
        "D",
        group=0,
        shown="in one",
        asked="always",
        baseline="minimal_iid",
        gap="minimal",
    ),
    SplitKind(
        "val",
        ("plain",),
        "stream",
        "val",
        "For tuning.",
        "#CC79A7",
        "v",
        role="tune",
        pool="val",
        questions_per_scene=9,
    ),
    SplitKind(
        "test",
        ("plain",),
        "stream",
        "test",
        "Nothing held out.",
        "#0072B2",
        "o",
        pool="test_iid",
        questions_per_scene=9,
    ),
    SplitKind(
        "val_b",
        ("second",),
        "stream",
        "val",
        "The second palette: for looking at, not for tuning.",
        "#F0E442",
        "^",
        pool="val",
        questions_per_scene=9,
        baseline="val",
        gap="val",
    ),
    SplitKind(
        "test_b",
        ("second",),
        "stream",
        "test",
        "Nothing held out; the second palette.",
        "#D55E00",
        "D",
        pool="test_iid",
        questions_per_scene=9,
        baseline="test",
        gap="test",
    ),
    SplitKind(
        "existence",
        ("value",),
        "groups",
        "prelim_existence",
        "One object; the question is whether it has the value. Of two images in a row, the first has it.",
        "#56B4E9",
        "o",
        group=2,
        shown="in one",
        asked="always",
        construction=(
            "Existence is a minimal set of a single type. A group is two images of one object with the "
            "same sentence, position, rotation, camera, lights and other values: the first has the value,"
            " the second another one of its type. Each other value of the type comes with every "
            "combination of the other types' values, as often as any, where all groups are there. Always "
            "answering no is right half the time."
        ),
    ),
    SplitKind(
        "counting",
        ("value",),
        "sets",
        "prelim_counting",
        "Five objects at the same places; one more has the value from image to image.",
        "#CC79A7",
        "v",
        group=6,
        asked="always",
        construction=(
            "Counting has sets of six images, all asked the same. Five objects stand at five positions, "
            "which are the same in every image of every set; within a set camera, lights, rotations and "
            "the objects' other values are, too. The first image shows the value on no object, and from "
            "image to image one more object takes it, in an order that is drawn for the set; so the "
            "answers are 0 to 5, each equally often."
        ),
    ),
)

SPLITS: Mapping[str, SplitKind] = {row.name: row for row in _ROWS}
"""The kinds by name, in the order in which splits are listed."""

TRAIN = SPLITS["train"]
"""The split on which models are trained; scenes of CLEVR, if the dataset has any, are in its pool."""


GAPS: Mapping[str, SplitKind] = {row.gap: row for row in _ROWS if row.gap}
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
    return tuple(row.name for row in _ROWS if set(row.of) & set(datasets))


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
