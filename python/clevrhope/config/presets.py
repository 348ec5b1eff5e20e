"""What decides a dataset's content, as data: splits, sizes, kinds, presets.

The world's own settings are checked by the core.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from clevrhope.errors import ConfigError
from clevrhope.images.passes import parse_passes
from clevrhope.images.settings import Rendering, RenderSettings
from clevrhope.runtime.settings import suggestion
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import PAIR_SPLITS, PLAIN_SPLITS, VALUE_SPLITS, splits_of_dataset

WINDOW = 250
"""Eligible scenes over which the questions of a split are balanced."""

ImageKinds = Literal["png", "h5", "both"]

Directions = Literal["camera", "clevr"]
"""What left, right, front and behind are seen from: the image's own camera, or CLEVR's before jitter."""

Strictness = Literal["description", "implied"]
"""description: no description in a train or IID question holds all of the pair's values; implied: nor does
such a question ask for the pair by way of likenesses (docs/configuration.md says what that means)."""

CLEVR_SHARE = 0.21
"""Of a train pool with CLEVR's scenes: its 70,000 among the 330,000 that all of the paper's pairs look at."""

TRAIN_PREFIXES = (25_000, 200_000)
"""The paper's smaller train sets are the first so many questions of the largest."""

ZERO_IS_ALL = ("minimal_copies", "minimal_places", "prelim_existence")
"""Sizes of sets that have an end, of which 0 means the whole."""


@dataclass(frozen=True)
class Sizes:
    """Questions a split; minimal splits are counted in places (position, rotation, camera, lights)."""

    train: int
    complex_iid: int
    complex_ood: int
    val: int
    test: int
    minimal_copies: int
    """Places of each grid and combination; 0 for as many as the paper has (40, 20, 5 or 2)."""
    minimal_places: int = 0
    """The first so many places only; 0 for all of them."""
    prelim_existence: int = 0
    """Groups of two one-object images for each value that is asked for alone; 0 for all that there are."""
    prelim_counting: int = 100
    """Sets of six five-object images for each such value. The paper does not say how many it has."""

    def __post_init__(self) -> None:
        for each in fields(self):
            least = 0 if each.name in ZERO_IS_ALL else 1
            number = getattr(self, each.name)
            if not least <= number < 1 << 53:
                raise ConfigError(f"{each.name} is {number}; expected a whole number from {least} below 2^53")


@dataclass(frozen=True)
class Config:
    """Everything that can be chosen for a dataset but its seed, its folder and its pairs."""

    preset: Literal["demo", "small", "paper"]
    sizes: Sizes
    images: ImageKinds = "both"
    """How images are stored: a file each, one HDF5 file a pool, or both."""
    passes: tuple[str, ...] = ()
    """What is told of each pixel beside its colour: some of `PASSES`, in their order."""
    question_json: bool = True
    """Whether each HDF5 file of questions has a question file of CLEVR's kind beside it."""
    match: Literal["none", "objects"] = "none"
    """objects: scenes are thinned until 3, 4, ... 10 objects are equally frequent in every split."""
    strictness: Strictness = "description"
    """How a pair is held out of questions."""
    rendering: Rendering = field(default_factory=RenderSettings)
    """What makes the images, and with how much effort."""
    world: Mapping[str, Any] = field(default_factory=dict)
    """Constraints on scenes that differ from the defaults, as the core names them."""
    properties: Path | None = None
    """Vocabulary and sizes, colours, materials, meshes; None for the package's own."""
    templates: Path | None = None
    """Folder of question templates; None for the package's own."""
    clevr: Path | None = None
    """A CLEVR_v1.0 folder whose train scenes are part of the train pool; None for none."""
    clevr_share: float | None = None
    """The part of the train pool's scenes that are CLEVR's, above 0, up to 1; None for the folder's own, or
    `CLEVR_SHARE` for a new folder."""

    def __post_init__(self) -> None:
        share = self.clevr_share
        if share is not None:
            if not 1e-6 <= share <= 1:
                raise ConfigError(
                    f"clevr_share is {share}; expected a number above 0, up to 1, such as {CLEVR_SHARE}"
                )
            object.__setattr__(self, "clevr_share", round(float(share), 6))
        if self.templates is not None and not self.templates.is_dir():
            raise ConfigError(
                f"templates: {self.templates} is not a folder; expected one with question templates (JSON)"
            )
        object.__setattr__(self, "passes", parse_passes(self.passes, "passes"))

    @property
    def png(self) -> bool:
        """Whether a PNG file an image stays."""
        return self.images in ("png", "both")

    @property
    def h5(self) -> bool:
        """Whether there is an HDF5 file a pool."""
        return self.images in ("h5", "both")


PRESETS: Mapping[str, Config] = {
    "demo": Config(
        "demo",
        Sizes(
            train=162,
            complex_iid=72,
            complex_ood=12,
            val=72,
            test=72,
            minimal_copies=1,
            minimal_places=6,
            prelim_existence=3,
            prelim_counting=2,
        ),
    ),
    "small": Config(
        "small",
        Sizes(
            train=5_600,
            complex_iid=1_200,
            complex_ood=150,
            val=1_200,
            test=1_200,
            minimal_copies=1,
            prelim_existence=20,
            prelim_counting=10,
        ),
    ),
    "paper": Config(
        "paper",
        Sizes(
            train=560_000,
            complex_iid=120_000,
            complex_ood=15_000,
            val=120_000,
            test=120_000,
            minimal_copies=0,
        ),
        images="png",
    ),
}
"""demo: about 60 images; small: about a hundredth of the paper; paper: the paper's sizes."""


def splits_of(hop: Hop) -> tuple[str, ...]:
    """The splits of a pair, of `none`, or of a value that is asked for alone."""
    if hop.value is not None:
        return VALUE_SPLITS
    return PLAIN_SPLITS if hop.pair is None else PAIR_SPLITS


def check_splits(names: Sequence[str]) -> tuple[str, ...]:
    """Names of splits, each once, in the canonical order.

    Raises:
        ConfigError: no such split.
    """
    known = splits_of_dataset("pair", "plain", "value")
    for name in names:
        if name not in known:
            raise ConfigError(
                f'--splits: unknown split "{name}"{suggestion(name, known)}; known: {", ".join(known)}'
            )
    return tuple(name for name in known if name in names)
