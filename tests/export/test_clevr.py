"""The folders of CLEVR_v1.0, read as its own readers do: by file name, image_index and program."""

import json
from pathlib import Path

import numpy as np
from PIL import Image
from truth import HOP, SPLITS, Truth, prefix

from clevrhope import Scene, execute
from clevrhope.export import export
from clevrhope.programs import answer_text


def test_questions_scenes_and_images_belong_together_by_number(
    dataset: Path, truth: Truth, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export(dataset, out, format="clevr", hops=[HOP])
    for split in SPLITS:
        questions = json.loads((out / "questions" / f"CLEVR_{split}_questions.json").read_text())["questions"]
        scenes = json.loads((out / "scenes" / f"CLEVR_{split}_scenes.json").read_text())["scenes"]
        assert [scene["image_index"] for scene in scenes] == list(range(len(scenes)))
        # Feature extraction sorts the images by the number in their names and takes it for the row.
        names = sorted((out / "images" / split).iterdir(), key=lambda path: int(path.stem.rpartition("_")[2]))
        assert [path.name for path in names] == [scene["image_filename"] for scene in scenes]
        wanted = truth.questions(split)
        assert len(questions) == len(wanted)
        for k, (question, original) in enumerate(zip(questions, wanted, strict=True)):
            number = question["image_index"]
            assert question["question_index"] == k
            assert question["split"] == split
            assert question["image_filename"] == f"CLEVR_{split}_{number:06d}.png"
            for key in ("question", "answer", "question_family_index"):
                assert question[key] == original[key]
            assert prefix(question["program"]) == prefix(original["program"])
            assert answer_text(execute(question["program"], Scene(scenes[number]))) == question["answer"]
            assert scenes[number]["stream"]["index"] == original["image_index"]
            with Image.open(names[number]) as image:
                np.testing.assert_array_equal(image, truth.pixels(original["image_filename"]))


def test_rows_have_the_published_keys(png_dataset: Path, test_data: Path, tmp_path: Path) -> None:
    export(png_dataset, tmp_path / "out", format="clevr", hops=[HOP], splits=["complex_ood"])
    for kind in ("questions", "scenes"):
        published = json.loads((test_data / "real_clevr" / f"CLEVR_train_{kind}.json").read_text())[kind][0]
        ours = json.loads((tmp_path / "out" / kind / f"CLEVR_complex_ood_{kind}.json").read_text())[kind][0]
        assert set(published) <= set(ours), kind
        for key in published:
            assert type(ours[key]) is type(published[key]), key
