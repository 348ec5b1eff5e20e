"""Files of predictions: a line of JSON per question, with a digest of the weights and of the dataset."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.contents import suite_splits_in, suites_in
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.suite_questions import DIGITS
from clevrhope.dataset.vocab import NO_ANSWER as NO_ANSWER_TEXT
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.atomic import whole_file
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import numbered_lines, open_text, reading
from clevrhope.splits.covr.kinds import is_covr
from clevrhope.training.answers import NO_ANSWER


class Part(NamedTuple):
    """The questions of a split, or those that a suite made on it; `suite` is "" for the split's own."""

    suite: str
    split: str

    def __str__(self) -> str:
        return f"{self.suite}/{self.split}" if self.suite else self.split


def made_by_digests(
    checkpoint: Path, dataset: Mapping[str, Any], layout: Layout, hop: str, splits: Sequence[str]
) -> dict[Part, str]:
    """The column `made_by` of a checkpoint's predictions, for each of the splits and all suites.

    It is the start of the SHA-256 of the checkpoint and of what identifies the dataset; for suites and sets
    of images, of that and of the file of questions.
    """
    with checkpoint.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(json.dumps(dataset, sort_keys=True).encode())
    made_by = digest.hexdigest()[:DIGITS]
    digests = {
        Part("", split): file_digest(made_by, layout.questions_h5(hop, split)) if is_covr(split) else made_by
        for split in splits
    }
    for suite in suites_in(layout, hop):
        for split in suite_splits_in(layout, hop, suite):
            digests[Part(suite, split)] = file_digest(made_by, layout.suite_h5(hop, suite, split))
    return digests


def file_digest(made_by: str, questions: Path) -> str:
    """The column `made_by` of a suite or of sets of images, from that of splits and the file of questions."""
    with reading(questions, "a file of questions"), questions.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.sha256(made_by.encode()))
    return digest.hexdigest()[:DIGITS]


def kept_lines(
    path: Path,
    made_by: Mapping[Part, str],
    of_suites: Mapping[Part, Mapping[str, str]],
    counts: Mapping[Part, int],
    *,
    splits: Sequence[str],
    suite: str | None,
) -> dict[Part, list[str]]:
    """The lines of a file of predictions, if it exists, that stay when questions are answered.

    Args:
        path: the file.
        made_by: for each part that may stay, the `made_by` that its lines must have.
        of_suites: `suite_columns` of the suites' files. A line that was written for another version of such a
            file never stays, as its questions no longer exist.
        counts: the parts that are asked for, with their numbers of questions.
        splits: all test sets. If all are answered, no other line has to stay, not even those about suites.
        suite: the suite whose lines are replaced. Those about a split then stay if they are there for all of
            its questions. None replaces the lines about the splits.

    Raises:
        ConfigError: other lines would have to stay, but are not of the same weights and dataset.
        DatasetError: the file cannot be read.
    """
    kept: dict[Part, list[str]] = {}
    if not path.exists():
        return kept
    replaced = {part for part in counts if part.suite or suite is None}
    has_to_stay = suite is not None or not {part.split for part in counts} >= set(splits)
    try:
        with reading(path, "JSON lines"), open_text(path) as file:
            for number, line in numbered_lines(path, file):
                part, digest, suite_sha256 = _origin(line)
                of_suite = of_suites.get(part, {}).get("suite_sha256", "")
                if part in replaced or suite_sha256 not in (None, of_suite):
                    continue
                if digest == made_by.get(part, ""):
                    kept.setdefault(part, []).append(line)
                elif has_to_stay:
                    raise ConfigError(
                        f"{path}:{number}: a prediction for {str(part) or 'no split'} that is not known to "
                        "be of the same weights and dataset, so it cannot be kept; evaluate all splits, or "
                        "choose another --out"
                    )
    except DatasetError:
        if has_to_stay:
            raise
        return {}
    return {part: lines for part, lines in kept.items() if len(lines) == counts.get(part, len(lines))}


def _origin(line: str) -> tuple[Part, str | None, str | None]:
    """The part that a line is about, its `made_by` and its suite's SHA-256, if it is one of predictions."""
    try:
        row = parse_json(line, "")
        part = Part(row.get("suite") or "", row.get("split") or "")
        hash(part)
        return part, row.get("made_by"), row.get("suite_sha256")
    except (DatasetError, AttributeError, TypeError):
        return Part("", ""), None, None


def answer_lines(
    hop: str,
    part: Part,
    rows: Sequence[int],
    answers: npt.NDArray[np.int64],
    vocab: Vocab,
    columns: Mapping[str, Any],
) -> Iterator[str]:
    """The lines about the questions of a part.

    `rows` are the questions' (N,) rows in the file of the split or suite, `answers` (N,) indices or
    `NO_ANSWER`; `columns` come at the end of each line.
    """
    words = vocab.answers()
    place = {"hop": hop, "split": part.split, **({"suite": part.suite} if part.suite else {})}
    for row, answer in zip(rows, answers.tolist(), strict=True):
        text = NO_ANSWER_TEXT if answer == NO_ANSWER else words[answer]
        yield json.dumps({**place, "question_index": row, "answer": text, **columns}) + "\n"


def write_lines(path: Path, lines: Mapping[Part, Iterable[str]]) -> None:
    """Writes a file of predictions atomically, lines about splits before those about suites."""
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for part in sorted(lines, key=lambda part: bool(part.suite)):  # stable: splits keep their order
            file.writelines(lines[part])
