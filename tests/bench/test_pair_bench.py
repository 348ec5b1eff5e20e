"""The benchmark of pairs, with little work: its pairs are valid; not how fast this machine is."""

import pytest

from benchmarks.pairs import SIZES, file_pairs_per_second, pairs_per_second


def test_a_rate_is_measured() -> None:
    assert pairs_per_second(2_000, repetitions=1) > 0


@pytest.mark.slow
def test_rates_of_files_are_measured() -> None:
    assert min(file_pairs_per_second(500, repetitions=1, sizes=dict.fromkeys(SIZES, 30))) > 0
