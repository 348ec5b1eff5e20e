"""`clevrhope show`: one question of any kind of split, its program on the scene, and its images."""

import json
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from building import Cli
from PIL import Image

import clevrhope
from clevrhope.describe.question_view import QuestionView, ShownImage
from clevrhope.programs import TracedStep
from wording import check_words

PAIR = "rubber_cylinder"


def show(cli: Cli, folder: Path, *words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cli("show", folder, *map(str, words), "--json").out)
    return found


def asked(hop: str, split: str, number: int) -> list[object]:
    return ["--hop", hop, "--split", split, "--question", number]


def spoken(output: object) -> str:
    return ("no", "yes")[output] if isinstance(output, bool) else str(output)


@pytest.mark.parametrize(
    ("hop", "split"),
    [
        (PAIR, "train"),
        (PAIR, "complex_ood"),
        (PAIR, "minimal_iid"),
        (PAIR, "minimal_ood"),
        ("none", "val"),
        ("prelim_cyan", "existence"),
        ("prelim_cyan", "counting"),
        (PAIR, "covr_train"),
        (PAIR, "covr_test_ood"),
    ],
)
def test_a_question_is_that_of_the_loader(mixed: Path, cli: Cli, hop: str, split: str) -> None:
    loaded = clevrhope.load(mixed, hop, split, images=False, text=True)
    families = set()
    for k in (0, len(loaded) - 1):
        found, item = show(cli, mixed, *asked(hop, split, k)), loaded[k]
        assert (found["text"], found["answer"]) == (item["question_text"], item["answer_text"])
        indices = item.get("image_indices", [item.get("image_index")])
        assert [image["index"] for image in found["images"]] == indices
        assert spoken(found["steps"][-1]["output"]) == found["answer"]
        assert len(found["steps"]) == len(item["program_text"].split(" "))
        assert all(Path(image["path"]).is_file() for image in found["images"])
        families.add(found["family"])
    assert all(families)


def test_the_mention_is_what_the_split_promises(mixed: Path, cli: Cli) -> None:
    splits = ("train", "complex_ood", "minimal_iid", "minimal_ood", "covr_train")
    questions = [*((PAIR, split, 0) for split in splits), ("none", "val", 0), ("prelim_cyan", "counting", 1)]
    said = [f"{which[1]}: {show(cli, mixed, *asked(*which))['mention']}" for which in questions]
    check_words("\n".join(said))


def test_some_questions_of_covrs_ood_set_mention_the_pair(mixed: Path, cli: Cli) -> None:
    with h5py.File(mixed / "covr" / PAIR / "test_ood.h5") as file:
        places = file["pair_places"][:].tolist()
    for k, place in enumerate(places):
        is_said = "is mentioned" in show(cli, mixed, *asked(PAIR, "covr_test_ood", k))["mention"]
        assert is_said == (place == 1), k


def test_a_group_is_named(mixed: Path, cli: Cli) -> None:
    for hop, split, noun, size in (
        (PAIR, "minimal_ood", "place", 4),
        ("prelim_cyan", "existence", "group", 2),
        ("prelim_cyan", "counting", "set", 6),
    ):
        n = len(clevrhope.load(mixed, hop, split, images=False))
        groups = [show(cli, mixed, *asked(hop, split, k))["group"] for k in range(n)]
        found = [re.fullmatch(rf"{noun} (\d+), image (\d+) \(of 0 to {size - 1}\)", each) for each in groups]
        assert len({match[1] for match in found if match}) == 1, "one group was built"
        assert sorted(int(match[2]) for match in found if match) == list(range(size))
    assert show(cli, mixed, *asked(PAIR, "train", 0))["group"] == ""


@pytest.mark.parametrize(
    ("hop", "split", "number"), [("prelim_cyan", "counting", 5), (PAIR, "covr_train", 0)]
)
def test_steps_are_readable(hop: str, split: str, number: int, mixed: Path, cli: Cli) -> None:
    """Objects are in words, and those of several images have the image's number before them."""
    check_words(cli("show", mixed, *asked(hop, split, number)).out)


