"""Annotations of images: masks, depths, normals, and the visible and hidden pixels of each object."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from io import BytesIO
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from clevrhope.errors import ConfigError, SceneError
from clevrhope.images.renderer import Renderer, Scene
from clevrhope.runtime.settings import unknown

K = TypeVar("K", bound=Hashable)

#: The available passes, in the order in which they are stored.
PASSES = ("mask", "depth", "normal")
#: The mask's value where there is no object; objects are numbered from 0 by their position in the scene.
BACKGROUND = 255
#: Depths are whole multiples of this, in Blender units. Finer digits are noise, and compress badly.
DEPTH_STEP = 2.0**-12

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Passes:
    """The annotations of an image.

    Attributes:
        mask: (height, width) uint8: the position of the pixel's object in the scene's list, 255 for none.
        depth: (height, width) float32: along the camera's axis, not along the ray, in Blender units, in steps
            of 2^-12; the ground has a depth too, and 0 means nothing at all.
        normal: (height, width, 3) float16: normal of the object's surface as shaded, in world axes, of length
            1 to 0.001; 0 where there is no object.
        boxes: (objects, 4) int32: x, y, width and height of the tight box of the mask, in pixels; 0 for an
            object that no pixel shows.
        visible_px: (objects,) int32: number of the object's pixels in the mask.
        alone_px: (objects,) int32: number of pixels that each object would have alone on the ground.
    """

    mask: npt.NDArray[np.uint8]
    depth: npt.NDArray[np.float32]
    normal: npt.NDArray[np.float16]
    boxes: Ints
    visible_px: Ints
    alone_px: Ints


@runtime_checkable
class Annotator(Protocol):
    """A renderer that also makes annotations."""

    def passes(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Passes]]:
        """Yields (key, annotations) for each (key, scene), in any order; errors as for `Renderer.render`."""
        ...


def annotator_of(renderer: Renderer) -> Annotator:
    """Returns the renderer as one that makes annotations; raises ConfigError if it cannot make them."""
    if not isinstance(renderer, Annotator):
        raise ConfigError(
            "--passes: this renderer makes only images; it has no method `passes` for masks, depths, normals"
        )
    return renderer


def measure_passes(
    mask: npt.NDArray[np.uint8],
    depth: npt.NDArray[np.floating[Any]],
    normal: npt.NDArray[np.floating[Any]],
    alone_px: npt.ArrayLike,
) -> Passes:
    """Builds annotations, with boxes and visible pixels; the arguments are attributes of `Passes`."""
    alone = np.asarray(alone_px, dtype=np.int32)
    visible = np.bincount(mask.ravel(), minlength=BACKGROUND + 1)[: len(alone)].astype(np.int32)
    boxes = np.zeros((len(alone), 4), dtype=np.int32)
    for number in np.flatnonzero(visible).tolist():
        shown = mask == number
        rows, columns = np.flatnonzero(shown.any(axis=1)), np.flatnonzero(shown.any(axis=0))
        x, y = columns[0], rows[0]
        boxes[number] = (x, y, columns[-1] + 1 - x, rows[-1] + 1 - y)
    return Passes(
        mask=mask,
        depth=(np.round(depth / DEPTH_STEP) * DEPTH_STEP).astype(np.float32),
        normal=np.where((mask == BACKGROUND)[:, :, None], 0.0, normal).astype(np.float16),
        boxes=boxes,
        visible_px=visible,
        alone_px=alone,
    )


def parse_passes(names: Sequence[str], place: str) -> tuple[str, ...]:
    """Parses names of passes; returns each once, in the order of `PASSES`.

    Raises:
        ConfigError: a name is unknown; the message begins with `place`.
    """
    if not isinstance(names, list | tuple):
        raise ConfigError(f"{place}: {names!r:.60} should be a list of names")
    for name in names:
        if name not in PASSES:
            raise ConfigError(f"{place}: {unknown('pass', name, PASSES)}")
    return tuple(name for name in PASSES if name in names)


def check_countable(n_objects: int) -> None:
    """Checks that a mask can number all objects; raises SceneError for too many objects."""
    if n_objects > BACKGROUND:
        raise SceneError(f"objects: {n_objects}; a mask has numbers for up to {BACKGROUND}")


def to_bytes(passes: Passes) -> npt.NDArray[np.uint8]:
    """All arrays of an image's annotations in numpy's file format, concatenated, (1, bytes) uint8."""
    content = BytesIO()
    for array in vars(passes).values():
        np.save(content, array)
    return np.frombuffer(content.getbuffer(), dtype=np.uint8)[None]


def from_bytes(content: npt.NDArray[np.uint8]) -> Passes:
    """The annotations of an image from the bytes of `to_bytes`."""
    arrays = BytesIO(content.tobytes())
    return Passes(*(np.load(arrays) for _ in fields(Passes)))
