"""What was measured of one sub-dataset: the numbers that the sections of its datasheet show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from clevrhope.describe.datasheet.origin import Provenance
from clevrhope.describe.markdown import code, listed
from clevrhope.describe.measure import SplitStats
from clevrhope.splits.hops import Hop
from clevrhope.splits.palettes import Palette, parse_pool_name


@dataclass(frozen=True)
class Family:
    """A question family: where its templates are."""

    file: str
    index: int
    """Its place in the file."""


@dataclass(frozen=True)
class SubDataset:
    """What was measured of one pair."""

    hop: Hop
    splits: Sequence[SplitStats]
    families: Mapping[int, Family]
    families_never: Sequence[int]
    """Families that can never mention the pair, by analysis of their templates."""
    shared_images: Mapping[str, tuple[int, int]]
    """Split -> its images, and how many of them other sub-datasets of the folder use too."""
    checked: Sequence[str]
    """What the check for leaks looked at and found in order."""
    made_with: Provenance
    from_clevr: Mapping[str, int] = field(default_factory=dict)
    """Split -> its images that are CLEVR's own, for each split that has some."""
    palette: Palette | None = None
    """What is seen, where that is not every combination of values but the pair."""
    plots: Sequence[str] = ()
    """Names of the files in the folder that `Layout.plots` names."""

    def split(self, name: str) -> SplitStats | None:
        """A split's numbers, or None when it was not made."""
        return next((each for each in self.splits if each.split == name), None)

    @property
    def second_palette(self) -> str:
        """The palette of the second tests; "" where there are none."""
        found = {parse_pool_name(each.pool)[1] for each in self.splits} - {self.hop.palette}
        return min(found, default="")

    @property
    def second_splits(self) -> str:
        """The splits with the images of the second palette, as one lists them."""
        second = self.second_palette
        return listed([code(each.split) for each in self.splits if parse_pool_name(each.pool)[1] == second])
