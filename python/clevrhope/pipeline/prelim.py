"""A pool of one-object images of a type in, the places that ask for the existence of a value out, in order.

The preliminary sets (CLEVR-HOPE, appendix B) ask for one value. Existence is a minimal set of a single type:
a grid is two of its values, a place has two images, and a group is a place whose grid has the value. Its
first image shows the value, the other one another value of the type, and nothing else changes. Counting
sets have no end and come in their own order.
"""

import hashlib

from clevrhope.pipeline.engine import MinimalPool


def n_sets(pool: MinimalPool, limit: int) -> int:
    """Groups of a value, at most `limit` (0: all)."""
    n = sum(map(pool.has_pair, range(pool.n_places)))
    return min(n, limit) if limit else n


def first_groups(pool: MinimalPool, n: int, *, seed: int) -> list[int]:
    """The first n places whose grid has the value.

    All places of one copy of each grid and combination come before those of the next, in an order that a hash
    of the seed gives. A smaller n gives a prefix.
    """
    places = [place for place in range(pool.n_places) if pool.has_pair(place)]
    places.sort(key=lambda place: (place % pool.copies, _rank(seed, pool.name, place)))
    return places[:n]


def _rank(seed: int, pool: str, place: int) -> bytes:
    return hashlib.blake2b(f"{seed} {pool} {place}".encode(), digest_size=16).digest()
