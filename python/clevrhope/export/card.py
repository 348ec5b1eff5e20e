"""The dataset card of an export, README.md, which Hugging Face shows."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from clevrhope.dataset.vocab import Vocab
from clevrhope.describe.datasheet.origin import CLEVR, shares_clevr
from clevrhope.describe.markdown import code, listed
from clevrhope.export.columns import LABEL, OF_PAIRS, Column, columns_of
from clevrhope.export.figures import Figures
from clevrhope.export.readme import ABOUT, TITLE, origin, splits_table, text_only
from clevrhope.export.source import SetSource, Source, SplitSource
from clevrhope.splits.hops import PRELIM

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""Upper bounds of the Hub's size categories; 1M<n<10M and 10M<n<100M follow."""


@dataclass(frozen=True)
class TableSize:
    """The size of a split's table."""

    n_bytes: int
    """Size as an Arrow table in memory."""
    n_bytes_of_files: int
    """Size as Parquet files."""


def dataset_card(source: Source, sizes: Sequence[TableSize], figures: Figures) -> str:
    """The card: a YAML header with the columns, sizes and file patterns of each config, then the text.

    `sizes` are those of the splits, followed by those of the suites, in order.
    """
    return f"---\n{_head(source, sizes)}---\n\n{_body(source, figures)}"


def _head(source: Source, sizes: Sequence[TableSize]) -> str:
    n = sum(len(each.reader) for each in (*source.splits, *source.suites))
    size = next((name for bound, name in _SIZES if n < bound), "1M<n<10M" if n < 10**7 else "10M<n<100M")
    lines = [
        "license: cc-by-4.0",
        "language:",
        "- en",
        f"pretty_name: {TITLE}",
        "task_categories:",
        "- visual-question-answering",
        "tags:",
        "- compositional generalisation",
        "- systematicity",
        "- clevr",
        "size_categories:",
        f"- {size}",
    ]
    lines += ["dataset_info:"]
    rest = iter(sizes)
    for config, splits in source.by_config().items():
        lines += _info(config, splits, [next(rest) for _ in splits])
    lines += ["configs:"]
    for config, splits in source.by_config().items():
        lines += [f"- config_name: {config}", "  data_files:"]
        for each in splits:
            lines += [f"  - split: {each.split}", f"    path: {config}/{each.split}-*.parquet"]
    return "\n".join(lines) + "\n"


def _info(config: str, splits: Sequence[SplitSource], sizes: Sequence[TableSize]) -> Iterator[str]:
    """The lines on a config's columns and sizes."""
    yield f"- config_name: {config}"
    yield "  features:"
    for column in columns_of(splits[0]):
        yield f"  - name: {column.name}"
        yield from (f"    {line}" for line in _feature(column, splits[0].vocab))
    yield "  splits:"
    for split, size in zip(splits, sizes, strict=True):
        yield f"  - name: {split.split}"
        yield f"    num_bytes: {size.n_bytes}"
        yield f"    num_examples: {len(split.reader)}"
    yield f"  download_size: {sum(size.n_bytes_of_files for size in sizes)}"
    yield f"  dataset_size: {sum(size.n_bytes for size in sizes)}"


def _feature(column: Column, vocab: Vocab) -> Iterator[str]:
    if column.kind == LABEL:
        yield "dtype:"
        yield "  class_label:"
        yield "    names:"
        # Double-quoted strings in YAML have JSON's form.
        yield from (f"      '{k}': {json.dumps(name)}" for k, name in enumerate(vocab.answers()))
    else:
        yield f"{'sequence' if column.several else 'dtype'}: {column.kind}"


def _body(source: Source, figures: Figures) -> str:
    first = source.splits[0]
    of_one = next((each for each in source.splits if not isinstance(each, SetSource)), None)
    of_sets = next((each for each in source.splits if isinstance(each, SetSource)), None)
    image, its_image, prefixes = "images", "its images", ""
    if of_one:
        image, its_image = "an image", "its image"
        prefixes = (
            " The first 25,000 and 200,000 rows of a `train` of the paper's size are its smaller train sets."
        )
    images = f"\nEach row is a question with {its_image}.\n" if source.rendered else text_only(source)
    if shares_clevr(source.manifest):
        images += (
            f"\nPart of the scenes and images of `train` are from the train split of CLEVR ({CLEVR}; "
            "CC BY 4.0).\n"
        )
    tables = (
        _of_one(source, of_one) if of_one else "",
        _of_sets(of_sets) if of_sets else "",
        _of_suites() if source.suites else "",
    )
    return f"""# {TITLE}

{ABOUT}{images}{_sheet(figures)}
```python
from datasets import load_dataset

rows = load_dataset("THIS_FOLDER", "{first.config}", split="{first.split}", streaming=True)
row = next(iter(rows))
row["question"], rows.features["answer"].int2str(row["answer"])
```

`THIS_FOLDER` is the folder's path, or the dataset's name on the Hub. Without `streaming=True` the library
copies the rows into its cache, where each question has {image} of its own.{prefixes}

{splits_table(source, "config")}
{"".join(tables)}
`croissant.json` says the same in Croissant's vocabulary, and `source.json` from which dataset this was
exported.
{_plots(figures)}
{origin(source)}"""


def _sheet(figures: Figures) -> str:
    """The sheet of images, with a description of its rows."""
    if figures.sheet is None:
        return ""
    splits = listed([code(split) for split in figures.splits])
    image = f"![Images of each split]({figures.sheet})"
    return f"\n{image}\n\nA row of images for each split, from the top: {splits}.\n"


def _plots(figures: Figures) -> str:
    """The plots, if there are any."""
    if not figures.plots:
        return ""
    names = [plot.rpartition("/")[2].removesuffix(".png") for plot in figures.plots]
    shown = "\n".join(f"![{name}]({plot})" for name, plot in zip(names, figures.plots, strict=True))
    return f"\n## What is in {code(figures.hop)}?\n\nAll of its splits in the dataset:\n\n{shown}\n"


def _columns(columns: Iterable[Column]) -> str:
    rows = "\n".join(f"| `{column.name}` | {column.holds} |" for column in columns)
    return f"| column | holds |\n|---|---|\n{rows}\n"


def _of_one(source: Source, split: SplitSource) -> str:
    """The text on splits of questions about one image."""
    prelim = ""
    if any(hop.startswith(f"{PRELIM}_") for hop in source.by_hop()):
        prelim = (
            f"\nConfigs `{PRELIM}_...` hold nothing out: they test whether a model knows a single value.\n"
        )
    return f"{prelim}\n{_columns(columns_of(split))}"


def _of_sets(split: SetSource) -> str:
    """The text on splits of questions about sets of images."""
    return f"""
Configs `....covr` are questions about sets of one to five images, in the templates of COVR (Bogin, Gupta,
Gardner and Berant 2021). Rows 2k and 2k + 1 are the same text about two sets, with different answers. The gap
is the accuracy on `covr_test_ood` less that on `covr_test`; tune on `covr_dev`.

{_columns(columns_of(split))}"""


def _of_suites() -> str:
    """The text on suites of paired tests: the columns that they have in addition to those of a split."""
    return f"""
Configs with a dot are suites of paired tests on the questions of the config before the dot. Two rows are a
pair: an original, and a partner whose answer follows from the original's. `question_index` is the row's place
in the suite. Suites may have words and functions that the splits do not have. They have these columns besides
those of splits, and no masks:

{_columns(OF_PAIRS)}"""
