"""The measurements of a sub-dataset that its datasheet shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from clevrhope.dataset.manifest import Manifest
from clevrhope.describe.covr import CovrStats
from clevrhope.describe.markdown import code, listed
from clevrhope.describe.measure import SplitStats
from clevrhope.describe.suites import SuiteStats
from clevrhope.splits.hops import Hop
from clevrhope.splits.palettes import Palette, parse_pool_name


@dataclass(frozen=True)
class SubDataset:
    """The measurements of a sub-dataset."""

    hop: Hop
    splits: Sequence[SplitStats]
    families: Mapping[int, tuple[str, int]]
    """Template file of each family, and index in it, by `question_family_index`."""
    families_never: Sequence[int]
    """Families that can never mention the pair, according to an analysis of their templates."""
    shared_images: Mapping[str, tuple[int, int]]
    """Split -> number of its images, and of those that other sub-datasets of the folder use too."""
    manifest: Manifest
    """The folder's manifest."""
    from_clevr: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Number of objects -> train images that have so many, and how many of them are CLEVR's own; empty
    without CLEVR's scenes."""
    palette: Palette | None = None
    """The combinations that are seen; None if these are all but the pair."""
    plots: Sequence[str] = ()
    """Names of the plots' files in the folder `Layout.plots`."""
    suites: Sequence[SuiteStats] = ()
    """Its suites of paired tests."""
    covr: Sequence[CovrStats] = ()
    """Its splits of questions over several images."""

    def split(self, name: str) -> SplitStats | None:
        """The measurements of a split; None if it was not made."""
        return next((each for each in self.splits if each.split == name), None)

    @property
    def second_palette(self) -> str:
        """The palette of the second tests; "" if there are none."""
        found = {parse_pool_name(each.pool)[1] for each in self.splits} - {self.hop.palette}
        return min(found, default="")

    @property
    def second_splits(self) -> str:
        """The splits with images of the second palette, as a list in a sentence."""
        second = self.second_palette
        return listed([code(each.split) for each in self.splits if parse_pool_name(each.pool)[1] == second])
