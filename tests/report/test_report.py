"""Reports of simulated runs: their numbers, the paper's beside them, figures, and what bad runs come to."""

import csv
import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
from building import Cli
from simulated import (
    HOP,
    LIMITED,
    check_part,
    made_result,
    rows_of_file,
    table_below,
    text_of,
    write_predictions,
    write_rows,
    write_run,
)

import clevrhope
from clevrhope.errors import DatasetError, printable
from clevrhope.metrics.matched_gap import MatchedGap
from clevrhope.report import Result, find_sources, measure, report
from clevrhope.report.failures import N_SHOWN, draw_failures
from clevrhope.report.tables import unmatched_cells
from wording import check_refused, check_words

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


@pytest.mark.slow
def test_a_users_file_is_not_replaced(runs: Path, tmp_path: Path) -> None:
    name = "report.md"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("mine")
    check_refused(DatasetError, report, [runs], tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]
    assert (tmp_path / "out" / name).read_text() == "mine"
    report([runs], tmp_path / "new")
    made = report([runs], tmp_path / "new", title="Another")
    assert "Another" in made.markdown.read_text()


def test_a_report_has_our_numbers_and_the_papers(runs: Path, tmp_path: Path) -> None:
    made = report([runs], tmp_path / "out")
    assert (made.n_results, made.skipped) == (4, ())
    # Our gaps are -25 +- 5. The paper has no size 200; of 25k it has the same pair, one of ten of this
    # diversity: 63.26 - 66.62 in its tables 5 and 4.
    check_part(text_of(made), "\n## lxmert_p")
    page = made.html.read_text()
    assert re.search(r"In all rows: .*held-out pair</span> = rubber_cylinder", page)
    assert page.count("<figure aria-label=") == len(made.figures) == 3
    assert not re.search(r"(src|href)=\"?http|url\(.?http", page), "nothing is loaded from elsewhere"
    assert set(re.findall(r'<a href="#(.*?)"', page)) == set(re.findall(r'<h2 id="(.*?)"', page))
    rows = list(csv.DictReader(made.csv.read_text().splitlines()))
    own = [float(row["mean_percent"]) for row in rows if row["split"] == "complex_iid"]
    assert own == pytest.approx([100 - 100 * IID_WRONG] * 4)
    of_groups = {"group_accuracy", "smaller_group_accuracy"}
    assert {row["metric"] for row in rows} == {"accuracy", "gap", "matched_gap", *of_groups}
    assert all(int(row["n"]) > 0 for row in rows)


def test_a_page_begins_with_the_question_and_its_answer_and_ends_with_provenance(
    runs: Path, dataset: Path, tmp_path: Path
) -> None:
    question = "Does it compose?"
    made = report([runs], tmp_path / "out", title="Once more", question=question)
    check_part(text_of(made), "# ", "overview.svg")
    headings = [line for line in text_of(made).splitlines() if line.startswith("## ")]
    check_words("\n".join(headings))
    told = text_of(made).split("Wrong answers about")[1].split("## Runs")[0]
    assert len([line for line in told.splitlines() if f"| {HOP} |" in line]) == 12
    predictions = next((tmp_path / "runs").glob("*/predictions/*.jsonl"))
    assert sha256(predictions.read_bytes()).hexdigest()[:12] in text_of(made)
    # The same failures are drawn again.
    again = report([runs], tmp_path / "again", title="Once more", question=question)
    assert again.markdown.read_text() == made.markdown.read_text()


