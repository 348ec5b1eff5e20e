"""The comparison of learning from rewards and from labels, on made-up runs."""

import csv
import json
from pathlib import Path
from typing import Any, get_type_hints

import pytest

pytest.importorskip("scipy", reason="scipy is not installed: pip install clevrhope[plots]")

from click.testing import CliRunner

from benchmarks.objectives import FIGURES, Run, differences, main, read_runs
from clevrhope.metrics.slopes import MeanSlope, mean_slope

DOCS = Path(__file__).parents[2] / "docs"

OOD = {"labels": {1: 70.0, 2: 60.0, 3: 50.0}, "rewards": {1: 74.0, 2: 66.0, 3: 51.0}, "question_only": 40.0}
"""Accuracy on complex_ood by what was learned from and palette; 20 more with 16 combinations."""


def write_run(out: Path, learned_from: str, palette: int, combinations: int, **last: Any) -> None:
    """A run as `train` leaves it, as far as the comparison reads it."""
    model = learned_from if learned_from == "question_only" else "object_transformer"
    stage = {"objective": "rewards"} if learned_from == "rewards" else {}
    stop_at = {} if learned_from == "question_only" else {"stop_at": 90}
    info = {
        **{"format": 2, "model": model, "hop": f"pair-d{combinations}", "size": 9, "seed": palette},
        **{"settings": {}, "recipe": {"stages": [stage], **stop_at}, "precision": "float32"},
        **{"deterministic": False, "keep": {}, "features": {"kind": "attributes", "note": None}},
        **{"dataset": {}, "places": {"dataset": "there", "features": "there"}},
    }
    folder = out / "runs" / f"{learned_from}-{palette}-{combinations}"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(info))
    (folder / "finished.json").write_text(json.dumps({"updates": 100 * palette}))
    lines = [{"accuracy": 99.0}, {"accuracy": 91.0, "most_frequent": 30.0, **last}]
    log = [json.dumps({"tuned_on": "val_iid", **line}) + "\n" for line in lines]
    (folder / "log.jsonl").write_text("".join(log))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Three palettes; a run from labels collapsed, and one from rewards is below the question alone."""
    rows = []
    for learned_from, by_palette in OOD.items():
        name = "question_only" if learned_from == "question_only" else "object_transformer"
        name += " (recipe.train.objective=rewards)" if learned_from == "rewards" else ""
        for palette in (1, 2, 3):
            for combinations in (4, 16):
                last: dict[str, Any] = {"accuracy": 45.0} if learned_from == "question_only" else {}
                if (learned_from, palette, combinations) == ("labels", 3, 4):
                    last = {"accuracy": 50.0, "most_frequent": 95.0}
                if (learned_from, palette, combinations) == ("rewards", 3, 16):
                    last = {"accuracy": 44.0}
                write_run(tmp_path, learned_from, palette, combinations, **last)
                ood = by_palette if isinstance(by_palette, float) else by_palette[palette]
                ood += 20 * (combinations == 16)
                common = {"run": palette, "checkpoint": "last", "metric": "accuracy"}
                own = {**common, "hop": f"pair-d{combinations}", "trained_on": ""}
                rows += [
                    {**own, "model": name, "split": "complex_ood", "mean_percent": ood},
                    {**own, "model": name, "split": "complex_iid", "mean_percent": 90},
                    {**own, "model": f"{name}, best weights", "split": "complex_ood", "mean_percent": 0},
                    {**own, "model": name, "metric": "gap", "split": "complex_ood", "mean_percent": 0},
                ]
                if combinations == 16:
                    other = {**common, "hop": "pair-d4", "trained_on": "pair-d16", "model": name}
                    rows.append({**other, "split": "complex_ood", "mean_percent": ood + 1})
    (tmp_path / "report").mkdir()
    with (tmp_path / "report/results.csv").open("w", newline="") as file:
        written = csv.DictWriter(
            file, ["model", "metric", "split", "hop", "run", "checkpoint", "trained_on", "mean_percent"]
        )
        written.writeheader()
        written.writerows(rows)
    return tmp_path


def test_pairs_at_the_same_accuracy_are_compared_and_all_are_counted(out: Path) -> None:
    runs = read_runs(out)
    assert len(runs) == 18
    assert {(run.palette, run.combinations, run.learned_from) for run in runs if run.collapsed} == {
        (3, 4, "labels"),
        (3, 16, "rewards"),
    }
    assert [run.reached for run in runs if run.learned_from == "question_only"] == [""] * 6
    assert differences(runs, 4, "ood") == [4, 6], "palette 3 did not reach 90% from labels"
    assert differences(runs, 4, "ood", matched=False) == [4, 6, 1]
    assert differences(runs, 16, "gap") == [4, 6]
    assert {run.smallest_ood - run.ood for run in runs if run.combinations == 16} == {1}


def test_the_command_prints_the_comparison_and_writes_every_run(out: Path) -> None:
    lines = CliRunner().invoke(main, [str(out)], catch_exceptions=False).output.splitlines()
    assert lines[0] == "- from labels, 4 combinations: 3 runs, 2 reached the accuracy, 1 collapsed"
    # The mean of 4 and 6 with the t interval of two values; no two sign flips give a p below 0.5.
    assert "| 4 | 2 matched | ood | +5.0 [-7.7, +17.7] | 0.500 | 14.1 | +4.0, +6.0 |" in lines
    assert any(line.startswith("| 4 | 3 of all | ood | +3.7 ") for line in lines)
    with (out / "report/runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 18
    assert rows[0]["ood"] == "70.000"


def test_the_published_tables_are_those_of_the_published_runs() -> None:
    """Each row of docs/results.md is computed anew from docs/results_rewards.csv."""
    page = (DOCS / "results.md").read_text("utf-8").partition("## From rewards or from labels?")[2]
    with (DOCS / "results_rewards.csv").open(newline="", encoding="utf-8") as file:
        runs = [_run(row) for row in csv.DictReader(file)]
    of = {(run.combinations, run.palette, run.learned_from): run for run in runs}
    assert len(of) == 48
    for combinations in (4, 16):
        figures = [mean_slope(differences(runs, combinations, name)) for name in FIGURES]
        cells = [
            _signed(mean, 0 if name == "updates" else 1) for name, mean in zip(FIGURES, figures, strict=True)
        ]
        cells[0] += f" | {figures[0].p_value:.3f} | {figures[0].detectable:.1f}"
        assert f"\n| {combinations} | 8 | {' | '.join(cells)} |\n" in page
        for palette in range(1, 9):
            labels, rewards, alone = (
                of[combinations, palette, kind] for kind in ("labels", "rewards", "question_only")
            )
            row = " | ".join(
                (
                    *(f"{_accuracies(run)} ({run.updates:,})" for run in (labels, rewards)),
                    _accuracies(alone),
                    _minus(f"{rewards.ood - labels.ood:+.1f}"),
                )
            )
            assert f"\n| {combinations} | {palette} | {row} |\n" in page


def _run(row: dict[str, str]) -> Run:
    flags: dict[str, Any] = {"yes": True, "no": False}
    texts = {name: flags.get(text, text) for name, text in row.items()}
    numbers = {name: kind for name, kind in get_type_hints(Run).items() if kind in (int, float)}
    return Run(**texts | {name: kind(row[name]) for name, kind in numbers.items()})


def _accuracies(run: Run) -> str:
    return ", ".join(f"{value:.1f}" for value in (run.val_iid, run.iid, run.ood))


def _signed(mean: MeanSlope, digits: int) -> str:
    low, high = mean.interval.low, mean.interval.high
    return _minus(f"{mean.value:+,.{digits}f} [{low:+,.{digits}f}, {high:+,.{digits}f}]")


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")
