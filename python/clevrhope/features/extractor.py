"""What a kind of features has to offer: images and scenes in, rows of arrays out."""

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
        index: of the scene in its pool.
        image: (height, width, 3) uint8 RGB; None where the kind reads none.
        scene: as CLEVR's scene files have it; None where the kind reads none.
    """

    index: int
    image: ImageArray | None
    scene: Mapping[str, Any] | None


@dataclass(frozen=True)
class Asked:
    """What a store is asked for.

    Attributes:
        size: width and height that images are brought to; None for the kind's own.
        weights: a local file, or "random" where the kind allows that.
        device: as torch spells it, or "auto".
        attributes: the world's attribute types and their values.
        raster: width and height of the images that boxes in the scene files are measured in.
        most_objects: in a scene.
        image_size: width and height of the dataset's images; None where it has none.
    """

    size: tuple[int, int] | None
    weights: Path | str | None
    device: str
    attributes: Mapping[str, Sequence[str]]
    raster: tuple[int, int]
    most_objects: int
    image_size: tuple[int, int] | None


class Extractor(Protocol):
    """Makes the rows of one store.

    Attributes:
        reads: "picture", "scene" or both.
        options: that tell stores of the kind apart.
        suffix: of the store's name, which says them.
        arrays: by name.
        weights: as in `StoreInfo`.
        code: as in `StoreInfo`.
        note: as in `StoreInfo`.
    """

    reads: tuple[str, ...]
    options: Mapping[str, Any]
    suffix: str
    arrays: Mapping[str, ArraySpec]
    weights: str | None
    code: int
    note: str | None

    def rows(self, samples: Sequence[Sample]) -> Mapping[str, Array]:
        """The arrays of these samples, each (n, ...).

        Raises:
            DatasetError: a scene that lacks what is needed.
        """
