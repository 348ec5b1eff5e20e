"""Lists of tokens as the arrays that files hold."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def padded(rows: Sequence[Sequence[int]], width: int) -> npt.NDArray[np.int32]:
    """Rows of tokens as an array (rows, width), cut or padded with 0."""
    array = np.zeros((len(rows), width), dtype=np.int32)
    for k, row in enumerate(rows):
        array[k, : len(row)] = row[:width]
    return array
