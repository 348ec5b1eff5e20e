"""The benchmark of scoring pairs, with little work: its pairs are valid; not how fast this machine is."""

from clevrhope.bench.pairs import SIZES, pairs_per_second, pairs_per_second_from_lines


def test_a_rate_is_measured() -> None:
    assert pairs_per_second(2_000, repetitions=1) > 0


def test_a_rate_from_a_file_is_measured() -> None:
    assert pairs_per_second_from_lines(500, repetitions=1, sizes=dict.fromkeys(SIZES, 30)) > 0
