"""Reports of simulated runs: their numbers, the paper's beside them, figures, and what bad runs come to."""

import csv
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from simulated import HOP, LIMITED, cells_of, table_below, text_of, write_predictions, write_run

import clevrhope
from clevrhope.__main__ import run_command
from clevrhope.errors import DatasetError
from clevrhope.metrics.matched_gap import MatchedGap
from clevrhope.report import Result, Source, find_sources, measure, report
from clevrhope.report.failures import N_SHOWN, draw_failures
from clevrhope.report.tables import unmatched_cells
from wording import refused

IID_WRONG, OOD_WRONG = 0.1, 0.3
WRONG = {"complex_iid": IID_WRONG, "complex_ood": OOD_WRONG, "minimal_iid": 0.0, "minimal_ood": 0.25}


@pytest.fixture
def runs(dataset: Path, tmp_path: Path) -> Path:
    plain = {"model": "lxmert_p", "hop": HOP}
    for seed, more in ((1, 0.0), (2, 0.1)):
        wrong = {**WRONG, "complex_ood": OOD_WRONG + more}
        write_run(tmp_path / "runs", dataset, **plain, size=200, seed=seed, wrong=wrong)
        write_run(tmp_path / "runs", dataset, **plain, size=25_000, seed=seed, wrong=wrong)
    return tmp_path / "runs"


def row_of(text: str, *first: str) -> list[str]:
    """The cells of the only row that begins with these."""
    rows = [cells_of(line) for line in text.splitlines() if line[:1] == "|"]
    (row,) = [row for row in rows if tuple(row[: len(first)]) == first]
    return row


@pytest.mark.slow
def test_a_users_file_is_not_replaced(runs: Path, tmp_path: Path) -> None:
    name = "report.md"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("mine")
    with refused(DatasetError):
        report([runs], tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]
    assert (tmp_path / "out" / name).read_text() == "mine"
    report([runs], tmp_path / "new")
    made = report([runs], tmp_path / "new", title="Another")
    assert "Another" in made.markdown.read_text()


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
    cells = cells_of(row)
    assert cells[1] == cells[4] == gap
    assert cells[2:4] == ["", ""]  # the paper has no size 200
    # Of the paper the same pair, one of ten of this diversity: 63.26 - 66.62 in its tables 5 and 4.
    assert cells[5] == "\N{MINUS SIGN}3.4 (1 of 10 pairs)"
    assert cells[6] == "\N{MINUS SIGN}21.6"
    page = made.html.read_text()
    assert page.count("data:image/png;base64,") == len(made.figures) == 3
    assert "http" not in page
    rows = list(csv.DictReader(made.csv.read_text().splitlines()))
    own = [float(row["mean_percent"]) for row in rows if row["split"] == "complex_iid"]
    assert own == pytest.approx([100 - 100 * IID_WRONG] * 4)
    assert {row["metric"] for row in rows} == {"accuracy", "gap", "matched_gap"}


def test_a_page_begins_with_the_question_and_its_answer_and_ends_with_provenance(
    runs: Path, dataset: Path, tmp_path: Path
) -> None:
    question = "Does it compose?"
    made = report([runs], tmp_path / "out", title="Once more", question=question)
    lines = [line for line in text_of(made).splitlines() if line]
    assert lines[:2] == ["# Once more", question]
    assert lines[2].startswith(
        "lxmert_p, 25k: the gap (accuracy on complex_ood minus that on complex_iid, in points) is -25.0 ["
    )
    assert lines[2].endswith("] at diversity 6 (1 held-out pair).")
    assert lines[3] == "![All models, in and out of distribution](figures/overview.png)"
    headings = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert headings == ["lxmert_p", "Wrong answers about held-out pairs", "Runs", "Provenance"]
    told = text_of(made).split("Wrong answers about")[1].split("## Runs")[0]
    assert len([line for line in told.splitlines() if line.endswith(f"| {HOP} |")]) == 12
    predictions = next((tmp_path / "runs").glob("*/predictions/*.jsonl"))
    assert sha256(predictions.read_bytes()).hexdigest()[:12] in text_of(made)
    # The same failures are drawn again.
    again = report([runs], tmp_path / "again", title="Once more", question=question)
    assert again.markdown.read_text() == made.markdown.read_text()


def test_wrong_answers_are_wrong(runs: Path, dataset: Path) -> None:
    results, _ = measure(find_sources([runs])[0])
    found = draw_failures(results)
    assert len(found) == N_SHOWN
    key = {
        (row["question_text"], row["answer_text"]): None
        for row in clevrhope.load(dataset, HOP, "complex_ood", text=True)
    }
    for each in found:
        assert each.given != each.right
        assert (each.question, each.right) in key
        assert each.image is None


