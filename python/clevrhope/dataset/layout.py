"""A dataset's folder in, the path of each thing in it out."""

from dataclasses import dataclass
from pathlib import Path

SCENES_A_SHARD = 10_000
"""Scene indices covered by one scene file, used or not."""


@dataclass(frozen=True)
class Layout:
    """Where the files of one dataset are."""

    root: Path

    @property
    def manifest(self) -> Path:
        """Seed, settings, every file with size and checksum."""
        return self.root / "manifest.json"

    @property
    def vocab(self) -> Path:
        """Numbers of words, functions and answers."""
        return self.root / "vocab.json"

    @property
    def datasheet(self) -> Path:
        """The datasheet of the whole dataset."""
        return self.root / "DATASHEET.md"

    @property
    def contact_sheet(self) -> Path:
        """Some pictures and questions of each split, for a browser."""
        return self.root / "index.html"

    def pictures(self, pool: str) -> Path:
        """The folder of a pool's PNG files."""
        return self.root / "images" / pool

    def picture(self, pool: str, index: int) -> Path:
        """The picture of one scene."""
        return self.pictures(pool) / image_filename(pool, index)

    def pictures_h5(self, pool: str) -> Path:
        """All pictures of a pool."""
        return self.root / "images" / f"{pool}.h5"

    def picture_store(self, pool: str) -> Path:
        """Pictures on their way into HDF5, when nobody asked for PNG files."""
        return self.root / "images" / f".{pool}"

    def passes_h5(self, pool: str) -> Path:
        """Masks, depths and normals of all pictures of a pool."""
        return self.root / "passes" / f"{pool}.h5"

    def passes_store(self, pool: str) -> Path:
        """A file for each picture's annotations, on their way into HDF5; in a part they stay."""
        return self.root / "passes" / pool

    def passes_record(self, pool: str, index: int) -> Path:
        """The annotations of one scene on their way into HDF5."""
        return self.passes_store(pool) / f"{Path(image_filename(pool, index)).stem}.passes"

    def scenes(self, pool: str) -> Path:
        """The folder of a pool's scene files."""
        return self.root / "scenes" / pool

    def scene_shard(self, pool: str, shard: int) -> Path:
        """The file of scenes `shard * SCENES_A_SHARD` up to the next one's first."""
        return self.scenes(pool) / f"{shard:04d}.json"

    def hop(self, hop: str) -> Path:
        """The folder of a sub-dataset."""
        return self.root / "hops" / hop

    def questions_h5(self, hop: str, split: str) -> Path:
        """A split's questions as arrays."""
        return self.hop(hop) / f"{split}.h5"

    def questions_json(self, hop: str, split: str) -> Path:
        """A split's questions as CLEVR's files have them."""
        return self.hop(hop) / f"{split}_questions.json"

    def hop_datasheet(self, hop: str) -> Path:
        """The datasheet of a sub-dataset."""
        return self.hop(hop) / "DATASHEET.md"

    def plots(self, hop: str) -> Path:
        """The folder of the plots in a sub-dataset's datasheet, where somebody had them drawn."""
        return self.hop(hop) / "plots"

    def relative(self, path: Path) -> str:
        """The name of a file in the manifest: its path below the root, with forward slashes."""
        return path.relative_to(self.root).as_posix()


def image_filename(pool: str, index: int) -> str:
    """A picture's name, unique over all pools, as scene and question files have it."""
    return f"HOPE_{pool}_{index:06d}.png"
