"""The order in which the nodes of a batch's programs are run, computed by the native module."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clevrhope import _core

Ints = npt.NDArray[np.int64]


class PlanIndices(NamedTuple):
    """The indices of a `Plan` on the device of the maps, all int64."""

    tokens: Tensor  # (N,)
    rows: Tensor  # (N,)
    left: Tensor  # (N,)
    right: Tensor  # (N,)
    roots: Tensor  # (R,)
    well_formed: Tensor  # (R,)


@dataclass(frozen=True)
class Plan:
    """The N nodes of B programs, in sets that can each be run at once, on outputs of earlier sets.

    Attributes:
        tokens: (N,) program token of each node.
        rows: (N,) the program that it belongs to.
        operands: (N, 2) the earlier nodes whose outputs are its inputs; -1 for none.
        sets: the first node of each set, and the one after its last.
        roots: (R,) the nodes whose outputs are the answers of the well-formed programs.
        well_formed: (R,) the rows of these programs; the others are not trees and have no nodes.
        n_joins: number of nodes in each set that have two inputs; in a level, they come last.
        indices: all of `PlanIndices` in one row, for one transfer.
    """

    tokens: Ints
    rows: Ints
    operands: Ints
    sets: list[tuple[int, int]]
    roots: Ints
    well_formed: Ints
    n_joins: list[int]
    indices: Tensor

    def on(self, device: torch.device) -> PlanIndices:
        """The indices on a device."""
        sizes = [len(self.tokens)] * 4 + [len(self.roots)] * 2
        return PlanIndices(*torch.split(self.indices.to(device, non_blocking=True), sizes))


def plan_levels(programs: Tensor, arities: npt.NDArray[np.int8], *, by_token: bool = False) -> Plan:
    """Sorts the nodes of (B, P) prefix tokens into sets. Waits for programs that are on a GPU.

    Sets are levels: the level of a node is one more than the highest of its inputs, and within a level nodes
    are sorted by number of inputs, token and row. With `by_token`, each set has nodes of only one token,
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
    roots = roots[well_formed]
    sets = list(pairwise(starts.tolist()))
    left, right = operands.T
    lists = [tokens, rows, left, right, roots, well_formed]
    return Plan(
        tokens,
        rows,
        operands,
        sets,
        roots,
        well_formed,
        n_joins=[int(np.count_nonzero(right[begin:end] >= 0)) for begin, end in sets],
        indices=torch.from_numpy(np.concatenate(lists)),
    )
