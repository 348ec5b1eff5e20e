"""How far the right answers of one model are those of another."""

import numpy as np

from clevrhope.metrics.bootstrap import Floats, ratio
from clevrhope.metrics.pairs.relations import Flags


def coverage(right: Flags) -> Floats:
    """(J, J) in [i, j] the share of the questions that model j has right which model i has right too.

    Not a number in the column of a model that is right about none; 1 on the rest of the diagonal.

    Source: Jimenez et al., "CARETS", tables 13 to 17, which print it in per cent.

    Args:
        right: (J, N) whether each of J models has each of N questions right.
    """
    # Sums of whole numbers in float64 are exact, and a product of floats is far faster than one of integers.
    numbers = right.astype(float)
    both: Floats = numbers @ numbers.T
    return ratio(both, np.broadcast_to(both.diagonal(), both.shape))