def test_objects_of_several_images_are_numbered_as_in_a_trace() -> None:
    images = tuple(ShownImage(k, f"{k}.png", None, ("red cube", "red sphere")) for k in range(2))
    every = [(0, 0), (0, 1), (1, 0), (1, 1)]
    steps = (
        TracedStep("scene", None, (), "ObjectSet", every),
        TracedStep("filter_shape", "sphere", (0,), "ObjectSet", [(0, 1), (1, 1)]),
        TracedStep("unique", None, (1,), "Object", (1, 1)),
        TracedStep("query_color", None, (2,), "color", None),
    )
    view = QuestionView(PAIR, "covr_train", 0, 1, "?", "red", "", "", "", images, steps)
    check_words("\n".join(view.lines()[-4:]))


def test_an_image_is_saved_as_it_is(mixed: Path, only_h5: Path, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "image.png"
    found = show(cli, mixed, *asked(PAIR, "train", 3), "--save", out)
    assert found["saved"] == [str(out)]
    assert out.read_bytes() == Path(found["images"][0]["path"]).read_bytes()
    found = show(cli, only_h5, *asked("red_cube", "complex_ood", 1), "--save", out)
    assert found["images"][0]["path"] is None
    with h5py.File(only_h5 / "images/test_ood.h5") as file:
        pixels = file["images"][found["images"][0]["index"]]
    assert np.array_equal(np.asarray(Image.open(out)), pixels)


def test_several_images_are_saved_by_number(mixed: Path, tmp_path: Path, cli: Cli) -> None:
    found = show(cli, mixed, *asked(PAIR, "covr_test", 1), "--save", tmp_path / "a.png")
    names = [f"a-{k}.png" for k in range(len(found["images"]))]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for name, image in zip(names, found["images"], strict=True):
        assert (tmp_path / name).read_bytes() == Path(image["path"]).read_bytes()


def test_no_file_of_the_dataset_is_written_over(only_h5: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "link").symlink_to(only_h5)
    linked = tmp_path / "linked"  # a dataset whose images lie elsewhere
    linked.mkdir()
    for each in only_h5.iterdir():
        (linked / each.name).symlink_to(each)
    words = asked("red_cube", "complex_ood", 1)
    for folder, out in (
        (only_h5, only_h5 / "images/train/a.png"),
        (only_h5, tmp_path / "link" / "a.png"),
        (linked, linked / "images" / "a.png"),
    ):
        check_words(cli("show", folder, *words, "--save", out, code=2).err)
        assert not out.exists()


def test_where_an_image_cannot_be_saved_the_option_is_named(only_h5: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "a.png"
    check_words(cli("show", only_h5, *asked("red_cube", "complex_ood", 1), "--save", out, code=1).err)


def test_own_templates_have_numbers_for_families(tmp_path: Path, cli: Cli) -> None:
    templates = Path(__file__).parents[1] / "data" / "likeness_templates"
    out = tmp_path / "out"
    words = ["build", "--hop", "red_cube", "--splits", "train", "--train-questions", "9", "--no-render"]
    cli(*words, "--templates", templates, "--seed", "1", "--quiet", "--out", out)
    found = show(cli, out, *asked("red_cube", "train", 0))
    assert re.fullmatch(r"number \d+ of the dataset's own templates", found["family"])


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--hop none",
        "--hop none --split val",
        "--hop none --split val --question 2",
        "--hop red_cube --split val --question 0",
        "--hop none --split minimal_ood --question 0",
        "--hop none --split val --question 0 --save a.jpg",
    ],
)
def test_what_is_wrong_is_said_with_what_there_is(words: str, mixed: Path, cli: Cli) -> None:
    seen = cli("show", mixed, *words.split(), code=2)
    assert seen.out == ""
    check_words(seen.err)


def test_a_folder_without_images_says_how_to_add_them(limited: Path, tmp_path: Path, cli: Cli) -> None:
    words = asked("red_cube", "train", 0)
    check_words(cli("show", limited, *words, "--save", tmp_path / "a.png", code=2).err)
    assert not list(tmp_path.iterdir())
