"""Whether numbers of objects are even is told block by block: exactly within, by chance in the last one."""

import numpy as np
import numpy.typing as npt

from clevrhope.audit.checks.object_counts import SCENES_A_BLOCK, WITHOUT_QUESTIONS, uneven

LEAST, MOST = 3, 10
A_NUMBER = 20
"""Images of each number of objects in a block."""


def block(number: int, *, of_three: int = A_NUMBER) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Scenes of a block and their objects: each number equally often, but 3."""
    counts = [of_three] + [A_NUMBER] * (MOST - LEAST)
    n_objects = np.repeat(np.arange(LEAST, MOST + 1), counts)
    return number * SCENES_A_BLOCK + np.arange(len(n_objects)), n_objects


def found(*blocks: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]) -> list[tuple[str, str]]:
    indices, n_objects = (np.concatenate(each) for each in zip(*blocks, strict=True))
    return uneven(indices, n_objects, LEAST, MOST)


def test_even_blocks_pass_and_none_at_all() -> None:
    assert found(block(0), block(1), block(4)) == []
    assert uneven(np.zeros(0, np.int64), np.zeros(0, np.int64), LEAST, MOST) == []


def test_a_block_before_the_last_may_lack_only_scenes_without_questions() -> None:
    assert found(block(0, of_three=A_NUMBER - WITHOUT_QUESTIONS), block(1)) == []
    ((problem, shown),) = found(block(0), block(3, of_three=A_NUMBER - WITHOUT_QUESTIONS - 1), block(5))
    assert problem == "images of scenes 6000 to 7999 have some numbers of objects more often than others"
    assert shown == "3 to 10 objects: 16, 20, 20, 20, 20, 20, 20, 20"
    assert len(found(block(0, of_three=0), block(1, of_three=2 * A_NUMBER), block(2))) == 2


def test_the_last_block_may_be_what_chance_gives() -> None:
    assert found(block(0), block(1, of_three=A_NUMBER - WITHOUT_QUESTIONS - 1)) == []
    ((problem, _),) = found(block(0), block(1, of_three=5 * A_NUMBER))
    assert "scenes 2000 to 3999, the last ones, have numbers of objects that chance cannot explain" in problem
