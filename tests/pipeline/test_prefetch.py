"""Work in other threads: results in order, errors where they would be without, nothing left running."""

import threading
from collections.abc import Iterator
from contextlib import closing
from time import sleep

import pytest

from clevrhope.pipeline import text
from clevrhope.pipeline.text import prefetch
from clevrhope.runtime.threads import map_in_threads


def numbers(made: list[int]) -> Iterator[int]:
    for number in range(1, 6):
        made.append(number)
        yield number


def test_questions_of_a_split_are_made_while_those_before_them_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []

    def questions(job: int, engine: object) -> Iterator[int]:
        if job == 3:
            raise ValueError("third")
        for number in (10 * job + 1, 10 * job + 2):
            made.append(number)
            yield number

    monkeypatch.setattr(text, "questions_of", questions)
    written: list[int] = []

    def write_all() -> None:
        with closing(text.generate_questions([1, 2, 3], None)) as splits:
            for job, batches in splits:
                for batch in batches:
                    assert batch // 10 == job
                    sleep(0.02)
                    written.append(batch)
                    assert len(made) == min(len(written) + 1, 4)

    with pytest.raises(ValueError, match="third"):
        write_all()
    assert written == made == [11, 12, 21, 22]


def test_results_come_in_order_whichever_is_ready_first() -> None:
    def slow_if_even(number: int) -> int:
        sleep(0.05 * (number % 2 == 0))
        return number**2

    assert list(map_in_threads(slow_if_even, range(6))) == [0, 1, 4, 9, 16, 25]


def test_an_error_stops_the_rest() -> None:
    begun: list[int] = []

    def fails_at_two(number: int) -> int:
        begun.append(number)
        if number == 2:
            raise ValueError("two")
        return number

    with pytest.raises(ValueError, match="two"):
        list(map_in_threads(fails_at_two, range(100)))
    assert len(begun) < 10


def test_leaving_early_leaves_no_thread() -> None:
    before = threading.active_count()
    with closing(prefetch(numbers([]))) as items:
        next(items)
    with closing(map_in_threads(abs, range(100))) as results:
        next(results)
    assert threading.active_count() == before
