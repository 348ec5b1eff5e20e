"""The export of questions over several images in COVR's form, and what other formats say."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from truth import HOP

from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.layout import Layout
from clevrhope.errors import ConfigError
from clevrhope.export import FORMATS, export
from clevrhope.export.covr import PATTERNS, PROPERTIES
from clevrhope.programs import Program, SceneSet, answer_text, execute
from wording import refused


def rows_of(folder: Path, split: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(Layout(folder).questions_json(HOP, split).read_text())[
        "questions"
    ]
    return rows


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def steps(program: list[dict[str, Any]]) -> list[str]:
    return sorted(f"{step['operation']} {len(step['dependencies'])}" for step in program)


def test_lines_are_the_questions(set_dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    exported = export(set_dataset, out, format="covr")
    files = {path.relative_to(out).as_posix() for path in out.rglob("*.jsonl")}
    names = ("train", "val", "test", "test_paraphrased", "test_ood")
    assert files == {f"{HOP}/{name}.jsonl" for name in names}
    for name, split in (("train", "covr_train"), ("val", "covr_dev"), ("test_ood", "covr_test_ood")):
        for line, row in zip(lines(out / HOP / f"{name}.jsonl"), rows_of(set_dataset, split), strict=True):
            assert line["utterance"] == row["question"]
            assert line["pattern_name"] == PATTERNS[row["template"]]
            # Branches may stand in another order.
            assert steps(line["program"]) == steps(row["program"])
            images = [Path(file).stem for file in row["image_filenames"]]
            assert line["scenes"] == images
            assert answer_text(line["answer"]) == row["answer"]
            assert ("answer_number" in line["properties"]) == row["answer"].isdecimal()
            assert all((out / "images" / f"{image}.png").is_file() for image in line["scenes"])
    assert exported.n_images == exported.n_copies == len(list((out / "images").iterdir()))
    assert set(line["properties"]) <= set(PROPERTIES.values())


def test_programs_give_the_answers_on_the_scenes(set_dataset: Path, tmp_path: Path) -> None:
    export(set_dataset, tmp_path / "out", format="covr", splits=["covr_test"], images=False)
    assert not (tmp_path / "out/images").exists()
    used = np.unique([index for row in rows_of(set_dataset, "covr_test") for index in row["image_indices"]])
    scenes = {
        Path(scene["image_filename"]).stem: scene
        for scene in scenes_of(Layout(set_dataset), "test_iid", used)
    }
    for line in lines(tmp_path / "out" / HOP / "test.jsonl"):
        found = execute(Program(line["program"]), SceneSet([scenes[name] for name in line["scenes"]]))
        assert found == line["answer"]


@pytest.mark.parametrize("name", [name for name, each in FORMATS.items() if not each.sets])
def test_other_formats_say_that_they_have_no_place(set_dataset: Path, tmp_path: Path, name: str) -> None:
    with refused(ConfigError):
        export(set_dataset, tmp_path / "out", format=name, splits=["covr_test"])


def test_what_covr_cannot_hold(set_dataset: Path, bare_dataset: Path, tmp_path: Path) -> None:
    with refused(ConfigError):
        export(set_dataset, tmp_path / "out", format="covr", splits=["train"])
    with refused(ConfigError):
        export(bare_dataset, tmp_path / "out", format="covr")
