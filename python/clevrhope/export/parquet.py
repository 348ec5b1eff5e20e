"""Export as a folder for Hugging Face's `datasets.load_dataset(folder, hop)`.

    README.md                                     the dataset card; its head names all configs
    croissant.json                                the same facts for programs, in Croissant's vocabulary
    figures/                                      images for the card
    <hop>/<split>-00000-of-00012.parquet          one row per question, with its image
    <hop>.covr/<split>-00000-of-00001.parquet     the same for questions about sets of images
    nonce/<split>-00000-of-00001.parquet          the same for episodes with nonce words, with their supports
    <hop>.<suite>/<split>-00000-of-00001.parquet  the same for a suite, with columns that describe the pairs

An image with nine questions is in nine rows, but is stored only once: the column is dictionary-encoded in
each row group, and a row group has all questions about its images. An image of several sets is stored once in
each row group that has one of them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from clevrhope.dataset.question_kinds import IMAGE, LABEL, NONCE, Field
from clevrhope.export.columns import columns_of
from clevrhope.export.croissant import croissant_json
from clevrhope.export.readme import TITLE, readme
from clevrhope.export.source import ExportSource, Sample, SplitSource, split_json
from clevrhope.pages import render_page
from clevrhope.runtime.progress import Advance
from clevrhope.sources.exports import METADATA
from clevrhope.splits.hops import PRELIM

if TYPE_CHECKING:
    import pyarrow as pa

IMAGES_A_FILE = 5_000
"""An approximate number; about 500 MB, the size that the Hub recommends."""

IMAGES_A_GROUP = 32
"""A reader unpacks a row group at once; with nine questions per image this is about 30 MB."""

SETS_A_GROUP = 64
"""The same for sets of images."""

_DICTIONARY_BYTES = 1 << 28
"""Maximum number of bytes of a row group's images; above it, an image would be stored in every row."""


SHEET = "figures/images.png"
"""The images that the card shows."""

IMAGES_A_ROW, WIDTH_PX, GAP_PX = 4, 240, 4
"""Images in a row of the sheet of images, the width of each, and the space between them."""


def write(source: ExportSource, out: Path, advance: Advance) -> None:
    """Writes all splits, the figures, the card and the Croissant metadata."""
    sizes = [
        _write_split(source, split, out / split.config, advance) for split in (*source.splits, *source.suites)
    ]
    shown = _write_sheet(source, out) if source.rendered else []
    card = f"---\n{_head(source, sizes)}---\n\n{_body(source, shown)}"
    (out / "README.md").write_text(card, "utf-8")
    (out / "croissant.json").write_text(croissant_json(source), "utf-8")


def _write_split(source: ExportSource, split: SplitSource, folder: Path, advance: Advance) -> dict[str, int]:
    """Writes a split's files; returns its size as an Arrow table in memory, and as files."""
    folder.mkdir(exist_ok=True)
    columns = columns_of(split)
    about = {METADATA: json.dumps(split_json(source, split))}
    schema, scene_of = schema_of(columns, about, split.answer_names), source.scene_of(split.reader.pool)
    n_bytes = 0

    def table(group: Sequence[Sample]) -> "pa.Table":
        nonlocal n_bytes
        made = _table(split, group, schema, scene_of)
        n_bytes += made.nbytes
        return made

    n_files = source.n_shards(split, IMAGES_A_FILE)
    a_group = SETS_A_GROUP if split.kind.of_sets else IMAGES_A_GROUP
    repeated = [path for column in columns for path in _repeated(column)]
    paths = write_tables(
        split, folder / split.split, n_files, schema, table, advance, repeated=repeated, a_group=a_group
    )
    return {"n_bytes": n_bytes, "n_bytes_of_files": sum(path.stat().st_size for path in paths)}


