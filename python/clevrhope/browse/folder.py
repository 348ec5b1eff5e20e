"""The dataset that pages read: each file is opened on demand, and none outside the dataset's folder."""

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from clevrhope.dataset.clevr_json import SceneLines
from clevrhope.dataset.contents import all_splits_in, hops_in, suite_splits_in, suites_in
from clevrhope.dataset.detokenizer import ProgramNodes
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.image_source import H5Images, Images, PngImages
from clevrhope.dataset.images_h5 import images_in
from clevrhope.dataset.layout import SCENES_A_SHARD, Layout, image_filename
from clevrhope.dataset.passes_h5 import PassesFile
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import QuestionTable, open_split, read_table
from clevrhope.dataset.source_images import source_images
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.images.passes import BACKGROUND
from clevrhope.runtime.reading import NOT_UTF8, name_not_utf8, reading
from clevrhope.scenes.sketch import scene_svg
from clevrhope.splits.hops import Hop

MASK_COLOURS: Sequence[tuple[int, int, int]] = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (240, 228, 66),
    (0, 114, 178),
    (213, 94, 0),
    (204, 121, 167),
    (120, 94, 240),
    (60, 60, 60),
    (255, 255, 255),
)
"""Colours of the objects in turn, which people with any kind of colour vision can distinguish."""

MASK_OPACITY = 150
"""Opacity of masks, of 255."""

SHARDS_IN_MEMORY = 64
"""Number of scene files whose line offsets are kept in memory, at 2 MB each."""


Stamp = tuple[int, int, int]
"""A file's time of change, size and inode: equal as long as nobody wrote it."""

Stamps = Mapping[Path, Stamp | None]


@dataclass(frozen=True)
class SplitKey:
    """The file of a question: a split's file, or a suite's file of pairs on a split."""

    hop: str
    split: str
    suite: str | None = None


