"""The audit of imported files: nothing in what is right, and each planted fault in what is not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from official_files import TUPLES, write_json, write_parquet

from clevrhope.audit import audit
from clevrhope.audit.report import CheckResult
from clevrhope.pipeline.importing import import_source
from clevrhope.runtime.assets import question_templates

HOP = "rubber_cylinder"
RUN = "held_out_CLEVR"
TRAIN = f"CLEVR_ho_train_{TUPLES[HOP]}_no_text_no_vis_questions.json"
OOD = f"CLEVR_held_out_questions_test_{TUPLES[HOP]}.json"

Rows = list[dict[str, Any]]


def faults(source: Path, out: Path, *, pixels: bool = False, **choices: Any) -> dict[str, CheckResult]:
    """The checks of an audit of imported files, by name."""
    import_source(source, out, **choices)
    return {check.name: check for check in audit(out, pixels=pixels).checks}


@pytest.fixture
def json_files(dataset: Path, tmp_path: Path) -> Path:
    return write_json(dataset, tmp_path / "official")


def changed(path: Path, key: str, change: Callable[[Rows], None]) -> None:
    content = json.loads(path.read_text())
    change(content[key])
    path.write_text(json.dumps(content))


def test_nothing_is_wrong_with_what_is_right(json_files: Path, tmp_path: Path) -> None:
    found = faults(json_files, tmp_path / "out")
    assert {name: check.faults for name, check in found.items() if check.n_faults} == {}
    assert [name for name, check in found.items() if not check.done] == ["CLEVR's images"]
    assert found["pair by chains"].n_checked == found["answers"].n_checked == 492


def filters(kind: str, value: str, of: int) -> dict[str, Any]:
    return {"function": f"filter_{kind}", "inputs": [of], "value_inputs": [value]}


SCENE = {"function": "scene", "inputs": [], "value_inputs": []}


def ask(row: dict[str, Any], program: Rows, text: str, answer: str) -> None:
    row |= {"program": program, "question": text, "answer": answer}


def test_a_mention_is_found_by_both_definitions(json_files: Path, tmp_path: Path) -> None:
    """The first is a chain of filters; the second passes through "or", which the authors' rule ignores."""

    def plant(rows: Rows) -> None:
        chain = [SCENE, filters("material", "rubber", 0), filters("shape", "cylinder", 1)]
        count = {"function": "count", "inputs": [2], "value_inputs": []}
        ask(rows[3], [*chain, count], "How many matte cylinders are there?", "0")
        either = [
            *(SCENE, filters("shape", "cylinder", 0), SCENE, filters("color", "red", 2)),
            {"function": "union", "inputs": [1, 3], "value_inputs": []},
            filters("material", "rubber", 4),
            {"function": "count", "inputs": [5], "value_inputs": []},
        ]
        ask(rows[4], either, "How many matte things are either cylinders or red things?", "0")

    changed(json_files / RUN / TRAIN, "questions", plant)
    found = faults(json_files, tmp_path / "out")
    assert [fault.index for fault in found["pair by chains"].faults] == [3]
    assert [fault.index for fault in found["pair by descriptions"].faults] == [3, 4]
    assert 3 in [fault.index for fault in found["pair in words"].faults]
    assert found["pair by chains"].faults[0].value == "How many matte cylinders are there"


def test_a_question_that_lacks_the_pair_is_found(json_files: Path, tmp_path: Path) -> None:
    def plant(rows: Rows) -> None:
        count = {"function": "count", "inputs": [0], "value_inputs": []}
        n_objects = "3"
        ask(rows[2], [SCENE, count], "How many things are there?", n_objects)

    changed(json_files / RUN / OOD, "questions", plant)
    found = faults(json_files, tmp_path / "out")
    for name in ("pair by chains", "pair by descriptions", "pair in words"):
        assert [fault.index for fault in found[name].faults] == [2]