def write_tables(
    split: SplitSource,
    begin: Path,
    n_files: int,
    schema: "pa.Schema",
    table: Callable[[Sequence[Sample]], "pa.Table"],
    advance: Advance,
    *,
    repeated: Sequence[str],
    a_group: int = IMAGES_A_GROUP,
) -> list[Path]:
    """Writes the `n_files` Parquet files of a split, whose paths start with `begin`; returns the paths.

    `table` makes the rows of the `a_group` samples of a row group; `repeated` are the paths of the columns
    with a dictionary.
    """
    paths = [
        begin.with_name(f"{begin.name}-{number:05d}-of-{n_files:05d}.parquet") for number in range(n_files)
    ]
    for path, samples in zip(paths, split.shards(n_files, whole=False), strict=True):
        write_table(path, schema, [(samples, table)], advance, repeated=repeated, a_group=a_group)
    return paths


def write_table(
    path: Path,
    schema: "pa.Schema",
    parts: Iterable[tuple[Iterator[Sample], Callable[[Sequence[Sample]], "pa.Table"]]],
    advance: Advance,
    *,
    repeated: Sequence[str],
    a_group: int = IMAGES_A_GROUP,
) -> None:
    """Writes a Parquet file of samples, each part with what makes its rows; as for `write_tables`."""
    import pyarrow.parquet as pq

    # Written through a Python file, so that a full disk raises Python's error.
    with (
        path.open("wb") as file,
        pq.ParquetWriter(
            file, schema, use_dictionary=[*repeated], dictionary_pagesize_limit=_DICTIONARY_BYTES
        ) as writer,
    ):
        for samples, table in parts:
            while group := list(islice(samples, a_group)):
                rows = table(group)
                writer.write_table(rows, row_group_size=len(rows))
                advance(len(rows))


def schema_of(
    columns: Sequence[Field], metadata: Mapping[str, str], answers: Sequence[str] = ()
) -> "pa.Schema":
    """The schema of these columns; the metadata also say the features, which `datasets` reads."""
    import pyarrow as pa

    features = {column.name: _feature(column, answers) for column in columns}
    about = {"huggingface": json.dumps({"info": {"features": features}}), **metadata}
    return pa.schema([(column.name, _type(column)) for column in columns], metadata=about)


def _type(column: Field) -> "pa.DataType":
    import pyarrow as pa

    if column.kind == IMAGE:
        kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    else:
        kind = pa.int64() if column.kind == LABEL else pa.type_for_alias(column.kind)
    return pa.list_(kind) if column.several else kind


def _feature(column: Field, answers: Sequence[str]) -> dict[str, Any]:
    feature: dict[str, Any] = {"dtype": column.kind, "_type": "Value"}
    if column.kind == IMAGE:
        feature = {"_type": "Image"}
    elif column.kind == LABEL:
        feature = {"names": [*answers], "_type": "ClassLabel"}
    return {"feature": feature, "_type": "Sequence"} if column.several else feature


def _repeated(column: Field) -> list[str]:
    """The paths in the file of a column's dictionary-encoded parts; empty if it has none."""
    path = f"{column.name}.list.element" if column.several else column.name
    if column.kind == IMAGE:
        return [f"{path}.bytes", f"{path}.path"]
    is_repeated = column.kind == LABEL or (
        column.kind == "string" and not column.name.startswith(("question", "steps"))
    )
    return [path] if is_repeated else []


