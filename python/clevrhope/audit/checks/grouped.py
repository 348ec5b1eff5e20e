"""Scenes of pools whose images come in groups in; what the images of a group share, and what not, out."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clevrhope.audit.report import Tally

Values = tuple[str, ...]

TYPES = ("size", "color", "material", "shape")

SHARED = ("camera", "lights", "directions")
"""What of a scene the images of a group have in common, besides their objects' places and rotations."""


@dataclass(frozen=True)
class GroupImage:
    """An image of a group."""

    index: int
    stage: str
    """Places, rotations, camera and lights: images of a group have them in common."""
    ground: tuple[tuple[float, float], ...]
    """x and y of each object."""
    looks: tuple[Values, ...]
    """Each object's values, in the order of `TYPES`."""

    @property
    def values(self) -> Values:
        """Those of the first object, which of a minimal set is the only one."""
        return self.looks[0]


class GroupedImages:
    """Collects the images of some pools."""

    def __init__(self, n_objects: Mapping[str, int], tally: Tally) -> None:
        """`n_objects` says of each pool how many objects its images have; others go into `tally`."""
        self.n_objects = n_objects
        self._tally = tally
        self._images: dict[str, dict[int, GroupImage]] = defaultdict(dict)

    def add(self, pool: str, scene: Mapping[str, Any]) -> None:
        """Takes a scene, if it is of one of the pools.

        Raises:
            KeyError, TypeError, ValueError, IndexError: it is no scene.
        """
        if pool not in self.n_objects:
            return
        index, objects = int(scene["image_index"]), scene["objects"]
        self._tally.n_checked += 1
        if len(objects) != self.n_objects[pool]:
            problem = f"not as many objects as the pool's images have, {self.n_objects[pool]}"
            self._tally.fault(f"scenes/{pool}", index, problem, len(objects))
            return
        ground = tuple((float(each["3d_coords"][0]), float(each["3d_coords"][1])) for each in objects)
        stage = [ground, [each["rotation"] for each in objects], *(scene.get(key) for key in SHARED)]
        looks = tuple(tuple(str(each[kind]) for kind in TYPES) for each in objects)
        self._images[pool][index] = GroupImage(index, repr(stage), ground, looks)

    def of(self, pool: str) -> Mapping[int, GroupImage]:
        """The images of a pool, by index."""
        return self._images[pool]

    def places(self, pool: str) -> Mapping[str, Sequence[GroupImage]]:
        """The same, those of a group together, by what they share."""
        found: dict[str, list[GroupImage]] = defaultdict(list)
        for each in self._images[pool].values():
            found[each.stage].append(each)
        return found
