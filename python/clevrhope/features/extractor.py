"""The interface of a kind of features: images and scenes to rows of arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from clevrhope.features.store import Array, ArraySpec

ImageArray = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Sample:
    """One scene of a pool.

    Attributes:
        index: the scene's index in its pool.
        image: (height, width, 3) uint8 RGB; None for a kind that reads no images.
        scene: the record of CLEVR's scene files; None for a kind that reads no scenes.
    """

    index: int
    image: ImageArray | None
    scene: Mapping[str, Any] | None


@dataclass(frozen=True)
class ExtractorOptions:
    """The user's choices for a store, and facts of its dataset.

    Attributes:
        size: width and height that images are resized to; None for the kind's default.
        weights: a local file, or "random" for the kinds that allow it.
        device: as torch spells it, or "auto".
        attributes: attribute type -> its values in the dataset's world.
        raster: width and height of the images that boxes in the scene files refer to.
        most_objects: largest number of objects in a scene.
        image_size: width and height of the dataset's images; None if it has none.
    """

    size: tuple[int, int] | None
    weights: Path | str | None
    device: str
    attributes: Mapping[str, Sequence[str]]
    raster: tuple[int, int]
    most_objects: int
    image_size: tuple[int, int] | None


class Extractor(Protocol):
    """Computes the rows of one store.

    Attributes:
        reads: "image", "scene" or both.
        options: what distinguishes stores of the kind.
        suffix: of the store's name, from the options.
        arrays: name -> dtype and shape of a row.
        weights: as in `StoreInfo`.
        code: as in `StoreInfo`.
        note: as in `StoreInfo`.
    """

    reads: tuple[str, ...]
    options: Mapping[str, Any]
    suffix: str = ""
    arrays: Mapping[str, ArraySpec]
    weights: str | None = None
    code: int = 1
    note: str | None = None

    def rows(self, samples: Sequence[Sample]) -> Mapping[str, Array]:
        """The arrays of n samples by name, each (n, ...).

        Raises:
            DatasetError: a scene that lacks what is needed.
        """
