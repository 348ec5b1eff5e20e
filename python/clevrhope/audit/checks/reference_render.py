"""The comparison of a doubtful image with a native render of its scene.

Light from a red neighbour, a metal's reflections and a small object's highlights can change an object's mean
colour in correct images too. So doubtful objects are compared with a native render of their scene. Over the
objects of 16 scenes (tests/data/look), the means of Cycles and of a native draft differ by at most 2.9 of
255, and by at least 16 if the object has another of the eight colours.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.errors import ClevrhopeError
from clevrhope.images.native import NativeRenderer
from clevrhope.look.definition import read_look

MOST_APART = 8.0
"""Largest allowed difference (of 255, in red, green or blue) between an object's mean in image and render."""


class ReferenceRender:
    """Renders scenes whose images are doubtful; a render of 480 x 320 pixels takes 0.2 s on two cores."""

    def __init__(
        self,
        size: tuple[int, int],
        properties: Path | None = None,
        changes: Mapping[str, Any] | None = None,
    ) -> None:
        """Takes the images' height and width in pixels, the properties file, and changes to the look."""
        self._size, self._properties, self._changes = size, properties, changes
        self._renderer: NativeRenderer | None = None

    def different_objects(
        self,
        scene: Mapping[str, Any],
        image: ImageArray,
        inner: npt.NDArray[np.uint8],
        numbers: Iterable[int],
    ) -> list[int] | None:
        """The objects whose mean colours in image and render differ; None if the scene cannot be rendered.

        Args:
            scene: The scene as stored in its dataset, with its camera and lights.
            image: (height, width, 3), sRGB.
            inner: (height, width), the number of each pixel's object, from 1; 0 for none.
            numbers: The objects to compare, each of which has at least one pixel.
        """
        render = self.render(scene)
        if render is None:
            return None
        return [
            number
            for number in numbers
            if np.abs(_mean(image, inner == number) - _mean(render, inner == number)).max() > MOST_APART
        ]

    def render(self, scene: Mapping[str, Any]) -> ImageArray | None:
        """(height, width, 3) a draft render of a scene; None if the scene cannot be rendered."""
        try:
            if self._renderer is None:
                height, width = self._size
                look = read_look(properties=self._properties, changes=self._changes)
                self._renderer = NativeRenderer(look=look, width=width, height=height, quality="draft")
            [(_, render)] = self._renderer.render([(None, scene)])
        except ClevrhopeError:  # the native renderer has no formula for the look or the scene
            return None
        return render


def _mean(image: ImageArray, where: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Mean red, green and blue (3,) of the pixels in a mask."""
    mean: npt.NDArray[np.float64] = image[where].mean(axis=0)
    return mean