def test_figures_are_left_out_where_matplotlib_is_missing(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    made = report([runs], tmp_path / "out")
    assert made.figures == ()
    assert "Without figures: plots need matplotlib" in made.markdown.read_text()
    assert "Table 16." in made.markdown.read_text()
    assert run_command(["report", str(runs), "--out", str(tmp_path / "out")]) == 0
    assert "Without figures: plots need matplotlib" in capfd.readouterr().out


def test_collapsed_runs_are_told_and_left_out_of_a_second_mean(dataset: Path, tmp_path: Path) -> None:
    plain = {"model": "film", "hop": HOP, "size": 200}
    write_run(tmp_path / "runs", dataset, **plain, seed=1, wrong=WRONG)
    write_run(tmp_path / "runs", dataset, **plain, seed=2, wrong={**WRONG, "complex_iid": 0.9})
    # Of two runs of question_only, 40 and 50% right: a mean of 45.
    for seed, wrong in ((1, 0.6), (2, 0.5)):
        read = {**plain, "model": "question_only"}
        write_run(tmp_path / "runs", dataset, **read, seed=seed, wrong=dict.fromkeys(WRONG, wrong))
    text = report([tmp_path / "runs"], tmp_path / "out").markdown.read_text()
    assert "50.0 \N{PLUS-MINUS SIGN} 56.6 (2) / 90.0 (1) without 1 collapsed" in text
    assert f"| film | {HOP.replace('_', chr(92) + '_')} | 200 | 2 | 10.0 | 45.0 | question\\_only |" in text
    # Of question_only itself nothing beats question_only: its cells are grey.
    assert "| *(45.0 \N{PLUS-MINUS SIGN} 7.1 (2))* |" in text


@pytest.mark.parametrize("is_silent", [True, False])
def test_no_gap_is_given_where_no_run_beats_the_question_alone(
    is_silent: bool, dataset: Path, tmp_path: Path
) -> None:
    plain = {"hop": HOP, "size": 200, "seed": 1}
    write_run(tmp_path / "runs", dataset, model="question_only", **plain, wrong=dict.fromkeys(WRONG, 0.5))
    every = dict.fromkeys(WRONG, 1.0 if is_silent else 0.0)
    wrong = dict.fromkeys(WRONG, 0.8)
    write_run(tmp_path / "runs", dataset, model="film", **plain, wrong=wrong, unanswered=every)
    text = text_of(report([tmp_path / "runs"], tmp_path / "out"))
    why = (
        "the model gave no answer to any question"
        if is_silent
        else "accuracy on complex_iid does not beat the question-only baseline, so the model has not "
        "learned to look at images"
    )
    assert f"\nfilm, 200: nothing can be said about the gap, as {why}.\n" in text
    assert "All runs collapsed" in text.split("## film")[1].split("## ")[0]
    assert "gap of film, points" not in text
    assert "gap of question_only, points" in text


def test_minimal_sets_stand_beside_a_constant_answer(dataset: Path, tmp_path: Path) -> None:
    plain = {"model": "film", "hop": LIMITED, "size": 200, "seed": 1}
    write_run(tmp_path / "runs", dataset, **plain, wrong={"minimal_ood": 0.5})
    text = text_of(report([tmp_path / "runs"], tmp_path / "out"))
    cells = row_of(text.split("**Minimal sets, per cent**")[1].split("\n\n")[1], "film", LIMITED)
    assert cells[4].startswith("100.0 [")
    assert cells[6].startswith("50.0 [")
    assert cells[7] == "75.0"  # three images in four do not show the pair


def test_wrong_answers_are_as_many_of_each_run_and_none_is_no_word(dataset: Path, tmp_path: Path) -> None:
    plain = {"model": "film", "size": 200, "seed": 1}
    write_run(tmp_path / "runs", dataset, **plain, hop=HOP, wrong={"complex_ood": 0.2})
    write_run(tmp_path / "runs", dataset, **plain, hop=LIMITED, wrong={}, unanswered={"complex_ood": 0.9})
    write_run(tmp_path / "runs", dataset, **{**plain, "model": "question_only"}, hop=HOP, wrong=WRONG)
    found = draw_failures(measure(find_sources([tmp_path / "runs"])[0])[0])
    assert sorted(each.model for each in found) == ["film, diversity 4"] * 6 + ["film, diversity 6"] * 6
    assert {each.given for each in found if each.hop == LIMITED} == {"no answer"}


def test_a_report_within_a_dataset_is_refused(dataset: Path, runs: Path, capfd: Any) -> None:
    before = sorted(dataset.rglob("*"))
    for out in (dataset, dataset / "reports" / "first"):
        assert run_command(["report", str(runs), "--out", str(out)]) == 1
        assert f"{out}: within the dataset {dataset}, whose manifest lists all" in capfd.readouterr().err
    assert sorted(dataset.rglob("*")) == before


def test_controlled_diversity_has_means_over_palettes_with_intervals(dataset: Path, tmp_path: Path) -> None:
    """Two runs on a palette, and question_only of another train size."""
    plain = {"model": "film", "hop": LIMITED, "size": 200}
    write_run(tmp_path / "runs", dataset, **plain, seed=1, wrong={"complex_iid": 0.1, "complex_ood": 0.3})
    write_run(tmp_path / "runs", dataset, **plain, seed=2, wrong={"complex_iid": 0.1, "complex_ood": 0.5})
    blind = {**plain, "model": "question_only", "size": 100}
    write_run(tmp_path / "runs", dataset, **blind, seed=1, wrong={"complex_iid": 0.5, "complex_ood": 0.6})
    made = report([tmp_path / "runs"], tmp_path / "out")
    text = text_of(made)
    cells = row_of(text, "film", LIMITED, "4", "200", "1, 2")
    numbers = [cell.partition(" [")[0] for cell in cells[5:]]
    # One that is always right has (100 - 40) / (100 - 50).
    assert numbers == ["90.0", "60.0", "50.0", "40.0", "-30.0", "0.50", "1.20"]
    low, high = (float(each) for each in cells[5].partition(" [")[2].rstrip("]").split(", "))
    assert 70 < low < 90 < high <= 100
    assert "no runs of question_only at some train sizes" in text
    assert "200 (100)" in text
    for run, gap in (("1", "-20.0"), ("2", "-40.0")):
        of_run = row_of(text, "film", LIMITED, "4", "200", run)
        assert of_run[7].startswith(f"{gap} [")
    # What the matched gap leaves out, once for all runs of the pair.
    results, _ = measure(find_sources([tmp_path / "runs"])[0])
    one = next(each.matched for each in results if each.matched is not None)
    assert one.n_cells_unmatched > 0
    share = f"{100 * one.n_ood_unmatched / one.n_ood:.1f}%"
    beside = row_of(text.split("on the same OOD questions")[1].split("Minimal sets")[0], "film")
    assert beside[6:] == [f"{one.n_cells_unmatched} of {one.n_cells}", share]
    assert (tmp_path / "out/figures/diversity_200.png").is_file()


@pytest.mark.slow
def test_groups_with_collapsed_runs_have_a_row_without_them(dataset: Path, tmp_path: Path) -> None:
    """What the question alone gives, 68%, is more than the mean of 90 and 40%, and than the second run."""
    plain = {"model": "film", "hop": LIMITED, "size": 200}
    ood = {"complex_ood": 0.3}
    write_run(tmp_path / "runs", dataset, **plain, seed=1, wrong={"complex_iid": 0.1, **ood})
    fallen = {"complex_iid": 0.6, **ood}
    write_run(tmp_path / "runs", dataset, **plain, seed=2, wrong=fallen)
    reader = {**plain, "model": "question_only"}
    write_run(tmp_path / "runs", dataset, **reader, seed=1, wrong={"complex_iid": 0.32, **ood})
    text = text_of(report([tmp_path / "runs"], tmp_path / "out"))
    place = ("film", LIMITED, "4", "200")
    assert "is -20.0 [" in text.split("\n![")[0]
    assert "at diversity 4 (1 palette, without 1 collapsed run)." in text
    table = text.split("Plain and matched")[0]
    assert row_of(table, *place, "1, 2")[5].startswith("*(65.0 [")
    without = row_of(table, *place, "1, 1 without 1 collapsed")
    assert without[5].startswith("90.0 [")
    assert without[9].startswith("-20.0 [")
    runs = text.split("Every run")[1]
    assert row_of(runs, "film", LIMITED, "4", "200", "2, collapsed")[5].startswith("*(40.0")
    assert row_of(runs, "film", LIMITED, "4", "200", "1")[5].startswith("90.0")


def test_cells_without_a_match_count_once_for_each_pair() -> None:
    def result(hop: str, run: str, **counted: int) -> Result:
        gap = {"n_cells": 60, "n_cells_unmatched": 50, "n_ood": 100, "n_ood_unmatched": 80, "n_iid": 20}
        matched = MatchedGap(points=None, plain=None, **{**gap, **counted})
        source = Source(Path("p"), Path("d"), "film", Path("r"))
        return Result(source, "film", "last", hop, hop, (), 6, "", 200, run, {}, matched=matched)

    def told(*results: Result) -> list[str]:
        return unmatched_cells(results)

    assert told(result(HOP, "1"), result(HOP, "2")) == ["50 of 60", "80.0%"]
    assert told(result(HOP, "1", n_cells=9, n_ood=9), result(HOP, "2")) == ["50 of 60", "80.0%"], "the fuller"
    assert told(result(HOP, "1"), result("cyan_cube", "1", n_cells_unmatched=10)) == ["60 of 120", "80.0%"]
    assert told() == ["", ""]


def test_notes_are_told_of_controlled_diversity_too(dataset: Path, tmp_path: Path) -> None:
    note = "true boxes, not the paper's"
    plain = {"hop": LIMITED, "size": 200, "seed": 1, "wrong": {}}
    write_run(tmp_path / "runs", dataset, model="lxmert_s", **plain, note=note)
    write_run(tmp_path / "runs", dataset, model="film", **plain)
    made = report([tmp_path / "runs"], tmp_path / "out")
    assert "The predictions of lxmert_s come with this note: true boxes, not the paper's." in text_of(made)
    rows = list(csv.DictReader(made.csv.read_text().splitlines()))
    assert {(row["model"], row["note"]) for row in rows} == {("lxmert_s", note), ("film", "")}


def test_questions_without_an_answer_are_counted_by_run_and_test_set(dataset: Path, tmp_path: Path) -> None:
    plain = {"model": "tensor_nmn", "hop": HOP, "size": 200, "wrong": {"complex_ood": 0.5}}
    silent = {"complex_iid": 0.05, "complex_ood": 0.25}
    write_run(tmp_path / "runs", dataset, **plain, seed=1, unanswered=silent)
    write_run(tmp_path / "runs", dataset, **plain, seed=2)
    made = report([tmp_path / "runs"], tmp_path / "out")
    assert table_below(text_of(made), "Questions without an answer") == [
        ["model", "held-out pair", "train size", "run", "complex_iid", "complex_ood"],
        ["tensor_nmn", HOP, "200", "1", "10 of 200 (5.0%)", "25 of 100 (25.0%)"],
    ]
    rows = list(csv.DictReader(made.csv.read_text().splitlines()))
    told = {(row["run"], row["split"]): row["unanswered"] for row in rows if row["metric"] == "accuracy"}
    assert (told["1", "complex_iid"], told["1", "complex_ood"], told["2", "complex_ood"]) == ("10", "25", "0")
    assert {row["mean_percent"] for row in rows if row["split"] == "complex_ood"} == {"25.0000", "50.0000"}


@pytest.mark.slow
def test_failed_runs_are_told_of(runs: Path, tmp_path: Path) -> None:
    failures = ["train-film-1: the loss is NaN at update 7", "evaluate-film-2: killed"]
    text = report([runs], tmp_path / "out", failures=failures).markdown.read_text()
    assert f"Runs that failed: {failures[0]}; {failures[1]}." in text
    assert "Runs that failed" not in report([runs], tmp_path / "again").markdown.read_text()


@pytest.mark.slow
def test_other_peoples_predictions_fit_in(dataset: Path, runs: Path, tmp_path: Path, capfd: Any) -> None:
    theirs = write_predictions(tmp_path / "p.jsonl", dataset, HOP, WRONG, note="not trained on the splits")
    arguments = ["report", str(runs), f"somebody={theirs}", "--dataset", str(dataset), "--out"]
    assert run_command([*arguments, str(tmp_path / "out")]) == 0
    assert "5 sets of predictions" in capfd.readouterr().out
    text = (tmp_path / "out" / "report.md").read_text()
    assert "Complex gap of somebody, points" in text
    assert "The predictions of somebody come with this note: not trained on the splits." in text
    assert run_command(["report", str(theirs), "--out", str(tmp_path / "out")]) == 2
    assert "name it with --dataset DIR" in capfd.readouterr().err


def test_one_set_of_predictions_is_one(dataset: Path, tmp_path: Path, capfd: Any) -> None:
    theirs = write_predictions(tmp_path / "p.jsonl", dataset, HOP, WRONG)
    out = tmp_path / "out"
    assert run_command(["report", f"me={theirs}", "--dataset", str(dataset), "--out", str(out)]) == 0
    assert "report.html: 1 set of predictions, 1 figure\n" in capfd.readouterr().out
    assert "\n1 set of predictions of 1 model on 1 held-out pair. " in (out / "report.md").read_text()


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
    assert f"{first / 'run.json'}:1:" in told
    assert f"{second}: no predictions yet; make them with clevrhope evaluate {second}" in told
    assert 'did you mean "complex_ood"' in told
    sources, _ = find_sources([fourth])
    assert len(measure(sources)[0]) == 1

    for path in runs.iterdir():
        (path / "run.json").unlink()
    assert run_command(["report", str(runs), "--out", str(tmp_path / "out")]) == 2
    assert "no run there" in capfd.readouterr().err
