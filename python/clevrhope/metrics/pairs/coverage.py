"""The overlap between the questions that different models answer correctly."""

import numpy as np

from clevrhope.metrics.bootstrap import Floats, ratio
from clevrhope.metrics.pairs.relations import Flags


def coverage(right: Flags) -> Floats:
    """(J, J) matrix: [i, j] is the share of the questions answered correctly by j that i also has right.

    The column of a model without any right answer is NaN; the rest of the diagonal is 1.

    Source: Jimenez et al., "CARETS", tables 13 to 17, which print it in per cent.

    Args:
        right: (J, N) whether each of J models answers each of N questions correctly.
    """
    # Sums of integers in float64 are exact, and a float matrix product is far faster than an integer one.
    numbers = right.astype(float)
    both: Floats = numbers @ numbers.T
    return ratio(both, np.broadcast_to(both.diagonal(), both.shape))
