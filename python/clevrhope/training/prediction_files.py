"""Answers to whole splits in, a file of predictions out, which keeps what it has of other splits."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.vocab import NO_ANSWER as NO_ANSWER_TEXT
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.atomic import whole_file
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import numbered_lines, open_text, reading
from clevrhope.training.predicting import NO_ANSWER

ROWS_AT_ONCE = 10_000

DIGITS = 12
"""Of the digest that rows have."""


def made_by_digest(checkpoint: Path, dataset: Mapping[str, Any]) -> str:
    """What rows of the same weights and dataset have in common: the begin of a SHA-256 of both."""
    with checkpoint.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(json.dumps(dataset, sort_keys=True).encode())
    return digest.hexdigest()[:DIGITS]


def kept_lines(path: Path, chosen: Sequence[str], made_by: str) -> Sequence[str]:
    """The lines of a file of predictions, if it is there, that are about other splits than the chosen ones.

    Raises:
        ConfigError: they are of other weights or another dataset, or do not say of which.
    """
    if not path.exists():
        return ()
    kept = []
    with reading(path, "JSON lines"), open_text(path) as file:
        for number, line in numbered_lines(path, file):
            split, digest = _said(line)
            if split in chosen:
                continue
            if digest != made_by:
                raise ConfigError(
                    f"{path}:{number}: a prediction for {split or 'no split'} that is not known to be of the "
                    "same weights and dataset, so it cannot be kept; evaluate all splits, or choose another "
                    "--out"
                )
            kept.append(line)
    return kept


def write_answers(
    path: Path,
    answers: Mapping[str, npt.NDArray[np.int64]],
    vocab: Vocab,
    about: Mapping[str, Any],
    more: Mapping[str, Any],
    kept: Sequence[str] = (),
) -> None:
    """Writes the lines that are kept, and then a line a question.

    Args:
        path: of the file, written whole or not at all.
        answers: split -> (N,) numbers of answers.
        vocab: of the answers.
        about: HOP, run and train size.
        more: further columns, the same in all rows.
        kept: of the file that was there.
    """
    words = vocab.answers()
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.writelines(kept)
        for split, numbers in answers.items():
            texts = [NO_ANSWER_TEXT if number == NO_ANSWER else words[number] for number in numbers.tolist()]
            for first in range(0, len(texts), ROWS_AT_ONCE):
                some = enumerate(texts[first : first + ROWS_AT_ONCE], first)
                file.writelines(_lines({**about, "split": split}, some, more))


def _lines(
    about: Mapping[str, Any], answers: Iterator[tuple[int, str]], more: Mapping[str, Any]
) -> Iterator[str]:
    head = {name: about[name] for name in ("hop", "split")}
    tail = {name: about[name] for name in ("run", "train_size")} | dict(more)
    for index, answer in answers:
        yield json.dumps({**head, "question_index": index, "answer": answer, **tail}) + "\n"


def _said(line: str) -> tuple[str | None, str | None]:
    """The split of a line, and by what it was made; None for what it does not say."""
    try:
        row = parse_json(line, "")
        return row.get("split"), row.get("made_by")
    except (DatasetError, AttributeError):
        return None, None
