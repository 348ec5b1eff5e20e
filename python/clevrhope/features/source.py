"""What a pool's features are made from, its images and scenes, and an extractor's output for them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from clevrhope.dataset.clevr_json import read_scene_indices, scenes_of
from clevrhope.dataset.image_source import Images
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_pools import is_pixel_edit, parse_suite_pool
from clevrhope.errors import ConfigError, DatasetError, with_article
from clevrhope.features.dataset_folder import BuiltDataset
from clevrhope.features.extractor import Array, Extractor, ImageArray, Scene

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

    def __init__(self, folder: BuiltDataset, pool: str, extractor: Extractor) -> None:
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


class Batches:
    """Calls an extractor's `rows` in batches, whose size is halved whenever memory runs out."""

    def __init__(self, kind: str, extractor: Extractor, *, device: str) -> None:
        """`kind` and `device`, as the user chose them, are for messages."""
        self._kind, self._extractor, self._device = kind, extractor, device
        self.size = extractor.batch_size
        """Images per batch after the last call."""

    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> dict[str, Array]:
        """The rows of n images, joined and checked; arguments as in `Extractor.rows`.

        Raises:
            ConfigError: the rows have another form than the extractor declares, or contain NaN or infinite
                numbers; or there is not enough memory for a single image.
        """
        made: list[Mapping[str, Array]] = []
        first = 0
        while first < len(images):
            part = slice(first, first + self.size)
            try:
                rows = self._extractor.rows(images[part], scenes[part])
            except RuntimeError as error:
                if not ("out of memory" in str(error) or "not enough memory" in str(error)):
                    raise
                if self.size == 1:
                    raise ConfigError(
                        f"--device: {self._device} has not enough memory for one image; choose another"
                    ) from error
                self.size //= 2
                _free_memory()
                continue
            self._check(rows, len(images[part]))
            made.append(rows)
            first += self.size
        return {name: np.concatenate([each[name] for each in made]) for name in self._extractor.arrays}

    def _check(self, rows: Any, n: int) -> None:
        """Checks the rows of n images."""
        arrays, place = self._extractor.arrays, f'features "{self._kind}": its method rows returns'
        wanted = f"its arrays are {', '.join(arrays)}"
        if not isinstance(rows, Mapping):
            raise ConfigError(f"{place} {type(rows).__name__}; {wanted}")
        if set(rows) != set(arrays):
            raise ConfigError(f"{place} {', '.join(map(str, rows)) or 'no array'}; {wanted}")
        for name, spec in arrays.items():
            array = rows[name]
            if not isinstance(array, np.ndarray):
                raise ConfigError(
                    f"{place} {name} as {with_article(type(array).__name__)}; expected a numpy array"
                )
            expected = (n, *spec.shape)
            if array.dtype != spec.dtype or array.shape != expected:
                raise ConfigError(
                    f"{place} {name} as {array.dtype} {array.shape}; expected {spec.dtype} {expected}, "
                    f"as its arrays say, for {n} images"
                )
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ConfigError(f"{place} {name} with NaN or infinite numbers in it")


def _free_memory() -> None:
    """Releases GPU memory that torch caches."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
