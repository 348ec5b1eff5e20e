"""The columns of the Parquet tables, from which the schema, card and Croissant metadata are made."""

from dataclasses import dataclass

from clevrhope.dataset.question_kinds import PAIRS, Field
from clevrhope.export.source import SplitSource

IMAGE, LABEL = "image", "label"
"""Kinds of columns in addition to Arrow's types: PNG files, and numbers that have names."""


@dataclass(frozen=True)
class ExportColumn:
    """A column of a table."""

    name: str
    kind: str
    """`IMAGE`, `LABEL`, "string" or "int32"."""
    holds: str
    """Its content, in Markdown."""
    several: bool = False
    """Whether a cell is a list."""


def columns_of(split: SplitSource) -> list[ExportColumn]:
    """The columns of a split's table, in order."""
    of_sets = split.kind.of_sets
    if of_sets:
        images = ExportColumn("images", IMAGE, "the images of the set, 8-bit RGB", several=True)
        masks = ExportColumn("masks", IMAGE, f"of each image, {_MASK}", several=True)
    else:
        images, masks = (
            ExportColumn("image", IMAGE, "the image, 8-bit RGB"),
            ExportColumn("mask", IMAGE, _MASK),
        )
    return [
        *((images,) if split.images is not None else ()),
        *((masks,) if split.masks is not None else ()),
        *_TEXT,
        *map(_column, split.kind.fields),
        ExportColumn("question_index", "int32", "place of the question in its split"),
        _INDICES if of_sets else _INDEX,
        *map(_column, split.kind.pair_fields),
    ]


def _column(field: Field) -> ExportColumn:
    return ExportColumn(field.name, field.kind, field.holds)


OF_PAIRS = [_column(field) for field in PAIRS.pair_fields]
"""The columns that suites have in addition to those of splits."""

_MASK = "8-bit: each pixel's object by its place in the scene's list, or 255"

_TEXT = (
    ExportColumn("question", "string", "the question in English"),
    ExportColumn(
        "answer", LABEL, "the answer's number in the dataset's vocabulary; the feature has the names"
    ),
    ExportColumn("program", "string", "functions in prefix order, such as `filter_color[red]`", several=True),
)

_INDEX = ExportColumn(
    "image_index", "int32", "the scene's index in its pool; equal for equal images of a split"
)

_INDICES = ExportColumn(
    "image_indices", "int32", "the scenes' indices in their pool, in the order of the images", several=True
)
