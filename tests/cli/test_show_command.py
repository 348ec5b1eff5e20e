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
from clevrhope.__main__ import run_command
from clevrhope.describe.question_view import QuestionView, ShownImage
from clevrhope.programs import TracedStep

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
    for split, words in (
        ("train", "the held-out pair (rubber cylinder) is not mentioned"),
        ("complex_ood", "the held-out pair (rubber cylinder) is mentioned"),
        ("minimal_iid", "the held-out pair (rubber cylinder) is not mentioned"),
        ("minimal_ood", "the held-out pair (rubber cylinder) is mentioned"),
        ("covr_train", "the held-out pair (rubber cylinder) is not mentioned"),
    ):
        assert show(cli, mixed, *asked(PAIR, split, 0))["mention"] == words, split
    assert show(cli, mixed, *asked("none", "val", 0))["mention"] == "nothing is held out"
    assert show(cli, mixed, *asked("prelim_cyan", "counting", 1))["mention"] == (
        "the value (cyan) is mentioned"
    )


def test_some_questions_of_covrs_ood_set_mention_the_pair(mixed: Path, cli: Cli) -> None:
    n = len(clevrhope.load(mixed, PAIR, "covr_test_ood", images=False))
    found = {show(cli, mixed, *asked(PAIR, "covr_test_ood", k))["mention"] for k in range(n)}
    with h5py.File(mixed / "covr" / PAIR / "test_ood.h5") as file:
        places = file["pair_places"][:].tolist()
    for k, place in enumerate(places):
        is_said = "is mentioned" in show(cli, mixed, *asked(PAIR, "covr_test_ood", k))["mention"]
        assert is_said == (place == 1), k
    assert found


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


def test_steps_are_readable(mixed: Path, cli: Cli) -> None:
    text = cli("show", mixed, *map(str, asked("prelim_cyan", "counting", 5))).out
    assert "Answer    5\n" in text
    assert re.search(r" 0  scene +all 5 objects\n", text)
    assert re.search(r" 1  filter_color\[cyan\]\(0\)  all 5 objects\n", text)
    assert re.search(r" 2  count\(1\) +5\n", text)
    assert len(re.findall(r"^ +\d  \w+ cyan \w+ \w+$", text, re.M)) == 5, "its objects in words"


def test_steps_on_several_images_name_them(mixed: Path, cli: Cli) -> None:
    text = cli("show", mixed, *map(str, asked(PAIR, "covr_train", 0))).out
    n = len(re.findall(r"^Image \d ", text, re.M))
    assert 1 < n <= 5
    assert re.search(r"scene +all \d+ objects\n", text)
    assert "what it returns; object 1.2 is object 2 of image 1\n" in text


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
    assert view.lines()[-4:] == [
        "   0  scene                    all 4 objects",
        "   1  filter_shape[sphere](0)  objects 0.1, 1.1",
        "   2  unique(1)                object 1.1",
        "   3  query_color(2)           no result",
    ]


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
    words = list(map(str, asked("red_cube", "complex_ood", 1)))
    for folder, out in (
        (only_h5, only_h5 / "images/train/a.png"),
        (only_h5, tmp_path / "link" / "a.png"),
        (linked, linked / "images" / "a.png"),
    ):
        seen = cli("show", folder, *words, "--save", out, code=2)
        assert seen.err == (
            f"clevrhope: --save: {out} is within the dataset's folder; choose a place outside of it\n"
        )
        assert not out.exists()


def test_where_an_image_cannot_be_saved_the_option_is_named(only_h5: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "file").touch()
    words = list(map(str, asked("red_cube", "complex_ood", 1)))
    assert cli("show", only_h5, *words, "--save", tmp_path / "file" / "a.png", code=1).err.endswith(
        "choose another folder with --save\n"
    )


def test_own_templates_have_numbers_for_families(tmp_path: Path, cli: Cli) -> None:
    templates = Path(__file__).parents[1] / "data" / "likeness_templates"
    out = tmp_path / "out"
    words = ["build", "--hop", "red_cube", "--splits", "train", "--train-questions", "9", "--no-render"]
    own = ["--templates", str(templates), "--seed", "1", "--quiet", "--out", str(out)]
    assert run_command([*words, *own]) == 0
    found = show(cli, out, *asked("red_cube", "train", 0))
    assert re.fullmatch(r"number \d+ of the dataset's own templates", found["family"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Missing option '--hop'. {folder} has none, prelim_cyan, rubber_cylinder"),
        (["--hop", "none"], "Missing option '--split'. There are train, val, test, covr_train, covr_dev"),
        (["--hop", "none", "--split", "val"], "--question is missing; none/val has questions 0 to 1"),
        (asked("none", "val", 2), "--question: there is no question 2; none/val has questions 0 to 1"),
        (asked("red_cube", "val", 0), 'no HOP "red_cube"; there are: none, prelim_cyan, rubber_cylinder'),
        (asked("none", "minimal_ood", 0), 'no split "minimal_ood" of none; there are: train, val, test'),
        ([*asked("none", "val", 0), "--save", "a.jpg"], "--save: a.jpg should end in .png"),
    ],
)
def test_what_is_wrong_is_said_with_what_there_is(
    mixed: Path, cli: Cli, words: list[object], message: str
) -> None:
    seen = cli("show", mixed, *map(str, words), code=2)
    assert message.format(folder=mixed) in seen.err
    assert len(seen.err.splitlines()) == 1
    assert seen.out == ""


def test_a_folder_without_images_says_how_to_add_them(limited: Path, tmp_path: Path, cli: Cli) -> None:
    words = [str(each) for each in asked("red_cube", "train", 0)]
    said = cli("show", limited, *words, "--save", tmp_path / "a.png", code=2).err
    assert f"has no image of this question; clevrhope info {limited} says" in said
    assert not list(tmp_path.iterdir())
