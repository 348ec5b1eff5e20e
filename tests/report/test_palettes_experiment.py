"""An experiment on palettes from build to report, on true attributes, with steps that run in this process."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install clevrhope[train]")
pytest.importorskip("scipy", reason="scipy is not installed: pip install clevrhope[plots]")

from experiment_grid import FILES, plan_of, run_here
from simulated import cells_of

from clevrhope.experiments.run import run_experiment

PALETTES = (FILES / "palettes.toml").read_text("utf-8")
SMALLEST = "cyan_cylinder-d4"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_palettes_from_build_to_report(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plan = plan_of(tmp_path / "palettes.toml", text=PALETTES)
    run_here(plan)
    made = run_experiment(plan)
    assert (made.n_runs, made.n_done, made.n_new, made.failures) == (8, 8, 0, ())
    capfd.readouterr()

    # Each run at 8 combinations has answered the same palette's questions at 4, with its chosen checkpoints.
    for run in plan.runs:
        about = json.loads((run.folder / "run.json").read_text())
        other = sorted(run.folder.glob("other_hops/*/predictions/*"))
        names = {path.name.partition(".")[0] for path in other}
        if about["hop"] == SMALLEST:
            assert not other
        elif about["model"] == "question_only":
            assert names == {"last"}
        else:
            assert names == {"train-0000030", "train-0000060", "last"}
        found = [row for path in other for row in rows(path)]
        assert {(row["hop"], row["split"]) for row in found} <= {(SMALLEST, "complex_ood")}
        assert len(found) == 60 * len(other)
        assert (run.folder / "reached.json").exists() == (about["model"] == "object_transformer")

    assert made.report is not None
    text = made.report.with_suffix(".md").read_text().replace("\\", "")
    (slopes,) = [part for part in text.split("Slopes of ") if part.startswith("object_transformer on cyan")]
    primary = f"| complex_ood of the palette's {SMALLEST[-1]} combinations"
    assert f"{primary}, % | 2 | " in slopes
    assert f"{primary}, where the tuning set is first at 1%, % | 2 | " in slopes
    # Both palettes are means of one row, beside what the question alone gives.
    table = text.partition("Accuracy and gap")[2].partition("Plain and matched")[0]
    for diversity in (4, 8):
        begin = f"| object_transformer | cyan_cylinder-d{diversity} | {diversity} | 900 | 2, 2 |"
        (row,) = [line for line in table.splitlines() if line.startswith(begin)]
        cells = [cell.strip("*()") for cell in cells_of(row)]
        assert all("[" in cell for cell in cells[6:11]), "each figure has its interval"
        assert cells[11], "there is a transfer, as the question alone gives less than the model"
    assert "are not seeds of each other" not in text, "palettes are replicates"
    assert "there are no runs of question_only" not in text