def test_an_image_with_the_pair_and_one_of_a_test_are_found_in_train(
    json_files: Path, tmp_path: Path
) -> None:
    def plant(scenes: Rows) -> None:
        scene = next(scene for scene in scenes if scene["image_index"] == first)
        scene["objects"][0] |= {"material": "rubber", "shape": "cylinder"}

    def rename(rows: Rows) -> None:
        for row in rows:
            if row["image_index"] == first:
                row["image_filename"] = name

    scenes = json_files / RUN / "CLEVR_held_out_train_scenes.json"
    first = json.loads((json_files / RUN / TRAIN).read_text())["questions"][0]["image_index"]
    name = json.loads((json_files / RUN / OOD).read_text())["questions"][0]["image_filename"]
    changed(scenes, "scenes", plant)
    changed(json_files / RUN / TRAIN, "questions", rename)
    (json_files / RUN / "images" / "train" / name).write_bytes(
        (json_files / RUN / "images" / "test" / name).read_bytes()
    )
    found = faults(json_files, tmp_path / "out")
    assert [fault.index for fault in found["pair in images"].faults] == [first]
    assert [fault.file for fault in found["images of one kind"].faults] == [f"hops/{HOP}/complex_ood.h5"]
    # And by the images themselves, under whatever name.
    checks = {check.name: check for check in audit(tmp_path / "out", pixels=True).checks}
    assert checks["images of one kind"].n_faults == 1


def test_a_wrong_answer_and_a_text_that_comes_twice_are_found(json_files: Path, tmp_path: Path) -> None:
    def plant(rows: Rows) -> None:
        answer = rows[5]["answer"]
        rows[5]["answer"] = {"yes": "no", "no": "yes"}.get(answer, "yes")
        rows[8] |= {key: rows[7][key] for key in ("question", "program", "answer", "image_index")}

    changed(json_files / RUN / TRAIN, "questions", plant)
    found = faults(json_files, tmp_path / "out")
    assert [fault.index for fault in found["answers"].faults] == [5]
    assert [fault.index for fault in found["equal texts"].faults] == [8]


def test_numbers_of_objects_that_go_with_the_split_are_found(json_files: Path, tmp_path: Path) -> None:
    def plant(scenes: Rows) -> None:
        for scene in scenes:
            scene["objects"] = scene["objects"][:3]

    changed(json_files / RUN / "CLEVR_held_out_train_scenes.json", "scenes", plant)
    found = faults(json_files, tmp_path / "out")
    assert "rubber_cylinder train: 3.00 objects an image" in found["objects an image"].note


def test_leaks_are_found_by_text_alone(dataset: Path, tmp_path: Path) -> None:
    source = write_parquet(dataset, tmp_path / "official")
    path = source / "HOP00" / "train-00000-of-00001.parquet"
    table = pq.read_table(path)
    texts = table.column("query").to_pylist()
    texts[6] = (
        pq.read_table(path.with_name("test_complex_ood-00000-of-00001.parquet")).column("query")[0].as_py()
    )
    pq.write_table(table.set_column(1, "query", pa.array(texts)), path)
    found = faults(source, tmp_path / "out")
    assert [fault.index for fault in found["pair in words"].faults] == [6]
    assert not found["pair by chains"].done
    parsed = faults(source, tmp_path / "parsed", templates=question_templates())
    for name in ("pair by descriptions", "pair in words"):
        assert [fault.index for fault in parsed[name].faults] == [6]


def test_twenty_rows_of_four_columns_are_audited(tmp_path: Path) -> None:
    folder = tmp_path / "HOP00"
    folder.mkdir()
    texts = [f"Is there a {color} cube?" for color in ("red", "blue", "gray", "cyan", "brown")] * 4
    table = {
        "idx": np.arange(20),
        "query": texts,
        "answer": ["yes", "no"] * 10,
        "image": pa.array([{"bytes": b"not read", "path": None}] * 20),
    }
    pq.write_table(pa.table(table), folder / "test_complex_ood-00000-of-00001.parquet")
    found = faults(tmp_path, tmp_path.with_name("out_of_twenty"))
    assert found["pair in words"].n_faults == 20  # none asks for a rubber cylinder
    assert not found["equal texts"].done  # no two of these rows are known to share an image
