"""Reports of predictions about sets of images alone: title, progress, scores that are not defined."""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from simulated import write_rows

from clevrhope.config.presets import PRESETS
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS, SETS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.vocab import read_vocab
from clevrhope.metrics.published import covr_results
from clevrhope.metrics.text_tables import WHY_NO_SCORE
from clevrhope.pipeline import Request, build
from clevrhope.pipeline.paraphrases import make_paraphrases
from clevrhope.report import report
from clevrhope.runtime.progress import Advance
from clevrhope.splits.covr.kinds import COVR_SPLITS

HOP = "none"
HELD_OUT = {"covr_split": "has-count", "shots": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("covr") / "data"
    config = PRESETS["demo"]
    sizes = replace(config.sizes, covr_train=60, covr_dev=30, covr_test=120)
    config = replace(config, sizes=sizes)
    build(Request(out=out, hops=(HOP,), config=config, seed=5, covr=True, render=False))
    return out


def answered(folder: Path, path: Path, *, n_right: int, **columns: Any) -> str:
    """A file of answers, of which `n_right` of four are right."""
    layout = Layout(folder)
    answers = read_vocab(layout.covr_vocab).answers()
    rows = []
    for split in COVR_SPLITS[1:4]:
        for row, number in enumerate(read_table(layout.questions_h5(HOP, split), SETS).answers):
            answer = answers[number] if row % 4 < n_right else "<UNK>"
            place = {"hop": HOP, "split": split, "question_index": row, "answer": answer}
            rows.append({**place, "train_size": 60, **columns})
    return f"{columns['model']}={write_rows(path, rows)}"


class Stages:
    """Progress that keeps the number of units of each stage."""

    def __init__(self) -> None:
        self.done: dict[str, int] = {}

    @contextmanager
    def stage(self, title: str, *, total: int, unit: str) -> Iterator[Advance]:
        key = f"{title}: {unit}"
        self.done[key] = 0

        def advance(n: int, /, *, there: bool = False) -> None:
            self.done[key] += n

        yield advance


def test_a_report_of_sets_alone_has_a_title_and_stages_of_its_own(folder: Path, tmp_path: Path) -> None:
    files = [answered(folder, tmp_path / "a.jsonl", n_right=2, model="mine")]
    stages = Stages()
    made = report(files, tmp_path / "report", dataset=folder, progress=stages)
    page = made.markdown.read_text()
    assert page.startswith("# Compositional generalisation\n")
    assert "Systematicity" not in page
    assert stages.done
    assert all(stages.done.values()), stages.done


def test_a_score_that_is_not_defined_is_in_tables_and_rows(folder: Path, tmp_path: Path) -> None:
    files = [
        answered(folder, tmp_path / f"{k}.jsonl", n_right=n, model=model, covr_role=role, **HELD_OUT)
        for k, (n, model, role) in enumerate(
            ((2, "mine", "split"), (2, "mine", "iid_size"), (3, "question_only", "split"))
        )
    ]
    files.append(answered(folder, tmp_path / "text.jsonl", n_right=3, model="question_only"))
    made = report(files, tmp_path / "report", dataset=folder)
    page = made.markdown.read_text()
    assert "iid-size | generalisation score | over held-out text |" in page
    assert "| HAS-QUANT-ALL | has-quant-all | 250 | 21.1k |" in page
    assert page.count(WHY_NO_SCORE) == 1
    with made.csv.open() as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "generalisation_score"]
    assert [(row["split"], row["mean_percent"], row["note"]) for row in rows] == [
        ("covr_test", "", WHY_NO_SCORE),
        ("covr_test_paraphrased", "", WHY_NO_SCORE),
    ]


