"""Runs' folders as `clevrhope train` and `evaluate` leave them, with answers of known accuracy."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.vocab import NO_ANSWER
from clevrhope.metrics.answer_key import AnswerKey


def write_run(
    out: Path,
    dataset: Path,
    *,
    model: str,
    hop: str,
    size: int,
    seed: int,
    wrong: Mapping[str, float],
    files: tuple[str, ...] = ("last.predict",),
    note: str = "",
) -> Path:
    """Writes a run; `wrong` is the share of each test set's questions, the first ones, that it gets wrong."""
    folder = out / f"{model}-{hop}-{size}-{seed}"
    run = {"format": 1, "model": model, "hop": hop, "size": size, "seed": seed,
           "places": {"dataset": str(dataset)}}  # fmt: skip
    (folder / "predictions").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(run))
    for name in files:
        write_predictions(folder / "predictions" / f"{name}.jsonl", dataset, hop, wrong,
                          run=seed, train_size=size, note=note)  # fmt: skip
    return folder


def write_predictions(path: Path, dataset: Path, hop: str, wrong: Mapping[str, float], **more: Any) -> Path:
    key = AnswerKey(dataset)
    names = {number: text for text, number in key.answers.items()}
    rows = []
    for split in key.splits[hop]:
        answers = key.test_set(hop, split).answers
        fails = np.arange(len(answers)) < round(wrong.get(split, 0.0) * len(answers))
        for k, (answer, fail) in enumerate(zip(answers.tolist(), fails.tolist(), strict=True)):
            given = NO_ANSWER if fail else names[answer]
            rows.append({"hop": hop, "split": split, "question_index": k, "answer": given, **more})
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path
