"""Replies by five authors who never saw the reader, and by which no rule was changed.

docs/vlms.md gives the figures. Were the reader changed by these replies, they would measure nothing, and new
ones would be needed. If it is changed for another reason, the figures have to be measured again.
"""

import json
from pathlib import Path

import pytest

from clevrhope.programs import default_vocabulary
from clevrhope.replies import ReplyReader

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("replies_held_out.jsonl").read_text("utf-8").splitlines()
]
FIRST_AUTHOR, SECOND_AUTHOR, THIRD_AUTHOR, SIXTH_AUTHOR = 367, 696, 1056, 1656
"""Where their replies end. The first two wrote what is hard to read, the others what models would reply."""


def counts(rows: list[dict[str, str]]) -> tuple[int, int, int, int, int]:
    """Of replies with an answer, those read right, wrong and not at all; of others, all and those read."""
    vocabulary = default_vocabulary()
    reader = ReplyReader(vocabulary.set_answers, dict(vocabulary.attribute_types))
    read = [
        (row["truth"], reader.read(row["question"], row["reply"], asked=row.get("asked", ()))) for row in rows
    ]
    readable = [(truth, answer) for truth, answer in read if truth is not None]
    others = [answer for truth, answer in read if truth is None]
    n_right = sum(truth == answer for truth, answer in readable)
    n_unread = sum(answer is None for _, answer in readable)
    return (
        n_right,
        len(readable) - n_right - n_unread,
        n_unread,
        len(others),
        len(others) - others.count(None),
    )


@pytest.mark.slow
def test_the_documented_figures_are_measured_ones() -> None:
    assert counts(ROWS[:FIRST_AUTHOR]) == (296, 1, 10, 60, 7)
    assert counts(ROWS[FIRST_AUTHOR:SECOND_AUTHOR]) == (262, 0, 7, 60, 5)
    assert counts(ROWS[SECOND_AUTHOR:THIRD_AUTHOR]) == (346, 0, 3, 11, 3)
    assert counts(ROWS[THIRD_AUTHOR:SIXTH_AUTHOR]) == (533, 2, 25, 40, 3)
    assert counts(ROWS[SIXTH_AUTHOR:]) == (537, 2, 24, 37, 0)
