"""A made-up fifth kind is one row of `KINDS`: loaded, checked, audited, scored, shown and exported."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest
from building import build_demo

from clevrhope import ConfigError, DatasetError, PredictionsError, load
from clevrhope.audit import audit
from clevrhope.browse.addresses import Links, Query
from clevrhope.browse.folder import SiteFolder, SplitKey
from clevrhope.browse.indexes import Indexes
from clevrhope.browse.models import Models
from clevrhope.browse.pages import Pages
from clevrhope.dataset.contents import splits_in
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest, write_manifest
from clevrhope.dataset.question_kinds import KINDS, SINGLE, Column, Field, QuestionKind, kind_of
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.questions_h5 import QuestionWriter
from clevrhope.dataset.vocab import read_vocab
from clevrhope.export import export
from clevrhope.metrics import score
from clevrhope.metrics.score_tables import scores_lines
from clevrhope.pipeline.importing import import_source
from clevrhope.runtime.atomic import record
from clevrhope.runtime.progress import Silent
from wording import check_refused

HOP, SPLIT = "rubber_cylinder", "ranked_test"
GRADES = ("easy", "middling", "hard")

GRADE = Field("grade", "ranks", "how hard it is", value=lambda table, rank: table.grades[rank])

RANKED = QuestionKind(
    name="ranked",
    what="a file of ranked questions",
    columns={
        **{name: column for name, column in SINGLE.columns.items() if name != "orig_idxs"},
        "ranks": Column("how hard people found it", "int8", names="grades"),
    },
    fields=(*SINGLE.fields, GRADE),
    breakdowns=(GRADE,),
    lists={"grades": ""},
    table="{hop}.ranked",
    prefix="ranked_",
    splits=(SPLIT,),
    h5=lambda layout, hop, split: layout.root / "ranked" / hop / f"{split}.h5",
)


def write(folder: Path, rows: QuestionTable, ranks: np.ndarray) -> Path:
    """Questions of a split as ranked ones."""
    path = RANKED.h5(Layout(folder), HOP, SPLIT)
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {name: values for name, values in rows.arrays().items() if name != "orig_idxs"}
    names = {"hop": HOP, "split": SPLIT, "pool": rows.pool}
    with QuestionWriter(path, **names, attributes={"grades": GRADES}) as writer:
        writer.append({**columns, "ranks": ranks.astype(np.int8)})
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    out, layout = tmp_path / "data", Layout(tmp_path / "data")
    build_demo(out)
    rows = read_table(layout.questions_h5(HOP, "complex_iid"))
    path = write(out, rows, np.arange(len(rows)) % 3)
    manifest = existing_manifest(layout.manifest).with_files({layout.relative(path): record(path)})
    splits = {hop: dict(entries) for hop, entries in manifest.splits.items()}
    splits[HOP][SPLIT] = splits[HOP]["complex_iid"]
    write_manifest(layout.manifest, replace(manifest, splits=splits))
    monkeypatch.setitem(KINDS, "ranked", RANKED)
    return out


def test_its_splits_are_found_loaded_and_shown(folder: Path) -> None:
    assert kind_of(SPLIT) is RANKED
    assert splits_in(Layout(folder), HOP, RANKED) == (SPLIT,)
    assert SPLIT not in splits_in(Layout(folder), HOP)
    data, same = load(folder, HOP, SPLIT, text=True), load(folder, HOP, "complex_iid", text=True)
    assert len(data) == len(same) > 10
    for k, (item, other) in enumerate(zip(data, same, strict=True)):
        assert item["grade"] == GRADES[k % 3]
        assert (item["question_text"], item["family"]) == (other["question_text"], other["family"])
        np.testing.assert_array_equal(item["image"], other["image"])
    assert data.show(1).question == data[1]["question_text"]
    assert pickle.loads(pickle.dumps(data[:5]))[4]["grade"] == GRADES[1]
    check_refused(ConfigError, load, folder, HOP, "ranked_tset")


@pytest.mark.parametrize("name", ["parquet", "webdataset", "clevr"])
def test_they_are_exported(folder: Path, tmp_path: Path, name: str) -> None:
    made = export(folder, tmp_path / "out", format=name, splits=[SPLIT])
    assert made.splits == ((HOP, SPLIT),)
    assert made.n_questions == len(load(folder, HOP, SPLIT))
    assert list(json.loads((tmp_path / "out" / "source.json").read_text())["splits"][HOP]) == [SPLIT]
    if name == "parquet":
        (path,) = (tmp_path / "out" / f"{HOP}.ranked").iterdir()
        assert pq.read_table(path)["grade"].to_pylist()[:4] == [*GRADES, GRADES[0]]
        assert "| `grade` | how hard it is |" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize("name", ["parquet", "webdataset"])
def test_they_are_read_back_from_exports(folder: Path, tmp_path: Path, name: str) -> None:
    export(folder, tmp_path / "export", format=name, splits=[SPLIT])
    import_source(tmp_path / "export", tmp_path / "out")
    ours, theirs = (
        read_table(RANKED.h5(Layout(root), HOP, SPLIT), RANKED) for root in (folder, tmp_path / "out")
    )
    for column, numbers in ours.arrays().items():
        np.testing.assert_array_equal(theirs.arrays()[column], numbers, column)
    assert theirs.attributes == ours.attributes


def test_they_are_scored(folder: Path, tmp_path: Path) -> None:
    """Every easy question is answered right, and no other; what is about another kind is left aside."""
    rows = read_table(
        Layout(folder).questions_h5(HOP, "complex_iid"), vocab=read_vocab(folder / "vocab.json")
    )
    path, lines = tmp_path / "p.jsonl", []
    for k, number in enumerate(rows.answers.tolist()):
        for split, is_right in ((SPLIT, k % 3 == 0), ("complex_iid", True)):
            answer = rows.answer_names[number] if is_right else "<UNK>"
            lines.append({"hop": HOP, "split": split, "question_index": k, "answer": answer})
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    scores = score(folder, path, seed=1, bootstrap=20, kind=RANKED)
    assert scores.n_predictions == len(rows)
    ranked = scores.condition(HOP).splits[SPLIT]
    n_easy = len(range(0, len(rows), 3))
    assert ranked.mean["accuracy"].value == pytest.approx(100 * n_easy / len(rows))
    by_grade = {grade: part.mean["accuracy"].value for grade, part in ranked.by("grade").items()}
    assert by_grade == {"easy": 100.0, "middling": 0.0, "hard": 0.0}
    lines = list(scores_lines(scores))
    assert any(line.startswith("  by grade") and SPLIT in line for line in lines)
    single = score(folder, path, seed=1, bootstrap=0, by=(), hops=[HOP], partial=True)
    assert single.condition(HOP).accuracies == {"complex_iid": 100.0}
    check_refused(PredictionsError, score, folder, path, seed=1, by=["family"], kind=RANKED)


def faults(folder: Path) -> dict[str, set[tuple[str, str]]]:
    """Line of the audit -> file and problem of each fault, but for checksums and the fake images."""
    return {
        check.name: {(fault.file, fault.problem) for fault in check.faults}
        for check in audit(folder).checks
        if check.result == "failed" and check.name not in ("files", "images")
    }


def test_they_are_audited_by_their_row(folder: Path) -> None:
    assert faults(folder) == {}
    lines = {check.name: check.n_checked for check in audit(folder).checks}
    assert lines["text"] == lines["programs"] + len(load(folder, HOP, SPLIT))
    path = RANKED.h5(Layout(folder), HOP, SPLIT)
    name = path.relative_to(folder).as_posix()
    with h5py.File(path, "r+") as file:
        file["ranks"][3] = 3
        file["questions"][5, 1:3] = file["questions"][5, 1:3][::-1]
        file.attrs["hop"] = "metal_cube"
    found = faults(folder)
    assert found["arrays"] == {(name, "ranks is not one of 0 to 2"), (name, f"attribute hop is not {HOP}")}
    assert {file for file, _ in found["text"]} == {name}


def test_their_pages_say_what_the_row_says(folder: Path) -> None:
    opened = SiteFolder(folder)
    pages = Pages(opened, Models(), Indexes(opened, Silent()))
    place = SplitKey(HOP, SPLIT)
    page = pages.question(Links(4), place, 1, Query())
    assert '<dt>Grade</dt><dd class="mono">middling</dd>' in page
    assert load(folder, HOP, SPLIT, text=True)[1]["question_text"] in page
    assert f"questions?hop={HOP}&amp;split={SPLIT}" in pages.home(Links(0), Query())


def test_its_numbers_and_lists_are_checked(folder: Path) -> None:
    rows = read_table(Layout(folder).questions_h5(HOP, "complex_iid"))
    path = write(folder, rows, np.arange(len(rows)))
    check_refused(DatasetError, load, folder, HOP, SPLIT)
    check_refused(DatasetError, read_table, Layout(folder).questions_h5(HOP, "train"), RANKED)
    with pytest.raises(AttributeError, match="no column or attribute rank in questions of kind ranked"):
        _ = read_table(path, RANKED).rank
