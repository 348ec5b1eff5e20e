"""CLEVR's own files as a source: what they say is imported, and models train and tune on them in place."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Cli, build_demo
from PIL import Image

import clevrhope
from clevrhope.audit import audit
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import SINGLE
from clevrhope.dataset.question_table import read_table
from clevrhope.errors import ClevrhopeError, DatasetError
from clevrhope.export import export
from clevrhope.pipeline.importing import import_source
from clevrhope.programs import default_vocabulary
from clevrhope.sources.clevr import find_clevr
from wording import refused

Rows = list[dict[str, Any]]


def rows_of(path: Path, key: str) -> Rows:
    rows: Rows = json.loads(path.read_text())[key]
    return rows


@pytest.fixture
def clevr(test_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real files that there are, laid out as CLEVR_v1.0 is, with images of one color each."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "CLEVR_v1.0"
    for split in ("train", "val"):
        for kind in ("questions", "scenes"):
            name = f"CLEVR_{split}_{kind}.json"
            (root / kind).mkdir(parents=True, exist_ok=True)
            (root / kind / name).write_bytes((test_data / "real_clevr" / name).read_bytes())
        folder = root / "images" / split
        folder.mkdir(parents=True)
        for row in rows_of(root / "questions" / f"CLEVR_{split}_questions.json", "questions"):
            colour = (10 * row["image_index"], 0, 0, 255)
            Image.new("RGBA", (48, 32), colour).save(folder / row["image_filename"])
    return root


def test_everything_that_the_files_say_is_imported(clevr: Path, tmp_path: Path) -> None:
    made = import_source(clevr, tmp_path / "out")
    assert made.n_questions == {("none", "train"): 40, ("none", "val"): 9}
    for split in ("train", "val"):
        rows = rows_of(clevr / f"questions/CLEVR_{split}_questions.json", "questions")
        items = clevrhope.load(tmp_path / "out", "none", split, images=True, text=True)
        for row, item in zip(rows, items, strict=True):
            # Their files put a blank before some semicolons only.
            texts = [each.replace(" ;", ";") for each in (item["question_text"], row["question"])]
            assert texts[0] == texts[1]
            assert (item["answer_text"], item["image_index"]) == (row["answer"], row["image_index"])
            assert np.asarray(item["image"])[0, 0].tolist() == [10 * row["image_index"], 0, 0]
        table = read_table(Layout(tmp_path / "out").questions_h5("none", split), SINGLE)
        assert table.question_families.tolist() == [row["question_family_index"] for row in rows]
    scene = rows_of(Layout(tmp_path / "out").scene_files("train")[0], "scenes")[0]
    theirs = rows_of(clevr / "scenes/CLEVR_train_scenes.json", "scenes")[0]
    radians = [thing["rotation"] for thing in theirs["objects"]]
    found = [thing["rotation"] for thing in scene["objects"]]
    assert found == pytest.approx([math.degrees(each) % 360 for each in radians])


def test_programs_give_the_published_answers_on_the_imported_scenes(clevr: Path, tmp_path: Path) -> None:
    import_source(clevr, tmp_path / "out")
    checks = {check.name: check for check in audit(tmp_path / "out").checks}
    assert (checks["answers"].n_checked, checks["answers"].n_faults) == (49, 0)


def test_a_model_trains_and_tunes_on_clevr_in_place(clevr: Path, tmp_path: Path, cli: Cli) -> None:
    before = {path: path.read_bytes() for path in clevr.rglob("*") if path.is_file()}
    options = ["--hop", "none", "--size", "40", "--updates", "2", "--seed", "1", "--tune-on", "val"]
    settings = ["--set", "recipe.batch_size=8", "--device", "cpu", "--out", tmp_path / "run"]
    told = cli("train", "question_only", clevr, *options, *settings)
    assert "published files, imported once into" in told.err
    log = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    assert [line["tuned_on"] for line in log if "tuned_on" in line][-1:] == ["val"]
    assert "val" in cli("evaluate", tmp_path / "run", "--device", "cpu").out
    assert "48x32" in cli("features", clevr, "--kind", "pixels", "--size", "48x32").out
    assert "none" in cli("stats", clevr, "--splits", "val").out
    assert {path: path.read_bytes() for path in clevr.rglob("*") if path.is_file()} == before


def test_what_is_not_there_is_said(clevr: Path, tmp_path: Path) -> None:
    for image in (clevr / "images/val").iterdir():
        image.unlink()
    (clevr / "images/val").rmdir()
    questions = clevr / "questions"
    rows = rows_of(questions / "CLEVR_val_questions.json", "questions")
    without = [{name: row[name] for name in ("question", "image_index", "image_filename")} for row in rows]
    (questions / "CLEVR_test_questions.json").write_text(json.dumps({"questions": without}))
    (clevr / "scenes/CLEVR_val_scenes.json").unlink()
    made = import_source(clevr, tmp_path / "out")
    assert made.manifest.source is not None
    assert made.manifest.source["notes"] == [
        "left out, as they have no answers or are no split of CLEVR: test",
        "rotations in published scenes are radians; they are imported as degrees",
        "none val: no images: images/val is not there",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"answer": "', '"answer": "fuchsia '),
        ('"function": "scene"', '"function": "scenery"'),
        ('"image_index": 0', '"image_index": "zero"'),
        ('"questions": [', '"asked": ['),
        ('"question": "', '"query": "'),
        ('"question_index": 0', '"number": 0'),
        ('"question_index": 1,', '"question_index": 0,'),
        ('"question_index": 3,', '"question_index": -3,'),
        ('"question_index": 3,', '"question_index": "3",'),
        ('"question_index": 3,', '"question_index": 3, "of": {"question_index": 2},'),
        ('"answer": "yes"', '"answer": true'),
        ('"answer": "yes"', '"answer": 3'),
        ('"answer": "yes"', '"answer": null'),
        ('"split": "train", "answer": "2"', '"split": "val", "answer": "2"'),
    ],
)
def test_a_broken_file_is_refused_with_its_place(old: str, new: str, clevr: Path, tmp_path: Path) -> None:
    path = clevr / "questions/CLEVR_train_questions.json"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with refused(ClevrhopeError):
        import_source(clevr, tmp_path / "out")


@pytest.mark.parametrize("kind", ["questions", "scenes"])
@pytest.mark.parametrize("share", [0, 0.9])
def test_a_file_that_was_cut_off_is_refused(kind: str, share: float, clevr: Path, tmp_path: Path) -> None:
    path = clevr / kind / f"CLEVR_train_{kind}.json"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(DatasetError, match=re.escape(str(path))):
        import_source(clevr, tmp_path / "out")


def test_an_export_has_degrees(tmp_path: Path) -> None:
    build_demo(tmp_path / "data", hops=["none"], render=False)
    export(tmp_path / "data", tmp_path / "export", format="clevr")
    source = find_clevr(tmp_path / "export", default_vocabulary())
    assert source is not None
    assert source.notes == ()
    rows = rows_of(tmp_path / "export" / "scenes" / "CLEVR_val_scenes.json", "scenes")
    (scenes,) = [split.scenes for split in source.splits if split.split == "val"]
    assert scenes is not None
    assert [*scenes()] == rows


def test_the_splits_of_a_pair_in_this_form_are_not_clevr(dataset: Path, tmp_path: Path) -> None:
    export(dataset, tmp_path / "export", format="clevr", hops=["rubber_cylinder"])
    with refused(ClevrhopeError):
        import_source(tmp_path / "export", tmp_path / "out")
