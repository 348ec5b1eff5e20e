"""The order in which the nodes of a batch's programs are run, computed by the native module."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clevrhope import _core


class PlanIndices(NamedTuple):
    """The N nodes of B programs, of which R are well-formed, on one device; all int64."""

    tokens: Tensor  # (N,) program token of each node
    rows: Tensor  # (N,) the program that it belongs to
    left: Tensor  # (N,) the earlier node whose output is its first input; -1 for none
    right: Tensor  # (N,) the same for its second input
    roots: Tensor  # (R,) the nodes whose outputs are the answers of the well-formed programs
    well_formed: Tensor  # (R,) the rows of these programs; the others are not trees and have no nodes


@dataclass(frozen=True)
class Plan:
    """The nodes of programs, in sets that can each be run at once, on outputs of earlier sets.

    Attributes:
        sets: the first node of each set, and the one after its last.
        n_joins: number of nodes in each set that have two inputs; in a level, they come last.
        n_roots: number of well-formed programs.
        indices: all of `PlanIndices` in one row on the CPU, for one transfer.
    """

    sets: list[tuple[int, int]]
    n_joins: list[int]
    n_roots: int
    indices: Tensor

    def on(self, device: torch.device | str) -> PlanIndices:
        """The indices on a device."""
        n_nodes = self.sets[-1][1] if self.sets else 0
        sizes = [n_nodes] * 4 + [self.n_roots] * 2
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
    left, right = operands.T
    well_formed = np.flatnonzero(roots >= 0)
    sets = list(pairwise(starts.tolist()))
    return Plan(
        sets,
        n_joins=[int(np.count_nonzero(right[begin:end] >= 0)) for begin, end in sets],
        n_roots=len(well_formed),
        indices=torch.from_numpy(
            np.concatenate([tokens, rows, left, right, roots[well_formed], well_formed])
        ),
    )
