"""Reports of simulated runs: their numbers, the paper's beside them, figures, and what bad runs come to."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from building import request
from simulated import write_predictions, write_run

from clevrhope.build import Limits, build
from clevrhope.cli import run_command
from clevrhope.report import find_sources, measure, report

HOP = "rubber_cylinder"
IID_WRONG, OOD_WRONG = 0.1, 0.3
WRONG = {"complex_iid": IID_WRONG, "complex_ood": OOD_WRONG, "minimal_iid": 0.0, "minimal_ood": 0.25}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain pair, and another one at diversity 4."""
    out = tmp_path_factory.mktemp("reported") / "data"
    sizes = {"train": 200, "complex_iid": 200, "complex_ood": 100}
    asked = request(out, sizes=sizes, render=False, question_json=False)
    build(asked)
    build(replace(asked, hops=("cyan_cylinder",), limits=Limits(diversities=(4,), mode="grid")))
    return out


@pytest.fixture
def runs(dataset: Path, tmp_path: Path) -> Path:
    plain = {"model": "lxmert_p", "hop": HOP}
    for seed, more in ((1, 0.0), (2, 0.1)):
        wrong = {**WRONG, "complex_ood": OOD_WRONG + more}
        write_run(tmp_path / "runs", dataset, **plain, size=200, seed=seed, wrong=wrong)
        write_run(tmp_path / "runs", dataset, **plain, size=25_000, seed=seed, wrong=wrong)
    return tmp_path / "runs"


def test_a_report_has_our_numbers_and_the_papers(runs: Path, tmp_path: Path) -> None:
    made = report([runs], tmp_path / "out")
    assert (made.n_results, made.skipped) == (4, ())
    text = made.markdown.read_text()
    gap = "\N{MINUS SIGN}25.0 \N{PLUS-MINUS SIGN} 5.0 (2)"
    assert "Table 4. Accuracy of lxmert_p on complex_iid, per cent" in text
    assert "Table 16. Complex gap of lxmert_p, points" in text
    (row,) = [
        line for line in text.split("Table 16.")[1].split("Table 17.")[0].splitlines() if line[:4] == "| 6 "
    ]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1] == cells[4] == gap
    assert cells[2:4] == ["", ""]  # the paper has no size 200
    theirs = cells[5].split(" ")[0].replace("\N{MINUS SIGN}", "-")
    assert float(cells[6].replace("\N{MINUS SIGN}", "-")) == pytest.approx(-25 - float(theirs), abs=0.11)
    page = made.html.read_text()
    assert page.count("data:image/png;base64,") == len(made.figures) == 4
    assert "http" not in page
    rows = list(csv.DictReader(made.csv.read_text().splitlines()))
    own = [float(row["mean_percent"]) for row in rows if row["split"] == "complex_iid"]
    assert own == pytest.approx([100 - 100 * IID_WRONG] * 4)
    assert {row["metric"] for row in rows} == {"accuracy", "gap", "matched_gap"}


