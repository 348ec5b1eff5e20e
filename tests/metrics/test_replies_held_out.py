"""Replies by two authors who never saw the reader, and by which nothing was changed: how well it reads them.

docs/predictions.md gives the figures. Were the reader changed by these replies, they would measure nothing,
and new ones would be needed.
"""

import json
from pathlib import Path

from clevrhope.metrics.replies import ReplyReader
from clevrhope.programs import default_vocabulary

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("replies_held_out.jsonl").read_text("utf-8").splitlines()
]


def test_most_are_read_and_few_are_read_wrong() -> None:
    vocabulary = default_vocabulary()
    reader = ReplyReader(vocabulary.set_answers, dict(vocabulary.attribute_types))
    answers = [reader.read(row["question"], row["reply"], asked=row.get("asked", ())) for row in ROWS]
    read = [(row["truth"], answer) for row, answer in zip(ROWS, answers, strict=True)]
    readable = [(truth, answer) for truth, answer in read if truth is not None]
    assert (len(read), len(readable)) == (697, 577)
    assert sum(truth == answer for truth, answer in readable) >= 0.92 * len(readable)
    assert sum(answer not in (None, truth) for truth, answer in read) <= 0.03 * len(read)