def test_text_of_others_is_neither_a_formula_nor_markup(cli: Cli, dataset: Path, tmp_path: Path) -> None:
    model, note = "=1+cmd|'x'!A1", "-2+3 <img src=x> [a](b) **c** `d` _e_\x1b[2J\rx"
    write_run(tmp_path / "runs", dataset, model=model, hop=HOP, size=200, seed=1, wrong=WRONG, note=note)
    said = cli("report", tmp_path / "runs", "--out", tmp_path / "out")
    with (tmp_path / "out/results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["model"] for row in rows} == {f"'{model}"}
    assert {row["note"] for row in rows} == {"'" + printable(note)}
    (gap,) = (row["mean_percent"] for row in rows if (row["metric"], row["split"]) == ("gap", "complex"))
    assert float(gap) == pytest.approx(-20, abs=1)
    text = (tmp_path / "out/report.md").read_text()
    assert r"\<img src=x> [a\](b) \*\*c\*\* \`d\` \_e\_\\x1b[2J x" in text
    assert r"\|'x'!A1 |" in text
    assert not re.search(r"(?<!\\)<img|\x1b", text + said.out + said.err)
    (path,) = (tmp_path / "runs").glob("*/predictions/*.jsonl")
    scores = cli("score", dataset, path, "--hop", HOP, "--quiet")
    assert r"\x1b[2J\rx" in scores.out
    assert not {"\x1b", "\r"} & {*scores.out, *scores.err}


def test_nothing_empty_is_promised(dataset: Path, tmp_path: Path) -> None:
    """One run and no question_only, as in README: no empty columns, and no words about what is not there."""
    write_run(tmp_path / "runs", dataset, model="film", hop=HOP, size=200, seed=1, wrong=WRONG)
    text = text_of(report([tmp_path / "runs"], tmp_path / "out"))
    tables = [part.splitlines() for part in text.split("\n\n") if part.startswith("| ")]
    assert len(tables) > 5
    for head, _, *rows in tables:
        columns = zip(*([cell.strip() for cell in row.split(" | ")] for row in rows), strict=True)
        assert all(any(cells) for cells in columns), head
    assert "transfer" not in text
    assert "1 run; how much runs differ is not known" in text
    assert text.count("] by family") == 2, "the baseline that stands in is marked"


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
        assert each.image.startswith("data:image/svg+xml,"), "a sketch, as nothing is rendered"
        assert each.boxes, "every OOD image shows the pair"
        assert each.command == f"clevrhope browse data --question {HOP}/complex_ood/{each.row}"
        shown = clevrhope.load(dataset, HOP, "complex_ood", text=True)[each.row]
        assert shown["question_text"] == each.question


def test_letters_of_figures_are_texts_and_panels_are_parts_with_all_their_labels(
    runs: Path, tmp_path: Path
) -> None:
    made = report([runs], tmp_path / "out")
    pairs = next(path for path in made.figures if path.stem == "pairs_lxmert_p").read_text()
    assert len(re.findall(r"<text[^>]*>accuracy, %</text>", pairs)) == 4, "each panel has the shared label"
    figure = made.html.read_text().split('<figure aria-label="Accuracy of lxmert_p')[1].split("</figure>")[0]
    panels = figure.split("<svg ")[1:]
    assert ["complex_iid</text>" in panel for panel in panels] == [True, False, False, False, False]
    assert all(">accuracy, %</text>" in panel for panel in panels[:4])
    assert ">diversity 6</text>" in panels[4]
    again = report([runs], tmp_path / "again")
    assert [path.read_bytes() for path in again.figures] == [path.read_bytes() for path in made.figures]


def test_a_model_without_the_papers_numbers_has_one_table(dataset: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        write_run(tmp_path / "runs", dataset, model="film", hop=HOP, size=200, seed=seed, wrong=WRONG)
    made = report([tmp_path / "runs"], tmp_path / "out")
    own = text_of(made).split("## film")[1].split("## Wrong")[0]
    assert own.count("| held-out pair |") == own.count("|---|") == 1
    title = "Accuracy and gaps of film by held-out pair, in per cent and points"
    head, row = table_below(text_of(made), title)
    assert head[3:] == [
        "complex_iid",
        "complex_ood",
        "minimal_iid",
        "minimal_ood",
        "complex gap",
        "minimal gap",
    ]
    cells = dict(zip(head, row, strict=True))
    assert cells["held-out pair"] == HOP
    assert cells["minimal gap"] == "-25.0 \N{PLUS-MINUS SIGN} 0.0 (2)"
    terms = dict(table_below(text_of(made), "Terms in the heads of tables")[1:])
    assert "transfer if always right" not in terms, "only terms that a table has"
    assert f'<span title="{terms["minimal gap"]}">minimal gap' in made.html.read_text()


def test_figures_are_left_out_where_matplotlib_is_missing(
    cli: Cli, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    made = report([runs], tmp_path / "out")
    assert made.figures == ()
    assert "Without figures and tests of slopes: plots need matplotlib" in made.markdown.read_text()
    assert "Table 16." in made.markdown.read_text()
    told = cli("report", runs, "--out", tmp_path / "out").out
    assert "Without figures and tests of slopes: plots need matplotlib" in told


def test_collapsed_runs_are_told_and_left_out_of_a_second_mean(dataset: Path, tmp_path: Path) -> None:
    plain = {"model": "film", "hop": HOP, "size": 200}
    write_run(tmp_path / "runs", dataset, **plain, seed=1, wrong=WRONG)
    write_run(tmp_path / "runs", dataset, **plain, seed=2, wrong={**WRONG, "complex_iid": 0.9})
    # Of two runs of question_only, 40 and 50% right: a mean of 45.
    for seed, wrong in ((1, 0.6), (2, 0.5)):
        read = {**plain, "model": "question_only"}
        write_run(tmp_path / "runs", dataset, **read, seed=seed, wrong=dict.fromkeys(WRONG, wrong))
    text = text_of(report([tmp_path / "runs"], tmp_path / "out"))
    for table in ("Accuracy and gaps of film", "Accuracy and gaps of question_only", "Every run"):
        check_part(text, f"**{table}", "\n**")


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
    check_part(text, "\nfilm, 200: ", "\n")
    check_part(text, "\n## film")
    assert "Accuracy and gaps of question_only by held-out pair" in text


def test_minimal_sets_stand_beside_a_constant_answer(dataset: Path, tmp_path: Path) -> None:
    plain = {"model": "film", "hop": LIMITED, "size": 200, "seed": 1}
    write_run(tmp_path / "runs", dataset, **plain, wrong={"minimal_ood": 0.5})
    text = text_of(report([tmp_path / "runs"], tmp_path / "out"))
    check_part(text, "**Minimal sets, per cent**", "\n\n![")  # three images in four do not show the pair


def test_minimal_figures_have_intervals_though_some_draws_have_none_of_their_places(
    cli: Cli, dataset: Path, tmp_path: Path
) -> None:
    """Eight questions at two places were answered, five rightly; score, page and CSV have one interval."""
    wrong = {"minimal_ood": 0.2, "complex_ood": 0.3}
    path = write_predictions(tmp_path / "some.jsonl", dataset, HOP, wrong, model="film", train_size=200)
    rows = [row for row in rows_of_file(path) if row["split"] != "minimal_ood" or row["question_index"] < 8]
    write_rows(path, rows)
    made = report([path], tmp_path / "out", dataset=dataset)
    cells = table_below(text_of(made), "Minimal sets, per cent")
    gap = dict(zip(*cells, strict=True))["minimal gap, points"]
    of_csv = {(row["metric"], row["split"]): row for row in csv.DictReader(made.csv.read_text().splitlines())}
    scores = cli(
        "score", dataset, path, "--hop", HOP, "--partial", "--seed", 0, "--bootstrap", 1000, "--json"
    )
    of_score = json.loads(scores.out)["conditions"][0]["mean"]["gaps"]["minimal"]
    low, high = (of_score["interval"][end] for end in ("low", "high"))
    assert low < of_score["points"] < high
    assert [float(of_csv["gap", "minimal"][end]) for end in ("low", "high")] == pytest.approx(
        [low, high], 1e-4
    )
    assert gap == f"{of_score['points']:+.1f} [{low:+.1f}, {high:+.1f}]"


def test_wrong_answers_are_as_many_of_each_run_and_none_is_no_word(dataset: Path, tmp_path: Path) -> None:
    plain = {"model": "film", "size": 200, "seed": 1}
    write_run(tmp_path / "runs", dataset, **plain, hop=HOP, wrong={"complex_ood": 0.2})
    write_run(tmp_path / "runs", dataset, **plain, hop=LIMITED, wrong={}, unanswered={"complex_ood": 0.9})
    write_run(tmp_path / "runs", dataset, **{**plain, "model": "question_only"}, hop=HOP, wrong=WRONG)
    found = draw_failures(measure(find_sources([tmp_path / "runs"])[0])[0])
    assert sorted(each.model for each in found) == ["film, diversity 4"] * 6 + ["film, diversity 6"] * 6
    assert {each.given for each in found if each.hop == LIMITED} == {"no answer"}


def test_a_report_within_a_dataset_is_refused(cli: Cli, dataset: Path, runs: Path) -> None:
    before = sorted(dataset.rglob("*"))
    for out in (dataset, dataset / "reports" / "first"):
        told = cli("report", runs, "--out", out, code=2).err
        assert f"{out}: is within the dataset {dataset}, whose manifest lists all" in told
    assert sorted(dataset.rglob("*")) == before


def test_controlled_diversity_has_means_over_palettes_with_intervals(dataset: Path, tmp_path: Path) -> None:
    """Two runs on a palette, and question_only of another train size.

    The transfer is 0.5; one that is always right has (100 - 40) / (100 - 50) = 1.2.
    """
    plain = {"model": "film", "hop": LIMITED, "size": 200}
    write_run(tmp_path / "runs", dataset, **plain, seed=1, wrong={"complex_iid": 0.1, "complex_ood": 0.3})
    write_run(tmp_path / "runs", dataset, **plain, seed=2, wrong={"complex_iid": 0.1, "complex_ood": 0.5})
    blind = {**plain, "model": "question_only", "size": 100}
    write_run(tmp_path / "runs", dataset, **blind, seed=1, wrong={"complex_iid": 0.5, "complex_ood": 0.6})
    text = text_of(report([tmp_path / "runs"], tmp_path / "out"))
    low, high = (float(each) for each in text.split("| 90.0 [")[1].partition("]")[0].split(", "))
    assert 70 < low < 90 < high <= 100
    check_part(text, "at some train sizes", "**Minimal sets")
    check_part(text, "**Every run**", "\n**")
    assert (tmp_path / "out/figures/diversity_200.svg").is_file()


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
    check_part(text, "# ", "\n![")
    check_part(text, "**Accuracy and gap**", "\n**")
    check_part(text, "**Every run**", "\n**")


def test_cells_without_a_match_count_once_for_each_pair() -> None:
    def result(hop: str, run: str, **counted: int) -> Result:
        gap = {"n_cells": 60, "n_cells_unmatched": 50, "n_ood": 100, "n_ood_unmatched": 80, "n_iid": 20}
        matched = MatchedGap(points=None, plain=None, **{**gap, **counted})
        return made_result(hop=hop, run=run, matched=matched)

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
    assert " predictions are no answer, as the program is ill-formed" in text_of(made)
    assert "they count as wrong (tensor_nmn; results.csv" in text_of(made)
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
def test_other_peoples_predictions_fit_in(cli: Cli, dataset: Path, runs: Path, tmp_path: Path) -> None:
    theirs = write_predictions(tmp_path / "p.jsonl", dataset, HOP, WRONG, note="not trained on the splits")
    told = cli("report", runs, f"somebody={theirs}", "--dataset", dataset, "--out", tmp_path / "out").out
    assert "5 sets of predictions" in told
    text = (tmp_path / "out" / "report.md").read_text()
    assert "Accuracy and gaps of somebody by held-out pair" in text
    assert "The predictions of somebody come with this note: not trained on the splits." in text
    assert "name it with --dataset DIR" in cli("report", theirs, "--out", tmp_path / "out", code=2).err


def test_one_set_of_predictions_is_one(cli: Cli, dataset: Path, tmp_path: Path) -> None:
    theirs = write_predictions(tmp_path / "p.jsonl", dataset, HOP, WRONG)
    out = tmp_path / "out"
    told = cli("report", f"me\udcff={theirs}", "--dataset", dataset, "--out", out).out
    assert "| me\\\\udcff |" in (out / "report.md").read_text()  # bytes of a terminal that are not UTF-8
    assert "report.html: 1 set of predictions, 1 figure\n" in told
    assert "\n1 set of predictions of 1 model on 1 held-out pair. " in (out / "report.md").read_text()


def test_runs_that_are_not_whole_are_told_and_the_others_reported(
    cli: Cli, runs: Path, tmp_path: Path
) -> None:
    first, second, third, fourth = sorted(runs.iterdir())
    (first / "run.json").write_text('{"model": "lxmert_p"')
    (second / "predictions" / "last.predict.jsonl").unlink()
    lines = (third / "predictions" / "last.predict.jsonl").read_text()
    (third / "predictions" / "last.predict.jsonl").write_text(lines.replace("complex_ood", "complex_odd"))
    told = cli("report", runs, "--out", tmp_path / "out").err
    assert f"{first / 'run.json'}:1:" in told
    assert f"{second}: no predictions yet; make them with clevrhope evaluate {second}" in told
    assert 'did you mean "complex_ood"' in told
    sources, _ = find_sources([fourth])
    assert len(measure(sources)[0]) == 1

    for path in runs.iterdir():
        (path / "run.json").unlink()
    assert "no run there" in cli("report", runs, "--out", tmp_path / "out", code=2).err


def test_a_report_names_the_instructions_that_models_were_asked_with(dataset: Path, tmp_path: Path) -> None:
    """Files of one model that were asked in different ways are no runs of the same kind."""
    files = []
    for model, label in (("a", "short-1"), ("a", "think-1"), ("b", "think-1"), ("c", None)):
        more = {"model": model, **({"instruction": label} if label else {})}
        files.append(write_predictions(tmp_path / f"{model}{label}.jsonl", dataset, HOP, {}, **more))
    one = report(files[:1], tmp_path / "one", dataset=dataset).markdown.read_text()
    assert "The instruction short-1 followed each question to a." in one
    assert "Accuracies with different instructions" not in one
    several = report(files, tmp_path / "several", dataset=dataset)
    text = several.markdown.read_text()
    assert "The instruction think-1 followed each question to a (instruction=think-1), b." in text
    assert "Accuracies with different instructions cannot be compared" in text
    with several.csv.open() as table:
        assert {row["model"] for row in csv.DictReader(table)} == {
            *("a (instruction=short-1)", "a (instruction=think-1)", "b", "c")
        }
