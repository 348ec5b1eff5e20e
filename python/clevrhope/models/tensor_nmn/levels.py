"""The order in which the nodes of a batch's programs are run, computed by the native module."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clevrhope import _core

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """The N nodes of B programs, in sets that can each be run at once, on outputs of earlier sets.

    Attributes:
        tokens: (N,) program token of each node.
        rows: (N,) the program that it belongs to.
        operands: (N, 2) the earlier nodes whose outputs are its inputs; -1 for none.
        starts: where each set starts, and at the end N.
        roots: (R,) the nodes whose outputs are the answers of the well-formed programs.
        well_formed: (R,) the rows of these programs; the others are not trees and have no nodes.
    """

    tokens: Ints
    rows: Ints
    operands: Ints
    starts: Ints
    roots: Ints
    well_formed: Ints

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def sets(self) -> list[tuple[int, int]]:
        """The first node of each set, and the one after its last."""
        return list(pairwise(self.starts.tolist()))


def plan_levels(programs: Tensor, arities: npt.NDArray[np.int8], *, by_token: bool = False) -> Plan:
    """Sorts the nodes of (B, P) prefix tokens into sets. On a GPU this waits for the programs.

    Sets are levels: the level of a node is one more than the highest of its inputs, and within a level nodes
    are sorted by number of inputs, token and row. With `by_token` each set has nodes of one token alone,
    which wait for others of that token, so that sets are few and large.

    Args:
        programs: as in a `Batch`.
        arities: the number of inputs of each token, from `clevrhope._core.program_arities`.
        by_token: whether sets are by token rather than by level.
    """
    rows_of_tokens = programs.detach().to("cpu", torch.int64).contiguous().numpy()
    plan = _core.plan_runs if by_token else _core.plan_levels
    tokens, rows, operands, starts, roots = plan(rows_of_tokens, arities)
    well_formed = np.flatnonzero(roots >= 0)
    return Plan(tokens, rows, operands, starts, roots[well_formed], well_formed)