class SiteFolder(Folder):
    """A finished dataset, without its list of files; its files are opened on first use and stay open."""

    def __init__(self, root: Path) -> None:
        """Reads the manifest.

        Raises:
            DatasetError: the folder does not exist, is not a dataset, or is one machine's part of one.
        """
        if name_not_utf8(str(root)):
            raise DatasetError(f"{root}: {NOT_UTF8}")  # pages could not name it
        self.layout = Layout(root)
        self._home = Path(os.path.realpath(root))
        self.checked(self.layout.manifest)
        self.stamp = _stamp(self.layout.manifest)
        manifest = Folder.open(root, finished=False).manifest
        super().__init__(self.layout, replace(manifest, files={}))
        self.hops = hops_in(self.layout)
        self.reader = lru_cache(maxsize=12)(self._reader)
        self._images_in = lru_cache(maxsize=12)(images_in)
        self._passes = lru_cache(maxsize=4)(PassesFile)
        self._scene_lines = lru_cache(maxsize=SHARDS_IN_MEMORY)(SceneLines)
        self._imported = lru_cache(maxsize=12)(partial(source_images, self.layout))

    def stamps(self, hop: str) -> Stamps:
        """The stamps of the files that an index of a HOP is made from."""
        patterns = ("*vocab.json", f"hops/{hop}/*.*", "covr/vocab.json", f"covr/{hop}/*.*", "nonce/*.*")
        found = (path for each in (*patterns, "scenes/*/*.json") for path in self.layout.root.glob(each))
        return {path: _stamp(path) for path in found}

    def is_current(self) -> bool:
        """Whether the manifest is the one that was read; raises DatasetError if it is gone."""
        now = _stamp(self.layout.manifest)
        if now is None:
            raise DatasetError(
                f"{self.layout.root}: the dataset is no longer there ({self.layout.manifest.name} is gone); "
                "put it back, then load this page again"
            )
        return now == self.stamp

    def contains(self, path: Path) -> bool:
        """Whether a path is in the folder once all links are resolved."""
        return Path(os.path.realpath(path)).is_relative_to(self._home)

    def checked(self, path: Path) -> Path:
        """The path; raises DatasetError if it leads out of the folder once all links are resolved."""
        if not self.contains(path):
            raise DatasetError(
                f"{path}: a link that leads out of {self.layout.root}; links are not followed out of a "
                "dataset that is looked at, so put a copy in its place"
            )
        return path

    # The dataset's content

    def splits(self, hop: str) -> tuple[str, ...]:
        """The splits of a HOP; splits of questions about sets of images come last."""
        return all_splits_in(self.layout, hop)

    def suites(self, hop: str) -> dict[str, tuple[str, ...]]:
        """Suite of paired tests -> the splits of a HOP on which it was made."""
        layout = self.layout
        return {name: suite_splits_in(layout, hop, name) for name in suites_in(layout, hop)}

    def has(self, place: SplitKey) -> bool:
        """Whether the dataset has this split, or this suite on it."""
        if place.hop not in self.hops:
            return False
        known = self.splits(place.hop) if place.suite is None else self.suites(place.hop).get(place.suite, ())
        return place.split in known

    def known_hop(self, name: str) -> Hop | None:
        """The HOP with a name; None if the name has no meaning with the dataset's values."""
        try:
            return self.hop(name)
        except ConfigError:
            return None

    # Questions

    def questions_path(self, place: SplitKey) -> Path:
        """The HDF5 file of a place's questions."""
        if place.suite is None:
            return self.checked(self.layout.questions_h5(place.hop, place.split))
        return self.checked(self.layout.suite_h5(place.hop, place.suite, place.split))

    def _reader(self, place: SplitKey) -> tuple[QuestionTable, Vocab]:
        """The questions of a place, and their vocabulary; raises DatasetError for a bad file or link."""
        path, layout = self.questions_path(place), self.layout
        if place.suite is None:
            vocab = read_vocab(self.checked(layout.vocab_of(place.split)))
            return open_split(layout, place.hop, place.split, vocab=vocab), vocab
        vocab = read_vocab(self.checked(layout.suite_vocab(place.hop, place.suite)))
        return read_table(path, PAIRS, vocab=vocab).check(), vocab

    def program(self, place: SplitKey, row: int) -> list[dict[str, Any]]:
        """The nodes of a question's program, as in CLEVR's files; raises DatasetError if it is damaged."""
        reader, vocab = self.reader(place)
        _, programs = reader.tokens(row)
        with reading(reader.path, "a program"):
            return ProgramNodes(vocab, self.attributes).nodes(programs)[0]

    # Scenes and images

    def scene(self, pool: str, index: int) -> dict[str, Any]:
        """A scene, as stored in its file; raises DatasetError if it is missing, broken or elsewhere."""
        path = self.checked(self.layout.scene_shard(pool, index // SCENES_A_SHARD))
        scene: dict[str, Any] = self._scene_lines(path).read(index)
        if "objects" not in scene:
            raise DatasetError(f"{path}: scene {index} has no objects; run the dataset's build again")
        return scene

    def image(self, pool: str, index: int) -> bytes | None:
        """The PNG file of an image; None if it is not rendered. Raises DatasetError for a bad file."""
        images = self._images(pool, index)
        return images.png(index)() if images else None

    def is_rendered(self, pool: str, index: int) -> bool:
        """Whether there is an image of a scene; raises as `image` does."""
        return self._images(pool, index) is not None

    def _images(self, pool: str, index: int) -> Images | None:
        """The files that have an image; None if there are none."""
        path, packed = map(self.checked, (self.layout.image(pool, index), self.layout.images_h5(pool)))
        if path.is_file():
            return PngImages(self.layout.images(pool), partial(image_filename, pool))
        if packed.is_file() and np.isin(index, self._images_in(packed)):
            return H5Images(self.layout, pool)
        imported = self._imported(pool)
        return imported if imported and index in imported.record else None

    def sketch(self, pool: str, index: int) -> str:
        """A drawing of a scene as SVG; raises as `scene` does."""
        scene = self.scene(pool, index)
        with reading(self.layout.scenes(pool), "scenes that can be drawn"):
            return scene_svg(scene, size_px=self.manifest.raster_px)

    def has_mask(self, pool: str, index: int) -> bool:
        """Whether there is a mask of an image; False if its file cannot be read, which `mask` explains."""
        path = self.layout.passes_h5(pool)
        if not path.is_file():
            return False
        try:
            passes = self._passes(self.checked(path))
        except DatasetError:
            return True
        return "mask" in passes.kinds and bool(np.isin(index, passes.indices))

    def mask(self, pool: str, index: int) -> bytes | None:
        """The mask of an image as a PNG file with a colour for each object; else as for `image`."""
        path = self.checked(self.layout.passes_h5(pool))
        if not path.is_file() or not self.has_mask(pool, index):
            return None
        return mask_png(self._passes(path).row(index, ("mask",))["mask"])


def _stamp(path: Path) -> Stamp | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def mask_png(mask: npt.NDArray[np.uint8]) -> bytes:
    """A mask (height, width) as a PNG file with a palette; pixels without an object are transparent."""
    palette = [MASK_COLOURS[number % len(MASK_COLOURS)] for number in range(BACKGROUND)]
    image = Image.fromarray(mask, mode="P")
    image.putpalette([channel for colour in (*palette, (0, 0, 0)) for channel in colour])
    opacity = bytes([*[MASK_OPACITY] * BACKGROUND, 0])
    memory = io.BytesIO()
    image.save(memory, "PNG", transparency=opacity, optimize=False)
    return memory.getvalue()