def _table(
    split: SplitSource, group: Sequence[Sample], schema: "pa.Schema", scene_of: Callable[[int], str]
) -> "pa.Table":
    import pyarrow as pa

    label = {name: number for number, name in enumerate(split.answer_names)}
    rows = [(sample, question) for sample in group for question in sample.questions]
    images = [[{"bytes": image.png, "path": image.filename} for image in sample.images] for sample, _ in rows]
    masks = [[{"bytes": image.mask, "path": image.filename} for image in sample.images] for sample, _ in rows]
    indices = [[image.index for image in sample.images] for sample, _ in rows]
    columns: dict[str, list[Any]] = {
        "question": [question.text for _, question in rows],
        "answer": [question.answer for _, question in rows],
        "answer_label": [label[question.answer] for _, question in rows],
        "program": [question.program for _, question in rows],
        "steps": [question.steps for _, question in rows],
        "question_index": [question.index for _, question in rows],
    }
    for field in split.fields:
        columns[field.name] = [question.about[field.name] for _, question in rows]
    scenes = [[scene_of(image.index) for image in sample.images] for sample, _ in rows]
    for name, cells in (("image", images), ("mask", masks), ("image_index", indices), ("scene", scenes)):
        columns[split.kind.of_images(name)] = cells if split.kind.of_sets else [cell for (cell,) in cells]
    return pa.table({name: columns[name] for name in schema.names}, schema=schema)


def _write_sheet(source: ExportSource, out: Path) -> list[str]:
    """Writes a sheet with a row of images, evenly spread, for each split of the first table; returns these.

    Raises:
        DatasetError: an image is missing or damaged.
    """
    splits = next(iter(source.by_config().values()))
    rows = [_images_of_row(each) for each in splits]
    height = max(image.height for row in rows for image in row) + GAP_PX
    sheet = Image.new(
        "RGB", (IMAGES_A_ROW * (WIDTH_PX + GAP_PX) - GAP_PX, len(rows) * height - GAP_PX), "white"
    )
    for y, row in enumerate(rows):
        for x, image in enumerate(row):
            sheet.paste(image, (x * (WIDTH_PX + GAP_PX), y * height))
    (out / SHEET).parent.mkdir()
    sheet.save(out / SHEET, "PNG")
    return [split.split for split in splits]


def _images_of_row(split: SplitSource) -> list[Image.Image]:
    assert split.images is not None
    n = len(split.indices)
    places = sorted({k * n // IMAGES_A_ROW for k in range(IMAGES_A_ROW)})
    images = [Image.fromarray(split.images.pixels(int(split.indices[place]))) for place in places]
    return [
        image.resize((WIDTH_PX, round(WIDTH_PX * image.height / image.width)), Image.Resampling.LANCZOS)
        for image in images
    ]


_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""Upper bounds of the Hub's size categories; 1M<n<10M and 10M<n<100M follow."""


def _head(source: ExportSource, sizes: Sequence[Mapping[str, int]]) -> str:
    """The YAML header of the card: columns, sizes and file patterns of each config.

    `sizes` are those of the splits, followed by those of the suites, in order.
    """
    n = sum(len(split.reader) for split in (*source.splits, *source.suites))
    rest = iter(sizes)
    return render_page(
        "exports/parquet_head.yaml",
        title=TITLE,
        size=next((name for bound, name in _SIZES if n < bound), "1M<n<10M" if n < 10**7 else "10M<n<100M"),
        tables=[
            {
                "name": name,
                "columns": columns_of(splits[0]),
                "answers": splits[0].answer_names,
                "splits": [
                    {"name": split.split, "n_rows": len(split.reader), **next(rest)} for split in splits
                ],
            }
            for name, splits in source.by_config().items()
        ],
    )


def _body(source: ExportSource, shown: list[str]) -> str:
    columns: dict[str, list[Field]] = {}
    for split in source.splits:
        kind = "episodes" if split.kind is NONCE else "sets" if split.kind.of_sets else "one"
        columns.setdefault(kind, columns_of(split))
    of_one = columns.get("one", [])
    return readme(
        source,
        "parquet",
        sheet=SHEET,
        shown=shown,
        has_prelim=any(hop.startswith(f"{PRELIM}_") for hop in source.by_hop()),
        columns_of_one=of_one,
        columns_of_sets=columns.get("sets", []),
        columns_of_episodes=columns.get("episodes", []),
        columns_of_suites=[
            column for suite in source.suites[:1] for column in columns_of(suite) if column not in of_one
        ],
    )
