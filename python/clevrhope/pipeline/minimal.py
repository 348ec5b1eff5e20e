"""The order in which minimal and preliminary splits take the places of a pool of one-object images.

A grid combines two values of one type with two of another. A place (position, rotation, camera, lights) is
drawn for each grid, combination of the other types' values, and copy; it has four images, one for each corner
of the grid. The paper's numbers of copies are 40, 20, 5 and 2 for CLEVR's diversities 4, 6, 16 and 24.

The preliminary sets (CLEVR-HOPE, appendix B) ask about one value. Existence is a minimal set of a single
type: a grid is two of its values, a place has two images, and a group is a place whose grid has the value.
Its first image shows the value, the second another value of the type, and nothing else changes. Counting sets
are unlimited in number and have an order of their own.
"""

import hashlib
from collections.abc import Sequence

from clevrhope._core import MinimalPool

OF_FIRST_PLACES = (2, 3)
"""While both kinds remain, two places of three are in grids that contain the pair."""


def n_places(pool: MinimalPool, *, copies: int, limit: int) -> int:
    """Number of places in `copies` copies (0: the paper's number), at most `limit` (0: all)."""
    n = pool.n_grids * pool.n_combinations * min(copies or pool.copies, pool.copies)
    return min(n, limit) if limit else n


def first_places(pool: MinimalPool, n: int, *, seed: int) -> list[int]:
    """The first n places that a split takes; a smaller n yields a prefix.

    All places of one copy come before those of the next, in an order that a hash of the seed determines. In
    the first copy, two places of three contain the pair while both kinds remain, so that even the smallest
    sets have something to show.
    """
    a_copy = pool.n_grids * pool.n_combinations
    chosen: list[int] = []
    for copy in range(-(-n // a_copy)):
        block = [base * pool.copies + copy for base in range(a_copy)]
        block.sort(key=lambda place: _rank(seed, pool.name, place))
        chosen += _pair_first(pool, block) if copy == 0 else block
    return chosen[:n]


def n_groups(pool: MinimalPool, limit: int) -> int:
    """Number of groups of a value, at most `limit` (0: all)."""
    n = sum(map(pool.has_held_out, range(pool.n_places)))
    return min(n, limit) if limit else n


def first_groups(pool: MinimalPool, n: int, *, seed: int) -> list[int]:
    """The first n places whose grid has the value, ordered as `first_places`; a smaller n yields a prefix."""
    places = [place for place in range(pool.n_places) if pool.has_held_out(place)]
    places.sort(key=lambda place: (place % pool.copies, _rank(seed, pool.name, place)))
    return places[:n]


def _pair_first(pool: MinimalPool, block: Sequence[int]) -> list[int]:
    held = [place for place in block if pool.has_held_out(place)]
    free = [place for place in block if not pool.has_held_out(place)]
    mixed: list[int] = []
    n_held, of = OF_FIRST_PLACES
    while held and free:
        mixed += held[:n_held] + free[: of - n_held]
        del held[:n_held], free[: of - n_held]
    return mixed + held + free


def _rank(seed: int, pool: str, place: int) -> bytes:
    return hashlib.blake2b(f"{seed} {pool} {place}".encode(), digest_size=16).digest()
