"""A world as it comes with the package, and a scene small enough to read."""

from typing import Any

import pytest
from small_worlds import world_of

from clevrhope import _core


@pytest.fixture(scope="session")
def world() -> _core.World:
    """CLEVR's vocabulary and look, CLEVR-HOPE's constraints."""
    return world_of()


@pytest.fixture
def scene() -> dict[str, Any]:
    """A large red metal cube, and a small cyan rubber sphere to the left of it and behind."""
    cube = {"size": "large", "color": "red", "material": "metal", "shape": "cube"}
    sphere = {"size": "small", "color": "cyan", "material": "rubber", "shape": "sphere"}
    relationships = {"left": [[1], []], "right": [[], [0]], "behind": [[1], []], "front": [[], [0]]}
    return {"objects": [cube, sphere], "relationships": relationships}
