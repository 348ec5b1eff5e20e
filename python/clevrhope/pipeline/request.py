"""What a user asks a build for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clevrhope.config.presets import Config
from clevrhope.images.settings import rendering_as_json
from clevrhope.pipeline.limits import Limits


@dataclass(frozen=True)
class Request:
    """What a user asks for."""

    out: Path
    hops: tuple[str, ...]
    config: Config
    seed: int | None
    """None takes the folder's own, which then has to be there."""
    splits: tuple[str, ...] | None = None
    """None asks for all splits of each pair."""
    render: bool = True
    workers: int | None = None
    """Blender's processes; None for one for every two cores. The native renderer has none."""
    engine: str = "local"
    """Where renderers work: here, or in a Ray cluster."""
    address: str | None = None
    """Of the Ray cluster; None for one on this machine."""
    limits: Limits = field(default_factory=Limits)
    """Which combinations of values occur."""
    prelim: tuple[str, ...] = ()
    """Values that are asked for alone, or "all"."""

    @property
    def rendering(self) -> Mapping[str, Any] | None:
        """What makes the images, as a manifest has it; None where none are asked for."""
        return rendering_as_json(self.config.rendering) if self.render else None
