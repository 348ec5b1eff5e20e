"""Rows of program tokens in, a batch's nodes level by level out; made by the native module."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clevrhope import _core

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """Nodes `begin` to `end`, all of one token."""

    token: int
    begin: int
    end: int


@dataclass(frozen=True)
class Level:
    """Nodes `begin` to `end`, which take inputs from lower levels; from `joins_begin` on they take two."""

    begin: int
    joins_begin: int
    end: int
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Levels:
    """The N nodes of B programs, sorted by level, number of inputs, token and row.

    Attributes:
        tokens: (N,) program token of each.
        rows: (N,) which program it is of.
        operands: (N, 2) the nodes that it takes its inputs from, earlier ones; -1 for none.
        roots: (R,) the nodes that give the answers of the well-formed programs.
        well_formed: (R,) which programs these are; the others are no trees, and have no nodes.
        levels: from the leaves up.
    """

    tokens: Ints
    rows: Ints
    operands: Ints
    roots: Ints
    well_formed: Ints
    levels: tuple[Level, ...]

    def __len__(self) -> int:
        return len(self.tokens)


def plan_levels(programs: Tensor, arities: npt.NDArray[np.int8]) -> Levels:
    """The levels of (B, P) rows of prefix tokens; on a GPU this waits for them.

    Args:
        programs: as in a batch.
        arities: how many inputs each token takes, as `clevrhope._core.program_arities` gives them.
    """
    rows_of_tokens = programs.detach().to("cpu", torch.int64).contiguous().numpy()
    _, tokens, rows, operands, run_starts, level_starts, roots = _core.plan_levels(rows_of_tokens, arities)
    run_bounds = run_starts.tolist()
    runs = [Run(int(tokens[begin]), begin, end) for begin, end in pairwise(run_bounds)]
    joins = operands[:, 1] >= 0
    levels, taken = [], 0
    for begin, end in pairwise(level_starts.tolist()):
        first = taken
        while taken < len(runs) and runs[taken].begin < end:
            taken += 1
        n_joins = int(np.count_nonzero(joins[begin:end]))
        levels.append(Level(begin, end - n_joins, end, tuple(runs[first:taken])))
    well_formed = np.flatnonzero(roots >= 0)
    return Levels(tokens, rows, operands, roots[well_formed], well_formed, tuple(levels))
