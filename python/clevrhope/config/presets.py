"""Everything that decides a dataset's content, as data: sizes, formats, constraints, and presets of these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from clevrhope.config.question_settings import QuestionSettings
from clevrhope.errors import ConfigError
from clevrhope.images.passes import parse_passes
from clevrhope.images.settings import BlenderSettings, Rendering
from clevrhope.runtime.settings import unknown
from clevrhope.splits.covr.kinds import is_covr
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import PAIR_SPLITS, PLAIN_SPLITS, VALUE_SPLITS, splits_of_dataset

WINDOW = 250
"""Number of eligible scenes over which the questions of a split are balanced."""

ImageKinds = Literal["png", "h5", "both"]

Directions = Literal["camera", "clevr"]
"""The camera that defines left, right, front and behind: the image's own, or CLEVR's before jitter."""

CLEVR_SHARE = 0.06
"""CLEVR's default share of a train pool: the largest that holds for every pair, number of objects and size up
to the paper's. CLEVR has some 490 scenes of ten objects without a large rubber one, for 7,778 places."""

TRAIN_PREFIXES = (25_000, 200_000)
"""The paper's smaller train sets: prefixes of the largest, in questions."""

ZERO_IS_ALL = ("minimal_copies", "minimal_places", "prelim_existence")
"""Sizes for which 0 means all that exist."""


@dataclass(frozen=True)
class Sizes:
    """Questions per split; minimal splits are counted in places (position, rotation, camera, lights)."""

    train: int
    val_iid: int
    complex_iid: int
    complex_ood: int
    val: int
    test: int
    minimal_copies: int
    """Places per grid and combination; 0 for the paper's numbers (40, 20, 5 or 2)."""
    minimal_places: int = 0
    """The most places; 0 for all."""
    prelim_existence: int = 0
    """Groups of two one-object images per value of a preliminary set; 0 for all."""
    prelim_counting: int = 100
    """Sets of six five-object images per such value. The paper does not state this number."""
    covr_train: int = 248_154
    """Training questions over several images: COVR's number."""
    covr_dev: int = 6_891
    """Questions over several images for tuning."""
    covr_test: int = 7_024
    """Questions over several images in each test set."""

    def __post_init__(self) -> None:
        for each in fields(self):
            least = 0 if each.name in ZERO_IS_ALL else 1
            number = getattr(self, each.name)
            if not least <= number < 1 << 53:
                raise ConfigError(f"{each.name} is {number}; expected a whole number from {least} below 2^53")


@dataclass(frozen=True)
class Config(QuestionSettings):
    """All choices for a dataset except its seed, folder and pairs."""

    preset: Literal["demo", "small", "paper"]
    sizes: Sizes
    images: ImageKinds = "both"
    """How images are stored: as one file each, as one HDF5 file per pool, or both."""
    passes: tuple[str, ...] = ()
    """Annotations of each image: some of `PASSES`, in their order."""
    question_json: bool = True
    """Whether each HDF5 file of questions is accompanied by a CLEVR question file (JSON)."""
    rendering: Rendering = field(default_factory=BlenderSettings)
    """The renderer and its settings."""
    world: Mapping[str, Any] = field(default_factory=dict)
    """Constraints on scenes that differ from the defaults, by the core's names; the core checks them."""
    look: Mapping[str, Any] = field(default_factory=dict)
    """Differences from the package's look in camera, lights, ground and background; see `read_changes`."""
    properties: Path | None = None
    """File with the vocabulary, sizes, colors, materials and meshes; None for the package's own."""
    templates: Path | None = None
    """Folder of question templates; None for the package's own."""
    clevr: Path | None = None
    """A CLEVR_v1.0 folder whose train scenes are part of the train pool."""
    clevr_share: float | None = None
    """CLEVR's share of the train pool, above 0 and at most 1; None for the folder's own, or `CLEVR_SHARE`."""
    clevr_order: Literal["even", "first"] | None = None
    """How CLEVR's scenes are spread: evenly, at their share, or first, until those of a number of objects run
    out; None for the folder's own, or even."""

    def __post_init__(self) -> None:
        share = self.clevr_share
        if share is not None:
            if not 1e-6 <= share <= 1:
                raise ConfigError(
                    f"clevr_share is {share}; expected a number above 0 and at most 1, such as {CLEVR_SHARE}"
                )
            object.__setattr__(self, "clevr_share", round(float(share), 6))
        if self.clevr_order == "first" and self.clevr_share not in (None, 1):
            raise ConfigError(
                f"clevr_share is {self.clevr_share}, but with clevr_order first CLEVR's scenes take all "
                "places until they run out; leave one of the two out"
            )
        if self.templates is not None and not self.templates.is_dir():
            raise ConfigError(
                f"templates: {self.templates} is not a folder; expected one with question templates (JSON)"
            )
        object.__setattr__(self, "passes", parse_passes(self.passes, "passes"))

    @property
    def png(self) -> bool:
        """Whether images are kept as PNG files."""
        return self.images in ("png", "both")

    @property
    def h5(self) -> bool:
        """Whether each pool has an HDF5 file of images."""
        return self.images in ("h5", "both")


PRESETS: Mapping[str, Config] = {
    "demo": Config(
        "demo",
        Sizes(
            train=162,
            val_iid=36,
            complex_iid=72,
            complex_ood=12,
            val=72,
            test=72,
            minimal_copies=1,
            minimal_places=6,
            prelim_existence=3,
            prelim_counting=2,
            covr_train=150,
            covr_dev=30,
            covr_test=30,
        ),
    ),
    "small": Config(
        "small",
        Sizes(
            train=5_600,
            val_iid=600,
            complex_iid=1_200,
            complex_ood=150,
            val=1_200,
            test=1_200,
            minimal_copies=1,
            prelim_existence=20,
            prelim_counting=10,
            covr_train=2_500,
            covr_dev=300,
            covr_test=300,
        ),
    ),
    "paper": Config(
        "paper",
        Sizes(
            train=560_000,
            val_iid=15_000,
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
    """The splits of a sub-dataset: of a pair, of `none`, or of a single value."""
    if hop.value is not None:
        return VALUE_SPLITS
    return PLAIN_SPLITS if hop.held_out is None else PAIR_SPLITS


def check_splits(names: Sequence[str]) -> tuple[str, ...]:
    """Checks the names of splits; returns each once, in canonical order.

    Raises:
        ConfigError: a split does not exist.
    """
    known = splits_of_dataset("pair", "plain", "value")
    for name in names:
        if is_covr(name):
            raise ConfigError(
                f"--splits: {name} is a split of questions over several images; leave it out, and ask for "
                "all of those with --covr (in an experiment, covr = true)"
            )
        if name not in known:
            raise ConfigError(f"--splits: {unknown('split', name, known)}")
    return tuple(name for name in known if name in names)
