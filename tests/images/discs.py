"""A renderer in one module: a flat disc for each object, in its color, and the row that makes it known."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeVar, get_args

import numpy as np

from clevrhope.images.renderer import Pixels, Renderer, RendererRow, Scene
from clevrhope.images.settings import Rendering, check_quality
from clevrhope.look.definition import Look, read_look

K = TypeVar("K", bound=Hashable)
DiscQuality = Literal["small", "large"]
NOTHING = 255


@dataclass(frozen=True)
class DiscSettings(Rendering):
    """Size of the images, and of the discs."""

    quality: DiscQuality = "large"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_quality("discs", self.quality, get_args(DiscQuality))

    def with_quality(self, quality: str) -> Self:
        return replace(self, quality=quality)


class DiscRenderer(Renderer):
    """Draws from the farthest object to the nearest."""

    def __init__(self, settings: DiscSettings, look: Look | None) -> None:
        self._settings = settings
        self._properties = (look or read_look()).properties

    @property
    def workers(self) -> int:
        return 1

    def render(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Pixels]]:
        for key, scene in scenes:
            colors = [self._properties["colors"][item["color"]] for item in scene["objects"]]
            yield key, np.array([*colors, [128] * 3], np.uint8)[np.minimum(self._mask(scene), len(colors))]

    def _mask(self, scene: Scene) -> Any:
        """(height, width) uint8: the number of each pixel's object, `NOTHING` where there is none."""
        width, height = self._settings.width, self._settings.height
        mask = np.full((height, width), NOTHING, np.uint8)
        y_px, x_px = np.mgrid[:height, :width]
        places = [item["pixel_coords"] for item in scene["objects"]]
        for number in sorted(range(len(places)), key=lambda k: -float(places[k][2])):
            item, (u_px, v_px, depth) = scene["objects"][number], places[number]
            share = 1.0 if self._settings.quality == "large" else 0.5
            radius_px = share * self._properties["sizes"][item["size"]] * 1.1 * width / depth
            u_px, v_px = u_px * width / 480, v_px * height / 320
            mask[(x_px - u_px) ** 2 + (y_px - v_px) ** 2 <= radius_px**2] = number
        return mask

    def close(self) -> None:
        """There is nothing to release."""


def _open(settings: DiscSettings, *, look: Look | None, **_: object) -> Renderer:
    return DiscRenderer(settings, look)


DISCS = RendererRow(
    title="the renderer of discs",
    made_by="discs (quality {quality})",
    settings=DiscSettings,
    qualities=get_args(DiscQuality),
    effort="quality",
    open=_open,
    open_in_actor=lambda settings, look, cores, gpus: DiscRenderer(settings, look),
    revision=1,
    most_objects=20,
    is_in_process=True,
)
