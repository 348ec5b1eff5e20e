"""Replies whose meaning a few words turn around: what is not read right must not be read at all."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from clevrhope.programs import default_vocabulary
from clevrhope.replies import ReplyReader

LINES = Path(__file__).with_name("replies_turned.jsonl").read_text("utf-8").splitlines()

REPLIES: dict[str, list[dict[str, Any]]] = {
    turn: list(rows) for turn, rows in groupby(map(json.loads, LINES), key=lambda row: row["turn"])
}
"""What turns the meaning -> questions with replies and what they say; None if they must not be read."""


@pytest.mark.parametrize("turn", REPLIES)
def test_a_reply_is_read_as_it_is_meant_or_not_at_all(turn: str) -> None:
    vocabulary = default_vocabulary()
    reader = ReplyReader(vocabulary.set_answers, dict(vocabulary.attribute_types))
    rows = REPLIES[turn]
    found = [(row["question"], row["reply"], reader.read(row["question"], row["reply"])) for row in rows]
    assert found == [(row["question"], row["reply"], row["truth"]) for row in rows]
