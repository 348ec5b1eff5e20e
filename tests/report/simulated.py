"""Runs' folders as `clevrhope train` and `evaluate` leave them, with answers of known accuracy."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.folder import Folder, identity
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.vocab import NO_ANSWER, read_vocab
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.estimates import N_DRAWS, Estimate
from clevrhope.models.lxmert.config import PRETRAINED
from clevrhope.models.recipe import Recipe
from clevrhope.report import Report, Result, Source
from wording import check_words

HOP, LIMITED = "rubber_cylinder", "cyan_cylinder-d4-grid"
"""The pairs of `dataset`, plain and at diversity 4."""


def text_of(made: Report) -> str:
    """The page without Markdown's marks before letters that it would take for its own."""
    text = made.markdown.read_text()
    return text.replace("\\", "").replace("\N{MINUS SIGN}", "-").replace("\N{NO-BREAK SPACE}", " ")


def check_part(text: str, begin: str, end: str = "\n## ") -> None:
    """Compares a part of a section of a page, without the ends of its intervals, with the snapshot."""
    part = text.split(begin, 1)[1].split("\n## ", 1)[0].split(end, 1)[0]
    check_words(re.sub(r"\[[-+.\d]+, [-+.\d]+\]", "[low, high]", part).strip())


def cells_of(line: str) -> list[str]:
    """The cells of a row of a table."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def table_below(text: str, title: str) -> list[list[str]]:
    """The head and the rows of the table with this title."""
    head, _, *rows = text.split(f"**{title}**\n\n")[1].split("\n\n")[0].splitlines()
    return [cells_of(line) for line in (head, *rows)]


def rows_of_file(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def exactly(value: float) -> Estimate:
    """A figure without uncertainty."""
    return Estimate(value, np.full(N_DRAWS, value), n_units=1_000)


def made_result(name: str = "film", hop: str = HOP, **changes: Any) -> Result:
    """A result of a run that has no files; `changes` are other fields of it."""
    plain = {
        "source": Source(Path("p.jsonl"), Path("data"), name, Path("run")),
        "model": name,
        "hop": hop,
        "held_out": hop,
        "types": (),
        "diversity": 6,
        "mode": "",
        "train_size": 200,
        "run": "1",
        "accuracies": {},
    }
    return Result(**{**plain, **changes})


def write_run(
    out: Path,
    dataset: Path,
    *,
    model: str,
    hop: str,
    size: int,
    seed: int,
    wrong: Mapping[str, float],
    unanswered: Mapping[str, float] | None = None,
    files: tuple[str, ...] = ("last.predict",),
    note: str = "",
    trained: Mapping[str, Any] | None = None,
    name: str = "",
) -> Path:
    """Writes a run; `wrong` is the share of each test set's questions, the first ones, that it gets wrong.

    `unanswered` is the share, the last ones, that get no answer. `trained` replaces what run.json says of
    settings, features and recipe, see `trained`; `name` tells folders of otherwise equal runs apart.
    """
    folder = out / f"{model}-{hop}-{size}-{seed}{name}"
    run = {"format": 1, "model": model, "hop": hop, "size": size, "seed": seed,
           "places": {"dataset": str(dataset)}, "dataset": identity_of(dataset, hop),
           **_AS_IN_THE_PAPER, **(trained or {})}  # fmt: skip
    (folder / "predictions").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(run))
    for file in files:
        write_predictions(folder / "predictions" / f"{file}.jsonl", dataset, hop, wrong, unanswered,
                          run=seed, train_size=size, note=note)  # fmt: skip
    return folder


def trained(recipe: Recipe = PRETRAINED, *, features: str = "frcnn", **settings: Any) -> dict[str, Any]:
    """What run.json says of how a run was trained; as it is, LXMERT-p's in the paper."""
    options = {"width": 96, "height": 64} if features == "pixels" else {}
    return {
        "settings": settings,
        "recipe": recipe.record(),
        "features": {"kind": features, "options": options, "weights": None, "code": 1, "note": None},
    }


_AS_IN_THE_PAPER = trained()


def identity_of(dataset: Path, hop: str) -> dict[str, Any]:
    """What a run without images says of a dataset."""
    layout = Layout(dataset)
    return identity(Folder.open(layout.root).manifest, read_vocab(layout.vocab), hop=hop, images=False)


def write_predictions(
    path: Path,
    dataset: Path,
    hop: str,
    wrong: Mapping[str, float],
    unanswered: Mapping[str, float] | None = None,
    **more: Any,
) -> Path:
    key = AnswerKey(dataset)
    names = {number: text for text, number in key.answers.items()}
    rows = []
    for split in key.splits[hop]:
        answers = key.test_set(hop, split).answers
        n = len(answers)
        n_wrong, n_silent = (round(each.get(split, 0.0) * n) for each in (wrong, unanswered or {}))
        for k, answer in enumerate(answers.tolist()):
            right = names[answer]
            given = ("no" if right == "yes" else "yes") if k < n_wrong else right
            given = NO_ANSWER if k >= n - n_silent else given
            rows.append({"hop": hop, "split": split, "question_index": k, "answer": given, **more})
    return write_rows(path, rows)


def write_suite_predictions(
    run: Path, dataset: Path, hop: str, suite: str, *, left_out: int = 0, **more: Any
) -> None:
    """Adds right answers to a suite's own questions to a run's files, without the first ones of a split."""
    layout = Layout(dataset)
    about = json.loads((run / "run.json").read_text())
    names = {number: text for text, number in AnswerKey(dataset).answers.items()}
    rows = []
    for path in sorted(layout.suite(hop, suite).glob("*.h5")):
        pairs = read_table(path, PAIRS)
        for k in np.flatnonzero(pairs.orig_idxs < 0)[left_out:].tolist():
            rows.append({"hop": hop, "split": path.stem, "suite": suite, "question_index": k,
                         "answer": names[int(pairs.answers[k])], "run": about["seed"],
                         "train_size": about["size"], **more})  # fmt: skip
    for path in (run / "predictions").iterdir():
        with path.open("a") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in rows)
