"""Reads predictions from Parquet; pyarrow is imported only if there is a Parquet file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.errors import PredictionsError
from clevrhope.metrics.rows import KEY, OPTIONAL, REQUIRED, Block, Indices, Places, read_block
from clevrhope.runtime.reading import reason


def read_parquet(path: Path, *, rows_a_block: int) -> Iterator[Block]:
    """The rows of a file; raises as `read_predictions` does."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise PredictionsError(
            f"{path}: reading Parquet needs pyarrow: pip install 'clevrhope[export]', or give JSON lines"
        ) from error
    try:
        with pq.ParquetFile(path) as file:
            there = file.schema_arrow.names
            missing = [name for name in REQUIRED if name not in there]
            if missing:
                raise PredictionsError(
                    f'{path}: no column "{missing[0]}" (there are: {", ".join(there)}); '
                    f"expected {', '.join(REQUIRED)}"
                )
            columns = [name for name in (*REQUIRED, *OPTIONAL) if name in there]
            _check_size(path, file.metadata, columns)
            begin = 0
            for batch in file.iter_batches(batch_size=rows_a_block, columns=columns):
                if len(batch):
                    yield _block_of_batch(path, batch, begin)
                begin += len(batch)
    except pa.ArrowException as error:
        raise PredictionsError(f"{path}: not a complete Parquet file ({reason(error)})") from error


MAX_GROUP_BYTES = 1 << 28
"""Limit on the unpacked bytes of a row group's columns; pyarrow's own groups have a million rows."""


def _check_size(path: Path, metadata: Any, columns: Sequence[str]) -> None:
    """Checks that no row group needs too much memory.

    Raises:
        PredictionsError: a row group does.
    """
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        parts = (group.column(k) for k in range(group.num_columns))
        n_bytes = sum(each.total_uncompressed_size for each in parts if each.path_in_schema in columns)
        # Dictionary and run-length encoding store a value once for many rows, but each row needs an index.
        if n_bytes + 16 * group.num_rows > MAX_GROUP_BYTES:
            raise PredictionsError(
                f"{path}: row group {number} has {group.num_rows:,} rows of {n_bytes:,} bytes, too many to "
                "read at once; write smaller row groups"
            )


def _block_of_batch(path: Path, batch: Any, begin: int) -> Block:
    """A block from a pyarrow record batch, with its rows numbered from `begin`."""
    at = Places(path, " row ", range(begin, begin + len(batch)))
    columns = [_distinct(batch, name, at) for name in KEY]
    shape = [len(distinct) for _, distinct in columns]
    combined = np.ravel_multi_index([number for number, _ in columns], shape)
    found, firsts, target = np.unique(combined, return_index=True, return_inverse=True)
    keys = [
        (first, [distinct[k] for k, (_, distinct) in zip(numbers, columns, strict=True)])
        for first, *numbers in zip(firsts, *np.unravel_index(found, shape), strict=True)
    ]
    number, given = _distinct(batch, "answer", at)
    used, firsts, answer = np.unique(number, return_index=True, return_inverse=True)
    return read_block(
        at=at,
        keys=keys,
        target=target,
        question_index=batch.column("question_index").to_pylist(),
        answers=[(first, given[k]) for k, first in zip(used, firsts, strict=True)],
        answer=answer,
    )


def _distinct(batch: Any, name: str, at: Places) -> tuple[Indices, list[Any]]:
    """A column as indices into a list of values, and the list, which ends with None; some may be unused."""
    if name not in batch.schema.names:
        return np.zeros(len(batch), dtype=np.int64), [None]
    import pyarrow as pa

    column = batch.column(name)
    if pa.types.is_nested(column.type) and not pa.types.is_dictionary(column.type):
        raise PredictionsError(f'{at(0)}: column "{name}" holds {column.type}, not plain values')
    encoded = column.dictionary_encode()
    values = [*encoded.dictionary.to_pylist(), None]
    numbers = encoded.indices.cast("int64").fill_null(len(values) - 1)
    return numbers.to_numpy(zero_copy_only=False), values
