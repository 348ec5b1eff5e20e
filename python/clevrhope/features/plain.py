"""Features that need no network: resized images, and the true attributes of objects."""

from collections.abc import Mapping, Sequence

import numpy as np

from clevrhope.errors import DatasetError
from clevrhope.features.extractor import Array, ArraySpec, Extractor, ExtractorOptions, ImageArray, Scene

SIDE = 224
"""Default width and height, as for models with a stem of their own (`MapsConfig`)."""

OBJECTS = 10
"""Rows of objects per scene; more if scenes of the world have more objects."""

REACH = 3.0
"""Divisor of coordinates: CLEVR's objects stand between -3 and 3."""


class Pixels(Extractor):
    """`pixels`, (3, 224, 224) uint8 RGB or another size."""

    weights = None

    def __init__(self, options: ExtractorOptions) -> None:
        width, height = self.size = options.size or (SIDE, SIDE)
        self.suffix = f"-{width}x{height}"
        self.arrays = {"pixels": ArraySpec("uint8", (3, height, width))}

    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> Mapping[str, Array]:
        """The images, channels first."""
        return {"pixels": images.transpose(0, 3, 1, 2)}


class Attributes(Extractor):
    """`attributes`, `places` and `n_boxes`, in the order of the scene's objects.

    - `attributes`, (10, types) int64: each value's place among those of its type in alphabetical order, so
      that datasets which list the values in another order have the same numbers; types as in the manifest;
      -1 after the last object.
    - `places`, (10, 3) float32: how far to the right, to the front and up each object stands, along the
      scene's own directions, divided by 3; 0 after the last object. So relations can be derived from them,
      wherever the camera is.
    - `n_boxes`, () int64: the number of objects.
    """

    reads = ("scene",)
    weights = None
    code = 3
    note = "true attributes, nothing seen"

    def __init__(self, options: ExtractorOptions) -> None:
        n = max(OBJECTS, options.most_objects)
        self.arrays = {
            "attributes": ArraySpec("int64", (n, len(options.attributes))),
            "places": ArraySpec("float32", (n, 3)),
            "n_boxes": ArraySpec("int64", ()),
        }
        # Part of the store's description: in a world with other values, a number means another value.
        values = {kind: sorted(names) for kind, names in options.attributes.items()}
        self.options = {"values": values}
        self._indices = {kind: {name: k for k, name in enumerate(names)} for kind, names in values.items()}

    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> Mapping[str, Array]:
        """The arrays of these scenes.

        Raises:
            DatasetError: there are too many objects, or the world does not have an attribute value.
        """
        n, types = self.arrays["attributes"].shape
        attributes = np.full((len(scenes), n, types), -1, dtype=np.int64)
        places = np.zeros((len(scenes), n, 3), dtype=np.float32)
        n_boxes = np.zeros(len(scenes), dtype=np.int64)
        for k, scene in enumerate(scenes):
            index, objects = scene["image_index"], scene["objects"]
            n_boxes[k] = len(objects)
            axes = np.array([scene["directions"][name] for name in ("right", "front", "above")])
            if len(objects) > n:
                raise DatasetError(f"scene {index} has {len(objects)} objects, but the world has at most {n}")
            for row, each in enumerate(objects):
                for column, (kind, indices) in enumerate(self._indices.items()):
                    if each.get(kind) not in indices:
                        raise DatasetError(
                            f"scene {index}, objects[{row}].{kind}: {each.get(kind)!r} is not a value "
                            "of the dataset's world"
                        )
                    attributes[k, row, column] = indices[each[kind]]
                places[k, row] = axes @ np.asarray(each["3d_coords"]) / REACH
        return {"attributes": attributes, "places": places, "n_boxes": n_boxes}
