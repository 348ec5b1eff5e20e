"""Whether numbers of objects are even, but for the last run and for scenes that gave no question."""

import numpy as np

from clevrhope.audit.checks.scenes import uneven

LEAST, MOST = 3, 10


def found(*counts: int) -> list[tuple[str, str]]:
    return uneven(np.repeat(np.arange(LEAST, MOST + 1), counts), LEAST, MOST)


def test_even_numbers_pass_and_none_at_all() -> None:
    assert found(*[20] * 8) == []
    assert found(*[0] * 8) == []
    assert found(1, 0, 0, 0, 0, 0, 0, 0) == []


def test_a_number_may_lack_the_last_run_and_a_few_scenes_without_questions() -> None:
    assert found(15, 20, 20, 20, 20, 20, 20, 20) == []
    ((problem, shown),) = found(14, 20, 20, 20, 20, 20, 20, 20)
    assert problem == "the images have some numbers of objects more often than others"
    assert shown == "3 to 10 objects: 14, 20, 20, 20, 20, 20, 20, 20"
    # Of many scenes, more may give none.
    assert found(1_800, *[1_850] * 7) == []
    assert len(found(1_780, *[1_850] * 7)) == 1


def test_what_a_filter_leaves_is_found() -> None:
    counts = [int(1_000 * (5 / 6) ** n) for n in range(LEAST, MOST + 1)]
    assert len(found(*counts)) == 1
