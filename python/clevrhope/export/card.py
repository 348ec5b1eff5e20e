"""The dataset card of an export, README.md, which Hugging Face shows."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clevrhope.dataset.vocab import Vocab
from clevrhope.export.columns import LABEL, OF_PAIRS, Column, columns_of
from clevrhope.export.figures import Figures
from clevrhope.export.readme import TITLE, readme
from clevrhope.export.source import Source, SplitSource
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
    of_one = next((each for each in source.splits if not each.kind.of_sets), None)
    of_sets = next((each for each in source.splits if each.kind.of_sets), None)
    return readme(
        source,
        "parquet",
        figures=figures,
        has_prelim=any(hop.startswith(f"{PRELIM}_") for hop in source.by_hop()),
        columns_of_one=columns_of(of_one) if of_one else (),
        columns_of_sets=columns_of(of_sets) if of_sets else (),
        columns_of_suites=OF_PAIRS if source.suites else (),
    )
