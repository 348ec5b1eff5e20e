"""The base class of extractors, which turn images or scenes into rows of arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
ImageArray = npt.NDArray[np.uint8]
Scene = Mapping[str, Any]
"""A record of CLEVR's scene files."""

Source = Literal["image", "scene"]
"""What features can be made from: images, or records of CLEVR's scene files."""


@dataclass(frozen=True)
class ArraySpec:
    """The numpy dtype and the shape of one row of an array."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ExtractorOptions:
    """The user's choices for a store, and facts about its dataset.

    Attributes:
        size: width and height to which images are resized; None for the kind's default.
        weights: `--weights` as given; None if not given.
        device: as torch spells it, or "auto".
        attributes: attribute type -> its values in the dataset's world.
        raster: width and height of the images to which boxes in the scene files refer.
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


class Extractor:
    """The base of all kinds of features, the package's and users' own (docs/models_of_your_own.md).

    Every class sets `arrays` and `weights`; the other attributes have defaults.

    Attributes:
        arrays: array name -> dtype and shape of an image's row.
        weights: a digest of the network's weights (`features.weights.weights_digest`), None without a
            network. Features of other weights, options or sizes are never mixed in a store.
        options: everything else that affects the numbers, in JSON values.
        size: width and height to which images are resized, by Pillow's bicubic filter; None for their own.
        reads: what features are made from: "image", "scene" or both.
        batch_size: the most images at a time; it is halved whenever memory runs out.
        suffix: the end of the store's default name.
        code: a version to be increased when a change of the class changes the numbers.
        note: a remark that results with these features must carry; None for none.
    """

    arrays: Mapping[str, ArraySpec]
    weights: str | None
    options: Mapping[str, Any] = {}
    size: tuple[int, int] | None = None
    reads: ClassVar[tuple[Source, ...]] = ("image",)
    batch_size: int = 16
    suffix: str = ""
    code: ClassVar[int] = 1
    note: str | None = None

    def __init__(self, options: ExtractorOptions) -> None:
        """Prepares the extractor; a class without a network or options needs no `__init__` of its own."""

    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> Mapping[str, Array]:
        """The rows of n images, with the dtypes and shapes in `arrays`: array name -> (n, ...), on the CPU.

        Args:
            images: (n, height, width, 3) uint8 RGB, of `size`; (n, 0, 0, 3) if images are not read.
            scenes: n records of CLEVR's scene files; empty if scenes are not read.

        Raises:
            DatasetError: a scene lacks something that is needed.
        """
        raise NotImplementedError
