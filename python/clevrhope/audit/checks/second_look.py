"""A scene and its image in, the objects that have another colour there than in a render of the scene out.

Light from a red neighbour, a metal's reflections and a small object's highlights can turn a mean away from
the colour that its object has, in good images too. So what seems wrong is held against the scene itself,
rendered natively. Over the objects of 16 scenes (tests/data/look) means of Cycles and of a native draft
differ by 2.9 of 255 at most, and by 16 or more where an object has another of the eight colours.
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
"""Of 255, in red, green or blue: how far the mean of an object may be from that in a render of its scene."""


class SecondLook:
    """Renders scenes whose images are in doubt, 480 x 320 in 0.2 s on two cores."""

    def __init__(self, size: tuple[int, int], properties: Path | None = None) -> None:
        """Renders nothing yet.

        Args:
            size: height and width of the images, pixels.
            properties: values and looks, where they are not the package's.
        """
        self._size, self._properties = size, properties
        self._renderer: NativeRenderer | None = None

    def unlike(
        self,
        scene: Mapping[str, Any],
        image: ImageArray,
        inner: npt.NDArray[np.uint8],
        numbers: Iterable[int],
    ) -> list[int] | None:
        """Those objects that the image shows otherwise than a render; None where none can be made.

        Args:
            scene: as its dataset has it, with its camera and lights.
            image: (height, width, 3), sRGB.
            inner: (height, width), 0 or the number of the object, from 1, whose pixel it is.
            numbers: of the objects to be looked at; each has a pixel or more.
        """
        try:
            render = self._render(scene)
        except ClevrhopeError:  # a look or a scene that it has no formula for
            return None
        return [
            number
            for number in numbers
            if np.abs(_mean(image, inner == number) - _mean(render, inner == number)).max() > MOST_APART
        ]

    def _render(self, scene: Mapping[str, Any]) -> ImageArray:
        if self._renderer is None:
            height, width = self._size
            look = read_look(properties=self._properties)
            self._renderer = NativeRenderer(look=look, width=width, height=height, quality="draft")
        [(_, render)] = self._renderer.render([(None, scene)])
        return render


def _mean(image: ImageArray, where: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Red, green and blue of some pixels."""
    mean: npt.NDArray[np.float64] = image[where].mean(axis=0)
    return mean
