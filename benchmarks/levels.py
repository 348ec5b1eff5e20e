"""Compares definitions of levels of difficulty: `python -m benchmarks.levels out/levels`.

It reads what `clevrhope experiment levels` wrote, prints the comparison that experiments/levels.toml
describes as Markdown, and writes the number of right answers for each kind of question and each number of
functions, relations and objects to levels.csv in the report's folder.
"""

import csv
import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from clevrhope.dataset.levels import Floor, floors
from clevrhope.dataset.loader import load
from clevrhope.dataset.question_kinds import MARKS
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.training.run_folder import RunFolder

Floats = npt.NDArray[np.float64]
Definition = Mapping[str, Any]
"""A definition in the form of the package's levels.toml."""

MODEL, ALONE = "object_transformer", "question_only"
DRAWS, SEED = 10_000, 1
RELATIONS = {"by_place": ("relate", "with_relation"), "by_value": ("same_", "with_same_")}
"""How the names of functions begin that relate objects by place, and by an equal attribute."""
COUNTS = ("functions", *RELATIONS, "objects")
ASKS = {"exist": "existence", "count": "count", "query_": "value", "": "comparison"}
"""How the name of a program's last function begins -> what its question asks for."""


def definitions() -> dict[str, Definition]:
    """The definitions that are compared, by name."""
    return tomllib.loads(Path(__file__).with_name("levels.toml").read_text("utf-8"))


def levels(definition: Definition, counts: Mapping[str, Ints], kind: str = "single") -> Ints:
    """(N,) the level of each question with these (N,) `COUNTS`; kind is "single" or "sets"."""
    of = [counts[kind] for kind, begins in RELATIONS.items() if begins[0] in definition["relation_functions"]]
    reached = {**counts, "relations": sum(of, np.zeros_like(counts["functions"]))}
    points = sum(
        reached[name] >= least for name, thresholds in definition[kind].items() for least in thresholds
    )
    found: Ints = 1 + np.searchsorted(definition["points"], points, side="right").astype(np.int32)
    return found


@dataclass(frozen=True)
class Run:
    """The answers to one dataset's `test` of a model and of the question alone.

    Attributes:
        seed: of the dataset and of the models.
        table: the N questions.
        counts: (N,) each of `COUNTS`.
        asks: (N,) what each question asks for, one of `ASKS`.
        right: (N,) whether the answers of `MODEL` and `ALONE` are right.
    """

    seed: int
    table: QuestionTable
    counts: Mapping[str, Ints]
    asks: Sequence[str]
    right: Mapping[str, npt.NDArray[np.bool_]]


def counts_of(table: QuestionTable, n_objects: Ints) -> dict[str, Ints]:
    """(N,) each of `COUNTS` of a table's questions; n_objects: (N,) objects in their images."""
    assert table.vocab is not None
    names = table.vocab.programs()
    programs = [programs for _, _, programs in table.blocks()]
    of_relations = {}
    for kind, begins in RELATIONS.items():
        relates = np.array([name.startswith(begins) for name in names])
        of_relations[kind] = np.concatenate([relates[each].sum(axis=1) for each in programs])
    return {"functions": table.program_lengths - len(MARKS), **of_relations, "objects": n_objects}


def asks_of(table: QuestionTable) -> list[str]:
    """(N,) what each question asks for."""
    assert table.vocab is not None
    names = table.vocab.programs()
    asks = [next(asked for begins, asked in ASKS.items() if name.startswith(begins)) for name in names]
    return [asks[number] for number in table.programs[:, 1].tolist()]  # after <START>, the last function


def read_runs(out: Path) -> list[Run]:
    """The finished runs of the experiment, by seed."""
    folders: dict[int, dict[str, RunFolder]] = {}
    for path in (out / "runs").glob("*/finished.json"):
        info = (folder := RunFolder(path.parent)).read()
        folders.setdefault(info["seed"], {})[info["model"]] = folder
    return [_read_run(seed, of_models) for seed, of_models in sorted(folders.items()) if len(of_models) == 2]


def _read_run(seed: int, folders: Mapping[str, RunFolder]) -> Run:
    dataset = Path(folders[MODEL].read()["places"]["dataset"])
    table = load(dataset, "none", "test", images=False).table
    right = {}
    for model, checkpoint in ((MODEL, "best"), (ALONE, "last")):
        file = folders[model].predictions / f"{checkpoint}.predict.jsonl"
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        answers = {row["question_index"]: row["answer"] for row in rows if row["split"] == "test"}
        given = [answers[number] for number in range(len(table))]
        right[model] = np.array(given) == np.array(table.answer_names)[table.answers]
    return Run(seed, table, counts_of(table, AnswerKey(dataset).objects(table)), asks_of(table), right)


