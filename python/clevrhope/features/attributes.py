"""Scenes in, what is true of their objects as numbers out: for a model that need not see (a ceiling)."""

from collections.abc import Mapping, Sequence

import numpy as np

from clevrhope.errors import DatasetError
from clevrhope.features.extractor import Asked, Sample
from clevrhope.features.store import Array, ArraySpec

OBJECTS = 10
"""Rows of a scene; more where the world has scenes of more objects."""

REACH = 3.0
"""What coordinates are divided by: CLEVR's objects stand from -3 to 3."""


class Attributes:
    """`attributes`, `places` and `n_boxes`, in the order of the scene's list.

    - `attributes`, (10, types) int64: the value's place in its type's list, types as in the manifest; -1
      behind the last object.
    - `places`, (10, 3) float32: 3d_coords divided by 3; 0 behind the last object.
    - `n_boxes`, () int64: objects.
    """

    reads = ("scene",)
    weights = None
    code = 1
    note = "true attributes, nothing seen"
    suffix = ""

    def __init__(self, asked: Asked) -> None:
        n = max(OBJECTS, asked.most_objects)
        self.options: Mapping[str, int] = {}
        self.arrays = {
            "attributes": ArraySpec("int64", (n, len(asked.attributes))),
            "places": ArraySpec("float32", (n, 3)),
            "n_boxes": ArraySpec("int64", ()),
        }
        self._numbers = {
            kind: {value: k for k, value in enumerate(values)} for kind, values in asked.attributes.items()
        }

    def rows(self, samples: Sequence[Sample]) -> Mapping[str, Array]:
        """The arrays."""
        n, types = self.arrays["attributes"].shape
        attributes = np.full((len(samples), n, types), -1, dtype=np.int64)
        places = np.zeros((len(samples), n, 3), dtype=np.float32)
        n_boxes = np.zeros(len(samples), dtype=np.int64)
        for k, sample in enumerate(samples):
            objects = (sample.scene or {})["objects"]
            n_boxes[k] = len(objects)
            if len(objects) > n:
                raise DatasetError(
                    f"scene {sample.index} has {len(objects)} objects, but the world {n} at most"
                )
            for row, each in enumerate(objects):
                for column, (kind, numbers) in enumerate(self._numbers.items()):
                    if each.get(kind) not in numbers:
                        raise DatasetError(
                            f"scene {sample.index}, objects[{row}].{kind}: {each.get(kind)!r} is no value of "
                            "the dataset's world"
                        )
                    attributes[k, row, column] = numbers[each[kind]]
                places[k, row] = np.asarray(each["3d_coords"], dtype=np.float32) / REACH
        return {"attributes": attributes, "places": places, "n_boxes": n_boxes}
