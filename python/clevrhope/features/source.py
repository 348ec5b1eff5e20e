"""The images and scenes of a pool from which features are made."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from clevrhope.dataset.clevr_json import read_scene_indices, scenes_of
from clevrhope.dataset.image_source import Images
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.suite_pools import is_pixel_edit, parse_suite_pool
from clevrhope.errors import DatasetError
from clevrhope.features.dataset_folder import DatasetFolder, Ints
from clevrhope.features.extractor import Extractor, ImageArray, Scene

DIGEST_BYTES = 16
"""Bytes in the digest of a row's inputs."""


@dataclass(frozen=True)
class Block:
    """The inputs for the rows of a block.

    Attributes:
        images: (height, width, 3) each; empty if images are not read.
        scenes: records of scene files; empty if scenes are not read.
        sums: (n, 16) uint8, a digest of each row's inputs.
        size: width and height to which images are resized; None for their own.
    """

    images: Sequence[ImageArray]
    scenes: Sequence[Scene]
    sums: npt.NDArray[np.uint8]
    size: tuple[int, int] | None

    def __len__(self) -> int:
        return len(self.sums)

    def chosen(self, rows: npt.NDArray[np.int64]) -> tuple[ImageArray, list[Scene]]:
        """The resized images and the scenes of some rows, in the form of `Extractor.rows`."""
        images: ImageArray = np.zeros((len(rows), 0, 0, 3), dtype=np.uint8)
        if self.images:
            images = np.stack([resized(self.images[row], self.size) for row in rows])
        return images, [self.scenes[row] for row in rows if self.scenes]


class PoolSource:
    """The scenes of a pool that get features, and the images and scene records for these."""

    def __init__(self, folder: DatasetFolder, pool: str, extractor: Extractor) -> None:
        self._layout, self._pool = Layout(folder.root), pool
        self._images: Images | None = None
        self._scenes, self._size = "scene" in extractor.reads, extractor.size
        if "image" in extractor.reads:
            self.indices: Ints = folder.image_indices(pool)
            if not len(self.indices):
                raise DatasetError(
                    f"{folder.root / 'images'}: no images of pool {pool}; build it without --no-render"
                )
            self._images = folder.images(pool, self.indices)
        else:
            found = [read_scene_indices(shard) for shard in self._layout.scene_files(pool)]
            self.indices = np.sort(np.concatenate([np.zeros(0, dtype=np.int32), *found])).astype(np.int32)
        self.n_skipped = 0
        if self._scenes and parse_suite_pool(pool) is not None:
            # For an image that was edited pixel by pixel, the scene would reveal what the image hides.
            is_skipped = is_pixel_edit(self.indices)
            self.n_skipped = int(is_skipped.sum())
            self.indices = self.indices[~is_skipped]

    def block(self, rows: slice) -> Block:
        """The inputs of these rows."""
        indices = self.indices[rows]
        found = scenes_of(self._layout, self._pool, indices) if self._scenes else ()
        scene_of = {scene["image_index"]: scene for scene in found}
        images, scenes, sums = [], [], []
        for index in indices.tolist():
            digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
            if self._images is not None:
                image = self._images.pixels(index)
                digest.update(repr(image.shape).encode())
                digest.update(np.ascontiguousarray(image).data)
                images.append(image)
            if self._scenes:
                digest.update(json.dumps(scene_of[index], sort_keys=True).encode())
                scenes.append(scene_of[index])
            sums.append(np.frombuffer(digest.digest(), dtype=np.uint8))
        return Block(images, scenes, np.stack(sums), self._size)


def resized(image: ImageArray, size: tuple[int, int] | None) -> ImageArray:
    """Resizes an image (height, width, 3), by Pillow's bicubic filter."""
    if size is None or image.shape[1::-1] == size:
        return image
    return np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BICUBIC))
