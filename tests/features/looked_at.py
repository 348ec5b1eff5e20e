"""A demo with images that need no renderer, to make features of."""

from pathlib import Path
from typing import Any

from building import request as asked
from fake_renderer import FakeRenderer

from clevrhope.pipeline import build


def build_demo(out: Path, **changes: Any) -> Path:
    """A demo of rubber_cylinder, with 48 x 32 images."""
    build(
        asked(out, **changes),
        make_renderer=lambda settings, workers: FakeRenderer(settings=settings, workers=workers),
    )
    return out
