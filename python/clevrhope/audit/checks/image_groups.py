"""Images that come in groups: what the images of a group share, and what their objects look like."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clevrhope.audit.report import Check

Values = tuple[str, ...]

TYPES = ("size", "color", "material", "shape")

SHARED = ("camera", "lights", "directions")
"""Keys of a scene in which the images of a group agree; their objects' positions and rotations agree too."""


@dataclass(frozen=True)
class GroupImage:
    """An image of a group."""

    index: int
    stage: str
    """Positions, rotations, camera and lights, which the images of a group share."""
    ground: tuple[tuple[float, float], ...]
    """x and y of each object."""
    looks: tuple[Values, ...]
    """Values of each object, in the order of `TYPES`."""

    @property
    def values(self) -> Values:
        """Values of the first object, which is the only one in a minimal set."""
        return self.looks[0]


class ImageGroups:
    """The images of some pools, collected scene by scene."""

    def __init__(self, n_objects: Mapping[str, int], check: Check) -> None:
        """`n_objects` has the number of objects in each pool's images; `check` records other numbers."""
        self.n_objects = n_objects
        self._check = check
        self._images: dict[str, dict[int, GroupImage]] = defaultdict(dict)

    def add(self, pool: str, scene: Mapping[str, Any]) -> None:
        """Adds a scene if its pool is one of the collected pools.

        Raises:
            KeyError, TypeError, ValueError, IndexError: it is not a scene.
        """
        if pool not in self.n_objects:
            return
        index, objects = int(scene["image_index"]), scene["objects"]
        self._check.n_checked += 1
        if len(objects) != self.n_objects[pool]:
            problem = f"not {self.n_objects[pool]} objects, like the pool's other images"
            self._check.fault(f"scenes/{pool}", index, problem, len(objects))
            return
        ground = tuple((float(each["3d_coords"][0]), float(each["3d_coords"][1])) for each in objects)
        stage = [ground, [each["rotation"] for each in objects], *(scene.get(key) for key in SHARED)]
        looks = tuple(tuple(str(each[kind]) for kind in TYPES) for each in objects)
        self._images[pool][index] = GroupImage(index, repr(stage), ground, looks)

    def of(self, pool: str) -> Mapping[int, GroupImage]:
        """The images of a pool by index."""
        return self._images[pool]

    def places(self, pool: str) -> Mapping[str, Sequence[GroupImage]]:
        """The groups of a pool, keyed by what their images share."""
        found: dict[str, list[GroupImage]] = defaultdict(list)
        for each in self._images[pool].values():
            found[each.stage].append(each)
        return found