@dataclass(frozen=True)
class Scores:
    """Accuracies of some runs on the L levels of a definition, in per cent.

    Attributes:
        questions: (L,) their number.
        percent: (L,) of all runs together.
        low, high: (L,) its 95% interval.
        steps: (L - 1, 3) from each level to the next in points, negative for a fall, with its 95% interval.
        of_runs: (runs, L) of each run.
    """

    questions: Ints
    percent: Floats
    low: Floats
    high: Floats
    steps: Floats
    of_runs: Floats

    @property
    def holds(self) -> bool:
        """Whether every step is below 0 by its interval."""
        return bool((self.steps[:, 2] < 0).all())


def score(runs: Sequence[Run], definition: Definition, model: str) -> Scores:
    """The accuracies of a model; intervals are of `DRAWS` draws of the images, each with its questions."""
    rng = np.random.default_rng(SEED)
    n_levels = len(definition["points"]) + 1
    drawn, of_runs, sums = np.zeros((2, DRAWS, n_levels)), [], np.zeros((2, n_levels))
    for run in runs:
        on, (_, image) = (
            levels(definition, run.counts) - 1,
            np.unique(run.table.image_idxs, return_inverse=True),
        )
        there = np.zeros((2, image.max() + 1, n_levels))
        np.add.at(there[0], (image.ravel(), on), run.right[model])
        np.add.at(there[1], (image.ravel(), on), 1)
        n = there.shape[1]
        times = rng.multinomial(n, np.full(n, 1 / n), DRAWS).astype(np.float64)
        drawn += times @ there
        total = there.sum(axis=1)
        sums += total
        of_runs.append(100 * total[0] / total[1])
    percent, of_draws = 100 * sums[0] / sums[1], 100 * drawn[0] / drawn[1]
    low, high = np.percentile(of_draws, [2.5, 97.5], axis=0)
    between = np.percentile(np.diff(of_draws), [2.5, 97.5], axis=0)
    steps = np.stack([np.diff(percent), *between], axis=1)
    return Scores(sums[1].astype(np.int32), percent, low, high, steps, np.array(of_runs))


def floor_of(runs: Sequence[Run], definition: Definition) -> list[Floor]:
    """What answers earn on each level that need no image, on average over the runs."""
    of_runs = [floors(run.table, levels(definition, run.counts)) for run in runs]
    return [
        Floor(*np.mean([found[level] for found in of_runs], axis=0).tolist()) for level in sorted(of_runs[0])
    ]


def comparison(runs: Sequence[Run]) -> Iterator[str]:
    """The lines of the comparison: a table for each definition, and whether it holds."""
    for name, definition in definitions().items():
        model, alone = (score(runs, definition, each) for each in (MODEL, ALONE))
        yield f"**{name}** {'holds' if model.holds else 'does not hold'}."
        yield ""
        yield "| level | questions | right, % | step, points | each run | question alone | by function |"
        yield "|---:|---:|---:|---:|---:|---:|---:|"
        for k, floor in enumerate(floor_of(runs, definition)):
            step = "" if k == 0 else "{:+.1f} [{:+.1f}, {:+.1f}]".format(*model.steps[k - 1])
            each = ", ".join(f"{value:.1f}" for value in model.of_runs[:, k])
            yield (
                f"| {k + 1} | {model.questions[k]:,} | {_with_interval(model, k)} | {step} | {each} "
                f"| {_with_interval(alone, k)} | {100 * floor.by_function:.1f} |"
            )
        yield ""


def _with_interval(scores: Scores, k: int) -> str:
    return f"{scores.percent[k]:.1f} [{scores.low[k]:.1f}, {scores.high[k]:.1f}]"


def write_counts(runs: Sequence[Run], path: Path) -> None:
    """Writes how many questions of a run ask for the same with the same `COUNTS`, and how many are right."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["seed", "asks", *COUNTS, "questions", *(f"right_{model}" for model in (MODEL, ALONE))])
        for run in runs:
            found: Counter[tuple[Any, ...]] = Counter()
            right: dict[str, Counter[tuple[Any, ...]]] = {model: Counter() for model in run.right}
            of_counts = (run.counts[name].tolist() for name in COUNTS)
            for k, key in enumerate(zip(run.asks, *of_counts, strict=True)):
                found[key] += 1
                for model, flags in run.right.items():
                    right[model][key] += int(flags[k])
            for key, n in sorted(found.items()):
                rows.writerow([run.seed, *key, n, *(right[model][key] for model in (MODEL, ALONE))])


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
def main(out: Path) -> None:
    """Compares definitions of levels on the runs of an experiment."""
    runs = read_runs(out)
    click.echo("\n".join(comparison(runs)))
    write_counts(runs, out / "report" / "levels.csv")


if __name__ == "__main__":
    main()
