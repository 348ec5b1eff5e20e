"""The grids of the one-object sets: the paper's numbers, prefixes, and where the pair is."""

import pytest

from clevrhope._core import MinimalPool, World
from clevrhope.config.presets import PRESETS
from clevrhope.pipeline.engine import open_world
from clevrhope.pipeline.minimal import first_places, n_places
from clevrhope.splits.hops import Hop, paper_hops

PAPER = {  # diversity: minimal_ood questions, minimal_iid images, minimal_iid questions
    4: (3_840, 2_880, 8_640),
    6: (2_560, 3_200, 10_880),
    16: (840, 3_150, 11_970),
    24: (448, 2_576, 9_968),
}


@pytest.fixture(scope="module")
def world() -> World:
    return open_world(PRESETS["demo"])


def pool_of(world: World, hop: Hop) -> MinimalPool:
    assert hop.held_out is not None
    return MinimalPool(world, held_out=list(hop.held_out))


@pytest.mark.parametrize("hop", paper_hops(), ids=lambda hop: hop.name)
def test_the_papers_numbers_come_out(world: World, hop: Hop) -> None:
    pool = pool_of(world, hop)
    places = first_places(pool, n_places(pool, copies=0, limit=0), seed=1)
    held = sum(map(pool.has_held_out, places))
    free = len(places) - held
    assert (4 * held, 3 * held + 4 * free, 9 * held + 16 * free) == PAPER[hop.diversity]
    assert sorted(places) == list(range(pool.n_places))


def test_a_pool_serves_every_pair_of_its_types(world: World) -> None:
    pools = {pool.name: pool.n_places for hop in paper_hops() for pool in [pool_of(world, hop)]}
    assert len(pools) == 6
    assert 4 * sum(pools.values()) == 20_928


def test_smaller_sets_are_prefixes_of_larger_ones(world: World) -> None:
    pool = pool_of(world, paper_hops()[4])
    everything = first_places(pool, n_places(pool, copies=0, limit=0), seed=1)
    for n in (1, 6, n_places(pool, copies=1, limit=0), n_places(pool, copies=3, limit=0), 500):
        assert first_places(pool, n, seed=1) == everything[:n]
    one_copy = first_places(pool, n_places(pool, copies=1, limit=0), seed=1)
    assert all(place % pool.copies == 0 for place in one_copy)
    assert first_places(pool, 6, seed=2) != everything[:6]


def test_the_smallest_sets_are_two_thirds_with_the_pair_where_there_is_a_choice(world: World) -> None:
    for hop in paper_hops():
        pool = pool_of(world, hop)
        n_held = sum(map(pool.has_held_out, first_places(pool, 6, seed=5)))
        assert n_held == (6 if hop.diversity == 4 else 4)
