"""A world as it comes with the package, and a scene small enough to read."""

from typing import Any

import pytest

from clevrhope import _core
from clevrhope.runtime.assets import blender_assets


@pytest.fixture(scope="session")
def world() -> _core.World:
    """CLEVR's vocabulary and look, CLEVR-HOPE's constraints."""
    properties, look = (blender_assets() / name for name in ("properties.json", "look.json"))
    return _core.World(
        properties.read_bytes(),
        look.read_bytes(),
        "{}",
        properties_file=properties.name,
        look_file=look.name,
    )


@pytest.fixture
def scene() -> dict[str, Any]:
    """A large red metal cube, and a small cyan rubber sphere to the left of it and behind."""
    cube = {"size": "large", "color": "red", "material": "metal", "shape": "cube"}
    sphere = {"size": "small", "color": "cyan", "material": "rubber", "shape": "sphere"}
    relationships = {"left": [[1], []], "right": [[], [0]], "behind": [[1], []], "front": [[], [0]]}
    return {"objects": [cube, sphere], "relationships": relationships}
