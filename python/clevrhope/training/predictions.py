"""A model's answers to the questions of a split, and files of them: one line of JSON per question."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from clevrhope.dataset.suite_questions import DIGITS
from clevrhope.dataset.vocab import NO_ANSWER as NO_ANSWER_TEXT
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.models.batch import Batch
from clevrhope.runtime.atomic import whole_file
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.progress import Advance, ignore_advance
from clevrhope.runtime.reading import numbered_lines, open_text, reading
from clevrhope.training.checks import check_programs, check_scores
from clevrhope.training.data import Questions, padded
from clevrhope.training.device import casting
from clevrhope.training.request import Precision

NO_ANSWER = -1
"""The answer to a question whose scores are NaN, for instance because of an ill-formed program."""

BATCH = 256


def predict_answers(
    model: nn.Module,
    method: str,
    questions: Questions,
    *,
    n_answers: int,
    precision: Precision,
    batch_size: int = BATCH,
    advance: Advance = ignore_advance,
) -> npt.NDArray[np.int64]:
    """(N,) index of the answer to each question, or `NO_ANSWER`, from the scores that a model's method gives.

    The model's mode and torch's generators are left unchanged, so evaluating on the tune set does not affect
    training. `n_answers` counts all answers in vocab.json, special tokens included.

    Raises:
        ConfigError: the scores have another shape.
    """
    found = []
    for batch, scores in _outputs(model, method, questions, precision, batch_size):
        check_scores(model, method, batch, scores, n_answers)
        scores = scores.float().clone()
        none = scores.isnan().any(dim=1)
        # Special tokens are not answers, whatever their scores.
        scores[:, : len(SPECIAL_TOKENS)] = -torch.inf
        found.append(scores.argmax(dim=1).masked_fill(none, NO_ANSWER).cpu().numpy())
        advance(len(batch))
    return np.concatenate(found)


def predict_programs(
    model: nn.Module,
    method: str,
    questions: Questions,
    *,
    precision: Precision,
    batch_size: int = BATCH,
    advance: Advance = ignore_advance,
) -> npt.NDArray[np.int64]:
    """(N, P) program tokens that a model's method gives for each question; see `predict_answers`.

    Raises:
        ConfigError: the method gives something else.
    """
    found: list[npt.NDArray[np.int64]] = []
    for batch, programs in _outputs(model, method, questions, precision, batch_size):
        check_programs(model, method, batch, programs)
        found.append(programs.cpu().numpy())
        advance(len(batch))
    return padded(found)


def accuracy(answers: npt.NDArray[np.int64], questions: Questions) -> float:
    """Percentage of right answers; no answer counts as wrong."""
    return 100 * float((answers == questions.answers).mean())


def _outputs(
    model: nn.Module, method: str, questions: Questions, precision: Precision, batch_size: int
) -> Iterator[tuple[Batch, Tensor]]:
    """Each batch of the questions with the method's output for it, in evaluation mode."""
    predict: Callable[[Batch], Tensor] = getattr(model, method)
    order, plan = np.arange(len(questions)), getattr(model, "plan", None)
    modes = [(module, module.training) for module in model.modules()]
    gpus = [questions.device] if questions.device.type == "cuda" else []
    try:
        model.eval()
        with torch.random.fork_rng(devices=gpus), torch.no_grad(), casting(questions.device, precision):
            for batch in questions.batches(order, batch_size, plan):
                yield batch, predict(batch)
    finally:
        for module, training in modes:
            module.training = training


class Part(NamedTuple):
    """The questions of a split, or those that a suite made on it; `suite` is "" for the split's own."""

    suite: str
    split: str

    def __str__(self) -> str:
        return f"{self.suite}/{self.split}" if self.suite else self.split


def made_by_digest(checkpoint: Path, dataset: Mapping[str, Any]) -> str:
    """The column `made_by` of answers to a split: the start of the SHA-256 of checkpoint and dataset."""
    with checkpoint.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(json.dumps(dataset, sort_keys=True).encode())
    return digest.hexdigest()[:DIGITS]


def file_digest(made_by: str, questions: Path) -> str:
    """The same for a suite or sets of images: from `made_by` of the splits and the questions' file."""
    with reading(questions, "a file of questions"), questions.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.sha256(made_by.encode()))
    return digest.hexdigest()[:DIGITS]


def kept_lines(
    path: Path,
    made_by: Mapping[Part, str],
    of_suites: Mapping[Part, Mapping[str, str]],
    *,
    replaced: Collection[Part],
    strict: bool,
) -> dict[Part, list[str]]:
    """The lines of a file of predictions, if it exists, that stay when others are replaced.

    Args:
        path: the file.
        made_by: for each part that may stay, the `made_by` that its lines must have.
        of_suites: `suite_columns` of the suites' files. A line that was written for another version of such a
            file never stays, as its questions no longer exist.
        replaced: parts whose lines are replaced.
        strict: whether a line that can neither stay nor be replaced is an error; otherwise it is dropped.

    Raises:
        ConfigError: a line is about other weights or another dataset, or does not say which.
        DatasetError: the file cannot be read.
    """
    kept: dict[Part, list[str]] = {}
    if not path.exists():
        return kept
    with reading(path, "JSON lines"), open_text(path) as file:
        for number, line in numbered_lines(path, file):
            try:
                row = parse_json(line, "")
                part, digest = Part(row.get("suite") or "", row.get("split") or ""), row.get("made_by")
                is_replaced, is_own = part in replaced, digest == made_by.get(part, "")
                if "suite_sha256" in row:
                    is_replaced |= row["suite_sha256"] != of_suites.get(part, {}).get("suite_sha256")
            except (DatasetError, AttributeError, TypeError):
                part, is_replaced, is_own = Part("", ""), False, False
            if is_replaced:
                continue
            if is_own:
                kept.setdefault(part, []).append(line)
            elif strict:
                raise ConfigError(
                    f"{path}:{number}: a prediction for {str(part) or 'no split'} that is not known to be of "
                    "the same weights and dataset, so it cannot be kept; evaluate all splits, or choose "
                    "another --out"
                )
    return kept


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
        for of_suites in (False, True):
            for part, own in lines.items():
                if bool(part.suite) == of_suites:
                    file.writelines(own)
