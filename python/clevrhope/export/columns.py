"""The columns of the Parquet tables, from which the schema, card and Croissant metadata are made."""

from clevrhope.dataset.question_kinds import IMAGE, LABEL, Field, QuestionKind
from clevrhope.export.source import SplitSource

_MASK = "8-bit: each pixel's object by its place in the scene's list, or 255"

_STEPS = "the steps of the answer as JSON: sentences with their functions, objects and values"

_OF_IMAGES = {
    "image": (IMAGE, "the image, 8-bit RGB", "the images of the set, 8-bit RGB"),
    "mask": (IMAGE, _MASK, f"of each image, {_MASK}"),
    "image_index": (
        "int32",
        "the scene's index in its pool; equal for equal images of a split",
        "the scenes' indices in their pool, in the order of the images",
    ),
    "scene": (
        "string",
        "the scene as JSON: objects with values, coordinates and boxes, in pixels of the image",
        "the scenes as JSON, in the order of the images",
    ),
}
"""What is said of images -> its kind, and its content for one image and for a set."""


def columns_of(split: SplitSource) -> list[Field]:
    """The columns of a split's table, in order."""
    return [
        *((_of_images(split.kind, "image"),) if split.images is not None else ()),
        *((_of_images(split.kind, "mask"),) if split.masks is not None else ()),
        Field("question", "", "the question in English"),
        Field("answer", "", "the answer in words"),
        Field("answer_label", "", "the answer as a class; the feature has the names", LABEL),
        Field("program", "", "functions in prefix order, such as `filter_color[red]`", several=True),
        *((Field("steps", "", _STEPS),) if split.steps is not None else ()),
        Field("question_index", "", "place of the question in its split", "int32"),
        _of_images(split.kind, "image_index"),
        *split.fields,
        _of_images(split.kind, "scene"),
    ]


def _of_images(kind: QuestionKind, name: str) -> Field:
    type_name, of_one, of_set = _OF_IMAGES[name]
    holds = of_set if kind.of_sets else of_one
    return Field(kind.of_images(name), "", holds, type_name, several=kind.of_sets)