def test_several_shots_give_a_figure_of_few_shot_accuracy(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    runs = [(n, role, shots) for n, role in ((2, "split"), (3, "iid_size")) for shots in (0, 8, 20)]
    files = [
        answered(
            folder,
            tmp_path / f"{k} {text}.jsonl",
            n_right=n,
            model="mine",
            covr_role=role,
            covr_split=text,
            shots=shots,
        )
        for k, (n, role, shots) in enumerate(runs)
        for text in ("has-count", *(["num-2"] if shots == 8 else []))
    ]
    files.append(answered(folder, tmp_path / "text.jsonl", n_right=1, model="question_only"))
    made = report(files, tmp_path / "report", dataset=folder)
    assert [path.name for path in made.figures] == ["shots_1_mine_none_60.svg"]
    assert "Few-shot accuracy on the questions of covr_test that have" in made.markdown.read_text()


def test_accuracies_by_template_stand_beside_the_papers(folder: Path, tmp_path: Path) -> None:
    made = report(
        [answered(folder, tmp_path / "a.jsonl", n_right=2, model="mine")], tmp_path / "report", dataset=folder
    )
    page = made.markdown.read_text()
    for split, table in (("covr_test", 12), ("covr_test_paraphrased", 13)):
        part = page.partition(f"**{split} by template**")[2]
        lines = [
            [cell.strip() for cell in line.split("|")[1:-1]]
            for line in part.splitlines()
            if line.startswith("|")
        ]
        head, text, theirs = lines[0], *[row for row in lines if row[0].startswith("COVR's")][:2]
        assert len(head) == 3 + 15
        of_paper = covr_results()[table]
        of_template = dict(zip(head[3:], zip(text[3:], theirs[3:], strict=True), strict=True))
        for template, name in (
            ("verify_attr", "VERIFYATTR"),
            ("verify_quantifier_attr", "VERIFYQUANTIFIER-ATTR"),
            ("verify_count_group_by", "VERIFYCOUNT-GROUPBY"),
            ("choose_relation", "CHOOSEREL"),
        ):
            row = of_paper[name]
            assert of_template[template.replace("_", "\\_")] == (row["VB_TEXT"], row["VB_iid"])
        assert all(all(cells) for cells in of_template.values())


def test_paraphrases_of_sets_are_scored_as_those_of_splits(folder: Path, tmp_path: Path) -> None:
    texts = [{"id": f"{HOP}/covr_test/{row}", "text": f"In way {row}?"} for row in range(8)]
    make_paraphrases(folder, "people", [write_rows(tmp_path / "texts.jsonl", texts)])
    pairs = read_table(
        Layout(folder).suite_h5(HOP, "people", "covr_test"),
        PAIRS,
        vocab=read_vocab(Layout(folder).covr_vocab),
    )
    answers = [pairs.answer_names[n] if row % 4 < 2 else "<UNK>" for row, n in enumerate(pairs.answers)]
    partners = [
        {"hop": HOP, "split": "covr_test", "suite": "people", "question_index": row, "answer": answers[row]}
        for row in range(1, 16, 2)
    ]
    files = []
    for role in (None, "iid_size"):
        training = {"covr_role": role, **HELD_OUT} if role else {}
        files.append(answered(folder, tmp_path / f"{role}.jsonl", n_right=2, model="mine", **training))
        about = {"train_size": 60, "model": "mine", **training}
        with (tmp_path / f"{role}.jsonl").open("a") as file:
            file.writelines(f"{json.dumps({**row, **about})}\n" for row in partners)
    made = report(files, tmp_path / "report", dataset=folder)
    page = made.markdown.read_text()
    assert not made.skipped
    assert "Pairs of people on covr_test by test and cell" in page
    with made.csv.open() as file:
        rows = [row for row in csv.DictReader(file) if row["suite"] == "people" and row["by"] == "test"]
    found = {(row["model"], row["metric"]): float(row["mean_percent"]) for row in rows}
    # Originals 0, 1, 4 and 5 are right, and the partners of 0, 2, 4 and 6.
    for model in ("mine", "mine, trained on as many as without has-count"):
        assert found[model, "original_accuracy"] == found[model, "partner_accuracy"] == 50
        assert found[model, "both_right"] == found[model, "consistency"] == 25
