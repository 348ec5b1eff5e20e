"""The columns of the Parquet tables, from which the schema, card and Croissant metadata are made."""

from dataclasses import dataclass

from clevrhope.export.source import SetSource, SplitSource, SuiteSource

IMAGE, LABEL = "image", "label"
"""Kinds of columns in addition to Arrow's types: PNG files, and numbers that have names."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    kind: str
    """`IMAGE`, `LABEL`, "string" or "int32"."""
    holds: str
    """Its content, in Markdown."""
    several: bool = False
    """Whether a cell is a list."""


def columns_of(split: SplitSource) -> list[Column]:
    """The columns of a split's table, in order."""
    if isinstance(split, SetSource):
        images = [Column("images", IMAGE, "the images of the set, 8-bit RGB", several=True)]
        masks = [Column("masks", IMAGE, f"of each image, {_MASK}", several=True)]
        others: tuple[Column, ...] = _OF_SETS
    else:
        images = [Column("image", IMAGE, "the image, 8-bit RGB")]
        masks = [Column("mask", IMAGE, _MASK)]
        others = _OF_ONE
    return [
        *(images if split.images is not None else ()),
        *(masks if split.masks is not None else ()),
        *_TEXT,
        *others,
        *(OF_PAIRS if isinstance(split, SuiteSource) else ()),
    ]


_MASK = "8-bit: each pixel's object by its place in the scene's list, or 255"

_TEXT = (
    Column("question", "string", "the question in English"),
    Column("answer", LABEL, "the answer's number in the dataset's vocabulary; the feature has the names"),
    Column("program", "string", "functions in prefix order, such as `filter_color[red]`", several=True),
)

_OF_ONE = (
    Column("question_family_index", "int32", "number of the template, as in CLEVR"),
    Column("question_index", "int32", "place of the question in its split"),
    Column("image_index", "int32", "the scene's index in its pool; equal for equal images of a split"),
)

_OF_SETS = (
    Column("template", "string", "name of the template, such as `verify_count`"),
    Column("structure", "string", "form of what is described: `single`, `edge`, `chain` or `v`"),
    Column("source", "int32", "place in the set of an image that shows what the question describes"),
    Column("question_index", "int32", "place of the question in its split"),
    Column(
        "image_indices",
        "int32",
        "the scenes' indices in their pool, in the order of the images",
        several=True,
    ),
)

OF_PAIRS = (
    Column("suite", "string", "the suite that the pair belongs to"),
    Column("test", "string", "the test that the pair belongs to"),
    Column("type", "string", "the type of question by which scores are grouped; empty for none"),
    Column("tier", "string", "`in` for the dataset's own words and functions, `beyond` for others"),
    Column(
        "cell",
        "string",
        "what mentions the held-out pair: `00` nothing, `01` the partner, `10` the original, `11` both",
    ),
    Column("role", "string", "`original` or `partner`"),
    Column("pair_index", "int32", "the pair's number"),
    Column(
        "original_index",
        "int32",
        "the question's place in the split; null for a question that the suite made",
    ),
    Column(
        "relation",
        "string",
        "of the answers: `same`, `flip`, `is` (yes exactly for `value`), `positive` (yes above 0)",
    ),
    Column("value", "string", "of `is`: the original's answer for which the partner is yes; otherwise null"),
)
"""The columns that suites have in addition to those of splits."""
