"""README.md of every export: its facts, its figures, and its script, which is run in the folder."""

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Cli, build_demo, tree
from PIL import Image
from truth import HOP, Truth

from clevrhope.errors import ConfigError
from clevrhope.export import FORMATS, export
from clevrhope.rewards import compute_score
from clevrhope.runtime import assets

pytestmark = [
    pytest.mark.usefixtures("offline"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]


def run_script(folder: Path, **names: Any) -> dict[str, Any]:
    """The names that the README's script leaves behind."""
    (script,) = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text("utf-8"), re.DOTALL)
    with contextlib.chdir(folder):
        exec(compile(script.replace("THIS_FOLDER", str(folder)), "README.md", "exec"), names)
    return names


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_one_with_origin_license_and_citation(
    png_dataset: Path, set_dataset: Path, tmp_path: Path, name: str
) -> None:
    single = FORMATS[name].single
    export(png_dataset if single else set_dataset, tmp_path / "out", format=name, hops=[HOP])
    text = (tmp_path / "out" / "README.md").read_text("utf-8")
    for wanted in ("| seed | 5 |", "CC BY 4.0", "Attribute Diversity Determines", "## How was it made?"):
        assert wanted in text
    assert ("COVR: A Test-Bed" in text) == (not single)
    assert str(tmp_path) not in text


