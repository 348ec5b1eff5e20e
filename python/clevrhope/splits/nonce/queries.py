"""Matched query scenes: all that the numbers of objects of each kind tell is the same, except the answer.

A scene is an arrangement of objects on a grid of values, a_i by b_j; the question is about a_0 and b_0. The
scenes of a matched group are relabelings of its first scene: each object keeps its place and its other
values, while the values of A and of B are permuted. So scenes agree in everything but A and B, and also in

- the number of objects with each a_i, and with each b_j, so that one word, or both unbound, do not help;
- the number of objects of a kind that the support does not show, in either condition.

Exist and query also need the relabeling to keep these kinds as they are, so that the values in an image say
nothing even beside a support.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt

Matrices = npt.NDArray[np.integer[Any]]
Cell = tuple[int, int]

UNSHOWN: tuple[tuple[Cell, Cell], tuple[Cell, Cell]] = (((0, 0), (1, 1)), ((0, 1), (1, 0)))
"""The kinds of objects, (i, j) for a_i and b_j, that no support image shows: in `unseen`, and in `seen`."""


@dataclass(frozen=True)
class Relabeling:
    """A permutation of the values of A and one of those of B."""

    a: tuple[int, ...]
    b: tuple[int, ...]


@dataclass(frozen=True)
class MatchedScenes:
    """The scenes of a group, one for each answer.

    Attributes:
        cells: the kind (i, j) of each object of the first scene.
        sides: for each object, which of two values it has of the attribute that is asked for; empty if none
            is asked for.
        relabelings: those that make each scene from the first one, in the order of the answers.
    """

    cells: tuple[Cell, ...]
    sides: tuple[int, ...]
    relabelings: tuple[Relabeling, ...]


@lru_cache(32)
def matched_scenes(asks: str, n_a: int, n_b: int, n_objects: int) -> tuple[MatchedScenes, ...]:
    """All matched groups of a form of question on a grid, by enumeration; empty if there are none.

    Args:
        asks: "exist" (the first scene has no a_0 b_0, the second has one), "count" (0, 1 and 2), "query"
            (one, with either value of a third attribute), or "complex" (the same scenes).
        n_a: the number of values of A; `n_b` that of B.
        n_b: the number of values of B.
        n_objects: the number of objects of each scene.
    """
    if asks in ("query", "complex"):
        return tuple(_with_sides(n_a, n_b)) if n_objects == _OF_TWO_BLOCKS else ()
    answers = (0, 1) if asks == "exist" else (0, 1, 2)
    return tuple(_with_numbers(n_a, n_b, n_objects, answers, keeps_unshown=asks == "exist"))


def _with_numbers(
    n_a: int, n_b: int, n_objects: int, answers: tuple[int, ...], *, keeps_unshown: bool
) -> Iterator[MatchedScenes]:
    """Groups whose scenes have these numbers of a_0 b_0, the first of which is 0."""
    first = _arrangements(n_objects, n_a, n_b)
    first = first[first[:, 0, 0] == answers[0]]
    found: dict[int, dict[int, dict[bytes, Relabeling]]] = {}
    for relabeling in _relabelings(n_a, n_b, keeps_unshown=keeps_unshown):
        other = _relabeled(first, relabeling)
        is_matched = np.isin(other[:, 0, 0], answers[1:])
        is_matched &= (other.sum(axis=2) == first.sum(axis=2)).all(axis=1)
        is_matched &= (other.sum(axis=1) == first.sum(axis=1)).all(axis=1)
        for kinds in UNSHOWN:
            is_matched &= sum(other[:, i, j] for i, j in kinds) == sum(first[:, i, j] for i, j in kinds)
        for k in np.flatnonzero(is_matched).tolist():
            found.setdefault(k, {}).setdefault(int(other[k, 0, 0]), {}).setdefault(
                other[k].tobytes(), relabeling
            )
    unchanged = Relabeling(tuple(range(n_a)), tuple(range(n_b)))
    for k, by_number in sorted(found.items()):
        choices = [tuple(by_number.get(number, {}).values()) for number in answers[1:]]
        cells = [(i, j) for i, j in np.ndindex(n_a, n_b) for _ in range(first[k, i, j])]
        for relabelings in product(*choices):
            yield MatchedScenes(tuple(cells), (), (unchanged, *relabelings))


_OF_TWO_BLOCKS = 8
"""Number of objects of two blocks of four."""


def _with_sides(n_a: int, n_b: int) -> Iterator[MatchedScenes]:
    """Groups of two scenes with one a_0 b_0, which has either value, a side, of the attribute asked for.

    A block has two values of A and two of B, each combination once; a value occurs once on either side. In
    one block a_0 b_0 would be the only object of a kind that the support does not show, so there are two.
    """
    swap = _relabelings(n_a, n_b, keeps_unshown=True)[1]
    unchanged = Relabeling(tuple(range(n_a)), tuple(range(n_b)))
    of_a, of_b = ([*combinations(range(n), 2)] for n in (n_a, n_b))
    for rows, columns in product((each for each in of_a if 0 in each), (each for each in of_b if 0 in each)):
        for other_rows, other_columns, side in product(of_a, of_b, (0, 1)):
            block, other = _block(rows, columns, 0), _block(other_rows, other_columns, side)
            objects = (*block, *other)
            cells = tuple((i, j) for i, j, _ in objects)
            sides = tuple(side for *_, side in objects)
            unshown = [
                [side for cell, side in zip(cells, sides, strict=True) if cell in kinds] for kinds in UNSHOWN
            ]
            swapped = Counter((swap.a[i], swap.b[j], side) for i, j, side in objects)
            if (
                cells.count((0, 0)) == 1
                and all(2 * sum(each) == len(each) for each in unshown)
                and swapped == Counter((i, j, 1 - side) for i, j, side in objects)
            ):
                yield MatchedScenes(cells, sides, (unchanged, swap))


def _block(rows: Cell, columns: Cell, side: int) -> tuple[tuple[int, int, int], ...]:
    """The four objects (i, j, side) of a block."""
    return tuple((i, j, (m + n + side) % 2) for m, i in enumerate(rows) for n, j in enumerate(columns))


def _arrangements(n_objects: int, n_a: int, n_b: int) -> Matrices:
    """(M, n_a, n_b) all ways to give `n_objects` objects kinds, as numbers of objects of each kind."""
    n_kinds = n_a * n_b
    bars = np.asarray([*combinations(range(n_objects + n_kinds - 1), n_kinds - 1)])
    ends = np.full((len(bars), 1), n_objects + n_kinds - 1)
    return (np.diff(np.hstack([np.full_like(ends, -1), bars, ends]), axis=1) - 1).reshape(-1, n_a, n_b)


def _relabelings(n_a: int, n_b: int, *, keeps_unshown: bool) -> list[Relabeling]:
    """All relabelings; or only those that map unshown kinds to themselves, in each condition."""
    every = [Relabeling(*each) for each in product(permutations(range(n_a)), permutations(range(n_b)))]
    if not keeps_unshown:
        return every
    return [
        each
        for each in every
        if all({(each.a[i], each.b[j]) for i, j in kinds} == {*kinds} for kinds in UNSHOWN)
    ]


def _relabeled(arrangements: Matrices, relabeling: Relabeling) -> Matrices:
    """Arrangements in which each a_i is a_(relabeling.a[i]), and each b_j likewise."""
    return arrangements[:, np.argsort(relabeling.a)][:, :, np.argsort(relabeling.b)]
