"""A user's request to `build`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clevrhope.config.presets import Config
from clevrhope.editions.definition import Edition
from clevrhope.images.renderers import rendering_as_json
from clevrhope.pipeline.limits import Limits


@dataclass(frozen=True)
class Request:
    """A wanted dataset, or an extension of an existing one."""

    out: Path
    hops: tuple[str, ...]
    config: Config
    seed: int | None
    """None for the seed of the existing folder."""
    splits: tuple[str, ...] | None = None
    """None for all splits of each sub-dataset."""
    render: bool = True
    workers: int | None = None
    """Blender's processes, or images that the native renderer makes at once; None for the default."""
    engine: str = "local"
    """Where renderers run: "local", or "ray" for a Ray cluster."""
    address: str | None = None
    """Address of the Ray cluster; None for one on this machine."""
    limits: Limits = field(default_factory=Limits)
    """Which combinations of values may occur."""
    covr: bool = False
    """Whether questions over several images are wanted too."""
    prelim: tuple[str, ...] = ()
    """Single values to ask about, or "all"."""
    edition: Edition | None = None
    """The edition that this request makes, whole or in part; private if the seed is not the edition's."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """The request as the command line gave it, for the manifest's `requests`; empty if Python made it."""

    @property
    def rendering(self) -> Mapping[str, Any] | None:
        """The rendering settings as a manifest records them; None if no images are wanted."""
        return rendering_as_json(self.config.rendering) if self.render else None