def test_figures_are_left_out_where_matplotlib_is_missing(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    made = report([runs], tmp_path / "out")
    assert made.figures == ()
    assert "Without figures: plots need matplotlib" in made.markdown.read_text()
    assert "Table 16." in made.markdown.read_text()


def test_collapsed_runs_are_told_and_left_out_of_a_second_mean(dataset: Path, tmp_path: Path) -> None:
    plain = {"model": "film", "hop": HOP, "size": 200}
    write_run(tmp_path / "runs", dataset, **plain, seed=1, wrong=WRONG)
    write_run(tmp_path / "runs", dataset, **plain, seed=2, wrong={**WRONG, "complex_iid": 0.9})
    # Of two runs of question_only, 40 and 50% right: a mean of 45.
    for seed, wrong in ((1, 0.6), (2, 0.5)):
        read = {**plain, "model": "question_only"}
        write_run(tmp_path / "runs", dataset, **read, seed=seed, wrong=dict.fromkeys(WRONG, wrong))
    text = report([tmp_path / "runs"], tmp_path / "out").markdown.read_text()
    assert "50.0 \N{PLUS-MINUS SIGN} 40.0 (2) / 90.0 (1) without 1 collapsed" in text
    assert f"| film | {HOP.replace('_', chr(92) + '_')} | 200 | 2 | 10.0 | 45.0 | question\\_only |" in text
    # Of question_only itself nothing beats question_only: its cells are grey.
    assert "| *(45.0 \N{PLUS-MINUS SIGN} 5.0 (2))* |" in text


def test_late_checkpoints_and_least_accuracy_of_controlled_diversity(dataset: Path, tmp_path: Path) -> None:
    plain = {"model": "tensor_nmn", "hop": "cyan_cylinder-d4-grid", "size": 200, "wrong": WRONG}
    files = ("last.true_programs", "engine-0000100.true_programs", "engine.true_programs", "last.predict")
    write_run(tmp_path / "runs", dataset, **plain, seed=1, files=files)
    write_run(tmp_path / "runs", dataset, **{**plain, "wrong": {"complex_iid": 0.5}}, seed=2, files=files)
    made = report([tmp_path / "runs"], tmp_path / "out", least_iid=85, ways=["true_programs"])
    text = made.markdown.read_text().replace("\\", "")
    (row,) = [
        each
        for each in text.splitlines()
        if each.startswith("| cyan_cylinder, grid, 4 | tensor_nmn, true programs | 200 | 1 of 2")
    ]
    assert "| 90.0 (1) | \N{MINUS SIGN}20.0 (\N{MINUS SIGN}20.0 to \N{MINUS SIGN}20.0) |" in row
    assert "| tensor_nmn, true programs | 200 | 1 | 2 | 90.0 | 70.0 |" in text, "two late checkpoints"
    assert "tensor_nmn, true programs, after stage engine" in text
    assert (tmp_path / "out" / "figures" / "diversity_tensor_nmn__true_programs.png").is_file()


def test_other_peoples_predictions_fit_in(dataset: Path, runs: Path, tmp_path: Path, capfd: Any) -> None:
    theirs = write_predictions(tmp_path / "p.jsonl", dataset, HOP, WRONG, note="not trained on the splits")
    arguments = ["report", str(runs), f"somebody={theirs}", "--dataset", str(dataset), "--out"]
    assert run_command([*arguments, str(tmp_path / "out")]) == 0
    assert "5 sets of predictions" in capfd.readouterr().out
    text = (tmp_path / "out" / "report.md").read_text()
    assert "Complex gap of somebody, points" in text
    assert "Not trained on the splits: somebody" in text
    assert run_command(["report", str(theirs), "--out", str(tmp_path / "out")]) == 2
    assert "name it with --dataset DIR" in capfd.readouterr().err


def test_runs_that_are_not_whole_are_told_and_the_others_reported(
    dataset: Path, runs: Path, tmp_path: Path, capfd: Any
) -> None:
    first, second, third, fourth = sorted(runs.iterdir())
    (first / "run.json").write_text('{"model": "lxmert_p"')
    (second / "predictions" / "last.predict.jsonl").unlink()
    lines = (third / "predictions" / "last.predict.jsonl").read_text()
    (third / "predictions" / "last.predict.jsonl").write_text(lines.replace("complex_ood", "complex_odd"))
    assert run_command(["report", str(runs), "--out", str(tmp_path / "out")]) == 0
    told = capfd.readouterr().err
    assert f"{first / 'run.json'}: cannot be read" in told
    assert f"{second}: no predictions yet; clevrhope evaluate {second}" in told
    assert 'did you mean "complex_ood"' in told
    sources, _ = find_sources([fourth])
    assert len(measure(sources)[0]) == 1

    for path in runs.iterdir():
        (path / "run.json").unlink()
    assert run_command(["report", str(runs), "--out", str(tmp_path / "out")]) == 2
    assert "no run there" in capfd.readouterr().err
