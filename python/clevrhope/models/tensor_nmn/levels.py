"""Rows of program tokens in, a batch's nodes in an order to run them in out; by the native module."""

from collections.abc import Callable
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
    """The N nodes of B programs, in sets that can be run at once: each takes inputs from earlier sets.

    Attributes:
        tokens: (N,) program token of each.
        rows: (N,) which program it is of.
        operands: (N, 2) the nodes that it takes its inputs from, earlier ones; -1 for none.
        starts: where each set begins, and last N.
        roots: (R,) the nodes that give the answers of the well-formed programs.
        well_formed: (R,) which programs these are; the others are no trees, and have no nodes.
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
        """Where each set begins and ends."""
        return list(pairwise(self.starts.tolist()))


def plan_levels(programs: Tensor, arities: npt.NDArray[np.int8]) -> Plan:
    """The nodes of (B, P) rows of prefix tokens by levels; on a GPU this waits for them.

    A node's level is one more than the highest of its inputs. Within a level nodes are sorted by number of
    inputs, token and row.

    Args:
        programs: as in a batch.
        arities: how many inputs each token takes, as `clevrhope._core.program_arities` gives them.
    """
    return _plan(_core.plan_levels, programs, arities)


def plan_runs(programs: Tensor, arities: npt.NDArray[np.int8]) -> Plan:
    """As `plan_levels`, but each set has nodes of one token, which wait for others of it: few, large sets."""
    return _plan(_core.plan_runs, programs, arities)


def _plan(
    how: Callable[[Ints, npt.NDArray[np.int8]], tuple[Ints, Ints, Ints, Ints, Ints]],
    programs: Tensor,
    arities: npt.NDArray[np.int8],
) -> Plan:
    rows_of_tokens = programs.detach().to("cpu", torch.int64).contiguous().numpy()
    tokens, rows, operands, starts, roots = how(rows_of_tokens, arities)
    well_formed = np.flatnonzero(roots >= 0)
    return Plan(tokens, rows, operands, starts, roots[well_formed], well_formed)