@pytest.mark.parametrize("name", ["parquet", "webdataset", "official"])
def test_its_commands_work_as_typed(
    png_dataset: Path, tmp_path: Path, name: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the folder, of what is there; nothing is written into it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "out"
    export(png_dataset, folder, format=name, hops=[HOP])
    before = tree(folder)
    typed = commands(folder)
    assert [line.split()[1] for line in typed] == ["audit", "ask", "baseline", "score"]
    monkeypatch.chdir(folder)
    said = [cli(*line.split()[1:]).out for line in typed]
    assert "no faults were found" in said[0]
    assert "20 requests" in said[1]
    assert "complex_ood" in said[3]
    assert tree(folder) == before


@pytest.mark.parametrize("splits", ["train", "covr_test"])
def test_its_commands_are_about_what_is_there(
    set_dataset: Path, tmp_path: Path, splits: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    export(set_dataset, tmp_path / "out", format="parquet", splits=[splits])
    monkeypatch.chdir(tmp_path / "out")
    typed = commands(tmp_path / "out")
    assert [line.split()[1] for line in typed] == {"train": ["audit"], "covr_test": ["audit", "ask"]}[splits]
    for line in typed:
        cli(*line.split()[1:])


def commands(folder: Path) -> list[str]:
    """The commands that the README prints."""
    text = (folder / "README.md").read_text("utf-8")
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]


def test_parquet(png_dataset: Path, truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    export(png_dataset, tmp_path / "out", format="parquet", hops=[HOP])
    found, first = run_script(tmp_path / "out"), truth.questions("train")[0]
    assert (found["row"]["question"], found["row"]["answer"]) == (first["question"], first["answer"])


def test_webdataset(png_dataset: Path, truth: Truth, tmp_path: Path) -> None:
    export(png_dataset, tmp_path / "out", format="webdataset", hops=[HOP])
    found, last = run_script(tmp_path / "out"), truth.questions("train")[-1]
    assert (found["question"], found["answer"]) == (last["question"], last["answer"])
    np.testing.assert_array_equal(np.asarray(found["image"]) * 1, truth.pixels(last["image_filename"]))


def test_webdataset_of_sets_and_of_text(set_dataset: Path, bare_dataset: Path, tmp_path: Path) -> None:
    export(set_dataset, tmp_path / "sets", format="webdataset", splits=["covr_test"])
    found = run_script(tmp_path / "sets")
    assert len(found["images"]) == len(found["about"]["image_indices"])
    assert found["question"].endswith(("?", "."))
    export(bare_dataset, tmp_path / "bare", format="webdataset", hops=[HOP])
    assert "image" not in run_script(tmp_path / "bare")


def test_rl(png_dataset: Path, truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    export(png_dataset, tmp_path / "out", format="rl", hops=[HOP], splits=["train"])
    found = run_script(tmp_path / "out")
    assert found["row"]["question"] == truth.questions("train")[0]["question"]
    assert found["reward"] == {"score": 1, "marked": 1}


def test_rl_of_another_world_has_a_reward_that_knows_its_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    raw = json.loads((assets.blender_assets() / "properties.json").read_text())
    raw["colors"]["orange"] = [250, 120, 10]
    (tmp_path / "own.json").write_text(json.dumps(raw))
    build_demo(tmp_path / "data", render=False, properties=tmp_path / "own.json")
    export(tmp_path / "data", tmp_path / "out", format="rl", splits=["train"])
    found = run_script(tmp_path / "out")
    assert found["reward"]
    row = next(row for row in found["rows"] if row["reward_model"]["ground_truth"] == "orange")
    with pytest.raises(ConfigError):
        compute_score("", "<answer>orange</answer>", "orange", row["extra_info"])
    assert found["scorer"].score(row["question"], "<answer>orange</answer>", "orange", marked=True).correct


def test_clevr(png_dataset: Path, truth: Truth, tmp_path: Path) -> None:
    export(png_dataset, tmp_path / "out", format="clevr", hops=[HOP])
    found, first = run_script(tmp_path / "out"), truth.questions("train")[0]
    assert (found["question"], found["answer"]) == (first["question"], first["answer"])
    assert found["scene"]["image_filename"] == found["image"].name
    with Image.open(tmp_path / "out" / found["image"]) as image:
        np.testing.assert_array_equal(np.asarray(image), truth.pixels(first["image_filename"]))


def test_official_says_whose_words_the_questions_have(
    png_dataset: Path, bare_dataset: Path, truth: Truth, tmp_path: Path
) -> None:
    export(png_dataset, tmp_path / "out", format="official", hops=[HOP])
    text = " ".join((tmp_path / "out" / "README.md").read_text("utf-8").split())
    assert "official loaders, which bring a vocabulary of their own, refuse these files" in text
    found = run_script(tmp_path / "out")
    first = truth.questions("complex_iid")[0]
    row = next(row for row in found["rows"] if row["query"] == first["question"])
    assert row["answer"] == first["answer"]
    export(bare_dataset, tmp_path / "bare", format="official", hops=[HOP])
    assert not list((tmp_path / "bare").rglob("*_ims.h5"))


def test_coco(png_dataset: Path, tmp_path: Path) -> None:
    export(png_dataset, tmp_path / "out", format="coco", hops=[HOP])
    found = run_script(tmp_path / "out")
    assert found["mask"].sum() == found["annotations"][0]["area"]
    assert (tmp_path / "out" / HOP / "train" / found["image"]["file_name"]).exists()


def test_covr(set_dataset: Path, tmp_path: Path) -> None:
    export(set_dataset, tmp_path / "out", format="covr")
    found = run_script(tmp_path / "out")
    assert len(found["rows"]) == 150
    assert all((tmp_path / "out" / image).exists() for image in found["images"])


# Figures of the card


def test_the_card_shows_a_row_of_images_for_each_split(
    png_dataset: Path, truth: Truth, tmp_path: Path
) -> None:
    export(png_dataset, tmp_path / "out", format="parquet", hops=[HOP], splits=["train", "complex_ood"])
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "![Images of each split](figures/images.png)" in card
    assert "from the top: `train` and `complex_ood`." in card
    with Image.open(tmp_path / "out" / "figures" / "images.png") as sheet:
        assert sheet.size == (4 * 240 + 3 * 4, 2 * 160 + 4)
        pixels = np.asarray(sheet)
    first = min(question["image_index"] for question in truth.questions("complex_ood"))
    names = {each["image_index"]: each["image_filename"] for each in truth.questions("complex_ood")}
    shown = Image.fromarray(truth.pixels(names[first])).resize((240, 160), Image.Resampling.LANCZOS)
    np.testing.assert_array_equal(pixels[164:, :240], np.asarray(shown))
