"""The benchmark of scoring pairs, with little work: its pairs are valid; not how fast this machine is."""

from clevrhope.bench.pairs import pairs_per_second


def test_a_rate_is_measured() -> None:
    assert pairs_per_second(2_000, repetitions=1) > 0
