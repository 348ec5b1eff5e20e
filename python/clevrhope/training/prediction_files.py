"""Files of predictions: a line of JSON per question."""

import hashlib
import json
from collections.abc import Mapping, Sequence
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
from clevrhope.training.prediction import NO_ANSWER

DIGITS = 12
"""Length of the digest in each row."""


def made_by_digest(checkpoint: Path, dataset: Mapping[str, Any]) -> str:
    """The start of a SHA-256 of a checkpoint and a dataset, which all rows made from both have."""
    with checkpoint.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(json.dumps(dataset, sort_keys=True).encode())
    return digest.hexdigest()[:DIGITS]


def kept_lines(path: Path, chosen: Sequence[str], made_by: str) -> Sequence[str]:
    """The lines of a file of predictions, if there is one, about other splits than the chosen ones.

    Raises:
        ConfigError: they are of other weights or another dataset, or do not say of which.
    """
    if not path.exists():
        return ()
    kept = []
    with reading(path, "JSON lines"), open_text(path) as file:
        for number, line in numbered_lines(path, file):
            try:
                row = parse_json(line, "")
                split, digest = row.get("split"), row.get("made_by")
            except (DatasetError, AttributeError):
                split = digest = None
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
    first: Mapping[str, Any],
    last: Mapping[str, Any],
    kept: Sequence[str] = (),
) -> None:
    """Writes the kept lines and then one line per question.

    Args:
        path: the file, written completely or not at all.
        answers: split -> (N,) indices of answers.
        vocab: the answers' vocabulary.
        first: columns before the question's own, the same in all rows.
        last: columns after them, likewise.
        kept: lines of an earlier file.
    """
    words = vocab.answers()
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.writelines(kept)
        for split, indices in answers.items():
            for row, answer in enumerate(indices.tolist()):
                text = NO_ANSWER_TEXT if answer == NO_ANSWER else words[answer]
                columns = {**first, "split": split, "question_index": row, "answer": text, **last}
                file.write(json.dumps(columns) + "\n")
