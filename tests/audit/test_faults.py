"""Every kind of fault that the audit is for, planted in a dataset: found, by its own check, and named."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import pytest
from spoiling import TRAIN, Row, Spoilt, failed, put

from clevrhope.audit import audit

Plant = Callable[[Spoilt], Any]


def spoils(change: Callable[..., None], *names: str) -> Callable[[Callable[[Spoilt, Any], None]], Plant]:
    """Makes a plant of a function that changes what a method of the folder hands to it."""
    return lambda spoil: lambda data: change(data, *names, partial(spoil, data))


HOP_MEASURED = "hops/rubber_cylinder/measured.json"
QUESTIONS = "hops/rubber_cylinder/train_questions.json"
MINIMAL = "hops/rubber_cylinder/minimal_iid_questions.json"
JSON = "HDF5 and JSON"


def used_scene(data: Spoilt, change: Callable[[Row], None]) -> None:
    """Changes the first train scene that the pair asks about."""
    index = int(data.column("train", "image_idxs")[0])
    data.scenes("train", lambda rows: change(next(row for row in rows if row["image_index"] == index)))


# Files


def other_bytes(data: Spoilt) -> None:
    path = data.path("scenes/train/0000.json")
    path.write_bytes(path.read_bytes().replace(b"train", b"trail", 1))


def other_size(data: Spoilt) -> None:
    with data.path("index.html").open("a") as file:
        file.write(" ")


# Counts


def other_number_in_the_manifest(data: Spoilt) -> None:
    def change(raw: Row) -> None:
        raw["splits"]["rubber_cylinder"]["train"]["images"] += 1

    data.manifest(change)


def cut_off(data: Spoilt, name: str) -> None:
    path = data.path(name)
    path.write_bytes(path.read_bytes()[:-100])
    data.sign()


def measured(name: str, *keys: str) -> Plant:
    """A plant that adds 1 to a number of measured.json."""

    def plant(data: Spoilt) -> None:
        def change(raw: Row) -> None:
            for key in keys[:-1]:
                raw = raw[key]
            raw[keys[-1]] += 1

        data.measured(name, change)

    return plant


# Scenes


@spoils(Spoilt.scenes, "train")
def copied_scene(data: Spoilt, rows: list[Row]) -> None:
    for key in ("objects", "relationships", "directions"):
        rows[2][key] = rows[0][key]


@spoils(Spoilt.scenes, "train")
def copied_scene_in_another_order(data: Spoilt, rows: list[Row]) -> None:
    rows[2]["objects"] = rows[0]["objects"][::-1]
    order = range(len(rows[0]["objects"]))[::-1]
    for relation, lists in rows[0]["relationships"].items():
        rows[2]["relationships"][relation] = [[len(lists) - 1 - other for other in lists[i]] for i in order]


def train_image_in_a_test(data: Spoilt) -> None:
    """complex_iid's first questions are asked of a train image: the file says that its pool is train."""
    image = data.column("train", "image_idxs")[0]
    with h5py.File(data.h5("complex_iid"), "r+") as file:
        file.attrs["pool"] = "train"
        file["image_idxs"][:] = image

    def change(raw: Row) -> None:
        raw["splits"]["rubber_cylinder"]["complex_iid"] |= {"pool": "train", "images": 1}

    data.manifest(change)
    data.sign()


def image_in_both_complex_sets(data: Spoilt) -> None:
    """complex_ood asks about an image of complex_iid: the file says that its pool is test_iid."""
    image = data.column("complex_iid", "image_idxs")[0]
    with h5py.File(data.h5("complex_ood"), "r+") as file:
        file.attrs["pool"] = "test_iid"
        file["image_idxs"][:] = image

    def change(raw: Row) -> None:
        raw["splits"]["rubber_cylinder"]["complex_ood"] |= {"pool": "test_iid", "images": 1}

    data.manifest(change)
    data.sign()


@spoils(used_scene)
def two_objects(data: Spoilt, row: Row) -> None:
    del row["objects"][2:]
    for name, lists in row["relationships"].items():
        row["relationships"][name] = [[other for other in each if other < 2] for each in lists[:2]]


@spoils(used_scene)
def eleven_objects(data: Spoilt, row: Row) -> None:
    """As many of them as are missing stand where the first does, and in the same relations."""
    n = len(row["objects"])
    row["objects"] += [dict(row["objects"][0]) for _ in range(11 - n)]
    for name, lists in row["relationships"].items():
        new = range(n, 11)
        more = [[*each, *(new if 0 in each else ())] for each in lists]
        row["relationships"][name] = [*more, *(more[0] for _ in new)]


@spoils(used_scene)
def moved_camera(data: Spoilt, row: Row) -> None:
    x, y, z = row["camera"]["location"]
    row["camera"]["location"] = [x + (0.3 if x < 7.48113 else -0.3), y, z]


@spoils(used_scene)
def far_camera(data: Spoilt, row: Row) -> None:
    """Along its own line of view, so that directions and most of the image stay."""
    row["camera"]["location"] = [2 * each for each in row["camera"]["location"]]


@spoils(used_scene)
def mirrored(data: Spoilt, row: Row) -> None:
    """Left and right are exchanged, in the directions and in who stands there."""
    for said in (row["directions"], row["relationships"]):
        said["left"], said["right"] = said["right"], said["left"]


@spoils(used_scene)
def more_visible_pixels(data: Spoilt, row: Row) -> None:
    row["objects"][1]["visible_pixels"] += 1


@spoils(used_scene)
def hidden_object(data: Spoilt, row: Row) -> None:
    """The second object lies under the ground, and its scene says nothing of its pixels."""
    row["objects"][1]["3d_coords"][2] = -20.0
    del row["objects"][1]["visible_pixels"]


@spoils(Spoilt.scenes, "train")
def one_relation_more(data: Spoilt, rows: list[Row]) -> None:
    rows[4]["relationships"]["left"][0] = sorted({*rows[4]["relationships"]["left"][0], 0})


@spoils(Spoilt.scenes, "train")
def moved_object(data: Spoilt, rows: list[Row]) -> None:
    at = rows[4]["objects"][0]["3d_coords"]
    at[0] += -4.0 if at[0] > 0 else 4.0


# Minimal groups


@spoils(Spoilt.scenes, "minimal_material_shape")
def other_color_in_a_group(data: Spoilt, rows: list[Row]) -> None:
    color = rows[1]["objects"][0]["color"]
    rows[1]["objects"][0]["color"] = "red" if color != "red" else "blue"


@spoils(Spoilt.scenes, "minimal_material_shape")
def moved_object_in_a_group(data: Spoilt, rows: list[Row]) -> None:
    rows[1]["objects"][0]["3d_coords"][0] += 0.5


def two_answers_yes_in_a_group(data: Spoilt) -> None:
    yes = data.vocab["answer_token_to_idx"]["yes"]
    answers = data.column("minimal_iid", "answers")
    row = int((answers != yes).argmax())

    def arrays(each: dict[str, Any]) -> None:
        each["answers"][row] = yes

    def questions(rows: list[Row]) -> None:
        rows[row]["answer"] = "yes"

    data.arrays("minimal_iid", arrays)
    data.questions("minimal_iid", questions)


# Texts


def another_value_said(data: Spoilt) -> None:
    row, place = data.first_row_with("train", "red")
    data.arrays("train", lambda each: each["questions"].__setitem__((row, place), data.word("blue")))


@spoils(Spoilt.arrays, "train")
def words_in_another_order(data: Spoilt, each: dict[str, Any]) -> None:
    each["questions"][0, 1:3] = each["questions"][0, 2:0:-1].copy()


@spoils(Spoilt.arrays, "train")
def another_answer(data: Spoilt, each: dict[str, Any]) -> None:
    each["answers"][0] = data.vocab["answer_token_to_idx"]["10"]


# Duplicates


@spoils(Spoilt.arrays, "train")
def same_question_twice(data: Spoilt, each: dict[str, Any]) -> None:
    for name, values in each.items():
        if name != "orig_idxs":
            values[1] = values[0]


@spoils(Spoilt.arrays, "train")
def image_comes_again(data: Spoilt, each: dict[str, Any]) -> None:
    for name, values in each.items():
        if name != "orig_idxs":
            values[[0, 20]] = values[[20, 0]]


# Balance


def one_answer_for_all(data: Spoilt) -> None:
    """Every question that can be answered yes is."""
    yes, no = (data.vocab["answer_token_to_idx"][name] for name in ("yes", "no"))

    def change(each: dict[str, Any]) -> None:
        each["answers"][each["answers"] == no] = yes

    data.arrays("train", change)


# The held-out pair


def pair_in_a_train_image(data: Spoilt) -> None:
    used = set(data.column("train", "image_idxs").tolist())

    def change(rows: list[Row]) -> None:
        row = next(row for row in rows if row["image_index"] in used)
        row["objects"][0] |= {"material": "rubber", "shape": "cylinder"}

    data.scenes("train", change)


def pair_in_a_program(data: Spoilt) -> None:
    tokens = data.vocab["program_token_to_idx"]

    def change(each: dict[str, Any]) -> None:
        program = [1, *(tokens[t] for t in PROGRAM), 2]
        each["programs"][0] = 0
        each["programs"][0, : len(program)] = program

    data.arrays("train", change)


PROGRAM = ("exist", "filter_shape[cylinder]", "filter_material[rubber]", "scene")


@spoils(Spoilt.arrays, "train")
def pair_in_words(data: Spoilt, each: dict[str, Any]) -> None:
    words = [1, *(data.word(w) for w in ("Are", "there", "matte", "cylinders")), 2]
    each["questions"][0] = 0
    each["questions"][0, : len(words)] = words


def no_pair_in_an_ood_image(data: Spoilt) -> None:
    used = set(data.column("complex_ood", "image_idxs").tolist())

    def change(rows: list[Row]) -> None:
        for each in next(row for row in rows if row["image_index"] in used)["objects"]:
            each["material"] = "metal"

    data.scenes("test_ood", change)


# Agreement of files


@spoils(Spoilt.questions, "train")
def another_answer_in_json(data: Spoilt, rows: list[Row]) -> None:
    rows[0]["answer"] = "10"


@spoils(Spoilt.questions, "train")
def another_image_name(data: Spoilt, rows: list[Row]) -> None:
    rows[0]["image_filename"] = "HOPE_train_999999.png"


def in_json(key: str, value: object) -> Plant:
    """A plant that gives a key of the sixth row another value, in JSON alone."""

    def plant(data: Spoilt) -> None:
        def change(rows: list[Row]) -> None:
            assert rows[5][key] != value
            rows[5][key] = value

        data.questions("train", change)

    return plant


def other_prefixes_in_json(data: Spoilt) -> None:
    path = data.path("hops/rubber_cylinder/train_questions.json")
    text = path.read_text()
    assert text.startswith('{"info": {"')
    path.write_text(text.replace('{"info": {', '{"info": {"prefixes": [100], ', 1))
    data.sign()


@spoils(Spoilt.arrays, "train")
def other_relation_needed(data: Spoilt, each: dict[str, Any]) -> None:
    """In HDF5 alone, and such as a program of two relations may have."""
    row = each["relation_needed"].tolist().index([1, 1, -1])
    each["relation_needed"][row, 0] = 0


FAULTS: dict[str, tuple[Plant, dict[str, list[str]]]] = {
    "other_bytes": (other_bytes, {"files": ["scenes/train/0000.json"]}),
    "other_size": (other_size, {"files": ["index.html"]}),
    "stray_file": (
        lambda data: data.path("hops/notes.txt").write_text("mine"),
        {"files": ["hops/notes.txt"]},
    ),
    "other_number_in_the_manifest": (other_number_in_the_manifest, {"counts": [TRAIN]}),
    "measured questions": (
        measured(HOP_MEASURED, "splits", "train", "questions"),
        {"counts": [HOP_MEASURED]},
    ),
    "measured images": (
        measured(HOP_MEASURED, "splits", "minimal_ood", "images"),
        {"counts": [HOP_MEASURED]},
    ),
    "measured train of the folder": (
        measured("measured.json", "splits", "metal_cube", "train"),
        {"counts": ["measured.json"]},
    ),
    "measurements_cut_off": (
        lambda data: cut_off(data, HOP_MEASURED),
        {"counts": [HOP_MEASURED], "readable": [HOP_MEASURED]},
    ),
    "measurements_of_another_pair": (
        lambda data: data.measured(HOP_MEASURED, lambda raw: raw.update(hop="red_cube")),
        {"counts": [HOP_MEASURED]},
    ),
    "measurements_of_another_version": (
        lambda data: data.measured("measured.json", lambda raw: raw.update(format=0)),
        {"counts": ["measured.json"]},
    ),
    "split_that_the_manifest_lacks": (
        lambda data: data.manifest(lambda raw: raw["splits"]["rubber_cylinder"].pop("complex_ood")),
        {"counts": ["hops/rubber_cylinder/complex_ood.h5", HOP_MEASURED]},
    ),
    "pair_that_the_manifest_lacks": (
        lambda data: data.manifest(lambda raw: raw["splits"].pop("metal_cube")),
        {"counts": ["hops/metal_cube/train.h5"]},
    ),
    "copied_scene": (copied_scene, {"twin scenes": ["scenes/train"]}),
    "copied_scene_in_another_order": (copied_scene_in_another_order, {"twin scenes": ["scenes/train"]}),
    "one_relation_more": (one_relation_more, {"relationships": ["scenes/train"]}),
    "moved_object": (moved_object, {"relationships": ["scenes/train"]}),
    "train_image_in_a_test": (train_image_in_a_test, {"train and test": ["scenes/train"]}),
    "image_in_both_complex_sets": (image_in_both_complex_sets, {"train and test": ["scenes/test_iid"]}),
    "two_objects": (two_objects, {"numbers of objects": ["scenes/train"]}),
    "eleven_objects": (eleven_objects, {"numbers of objects": ["scenes/train"]}),
    "moved_camera": (moved_camera, {"relationships": ["scenes/train"], "visible objects": ["scenes/train"]}),
    "far_camera": (far_camera, {"relationships": ["scenes/train"]}),
    "mirrored": (mirrored, {"relationships": ["scenes/train"]}),
    "more_visible_pixels": (more_visible_pixels, {"visible objects": ["scenes/train"]}),
    "hidden_object": (hidden_object, {"visible objects": ["scenes/train"]}),
    "prefixes_that_are_none": (lambda data: data.attribute(TRAIN, "prefixes", [100]), {"arrays": [TRAIN]}),
    "other_relation_needed": (other_relation_needed, {"arrays": [TRAIN], JSON: [QUESTIONS]}),
    "other_color_in_a_group": (other_color_in_a_group, {"groups": ["scenes/minimal_material_shape"]}),
    "moved_object_in_a_group": (
        moved_object_in_a_group,
        {"groups": [MINIMAL]},
    ),
    "two_answers_yes_in_a_group": (
        two_answers_yes_in_a_group,
        {"groups": [MINIMAL]},
    ),
    "another_value_said": (another_value_said, {"text": [TRAIN]}),
    "words_in_another_order": (words_in_another_order, {"text": [TRAIN]}),
    "another_family": (lambda data: data.arrays("train", put("question_families", 0, 89)), {"text": [TRAIN]}),
    "another_answer": (another_answer, {"text": [TRAIN], "programs": [QUESTIONS]}),
    "same_question_twice": (same_question_twice, {"duplicates": [TRAIN]}),
    "image_comes_again": (image_comes_again, {"duplicates": [TRAIN]}),
    "one_answer_for_all": (one_answer_for_all, {"balance": [TRAIN]}),
    "pair_in_a_train_image": (pair_in_a_train_image, {"held-out pair": ["scenes/train"]}),
    "pair_in_a_program": (pair_in_a_program, {"held-out pair": [QUESTIONS]}),
    "pair_in_words": (pair_in_words, {"held-out pair": [QUESTIONS]}),
    "no_pair_in_an_ood_image": (no_pair_in_an_ood_image, {"held-out pair": ["scenes/test_ood"]}),
    "another_answer_in_json": (another_answer_in_json, {JSON: [TRAIN]}),
    "another_image_name": (another_image_name, {JSON: [QUESTIONS]}),
    "other_split_in_json": (in_json("split", "val"), {JSON: [QUESTIONS]}),
    "other_question_index_in_json": (in_json("question_index", 6), {JSON: [QUESTIONS]}),
    "other_template_filename_in_json": (in_json("template_filename", "one_hop_.json"), {JSON: [QUESTIONS]}),
    "other_template_index_in_json": (in_json("template_index", 99), {JSON: [QUESTIONS]}),
    "no_template_in_json": (
        lambda data: data.questions("train", lambda rows: rows[5].pop("template_index")),
        {JSON: [QUESTIONS]},
    ),
    "other_relation_needed_in_json": (in_json("relation_needed", [True]), {JSON: [QUESTIONS]}),
    "other_prefixes_in_json": (other_prefixes_in_json, {JSON: [QUESTIONS]}),
}
"""Fault -> what plants it, and the checks that must find it, each with the files that it names."""


def find(fault: str, data: Spoilt, *, has_json: bool) -> None:
    """Plants a fault, and looks where it is found."""
    plant, wanted = FAULTS[fault]
    plant(data)
    report = audit(data.root)
    found = failed(report)
    assert not report.ok
    for check, files in wanted.items():
        if check == JSON and not has_json:
            continue
        assert check in found, {name: each.faults[0] for name, each in found.items()}
        named = {fault.file for fault in found[check].faults}
        assert {file if has_json else file.replace("_questions.json", ".h5") for file in files} <= named


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_and_named(fault: str, spoilt: Spoilt) -> None:
    find(fault, spoilt, has_json=True)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [name for name, (_, wanted) in FAULTS.items() if {*wanted} - {JSON}])
def test_a_planted_fault_is_found_without_json(fault: str, spoilt_textless: Spoilt) -> None:
    find(fault, spoilt_textless, has_json=False)


def test_one_pixel_more_or_less_is_named(spoilt_textless: Spoilt) -> None:
    more_visible_pixels(spoilt_textless)
    found = failed(audit(spoilt_textless.root))
    assert list(found) == ["visible objects"]
    (fault,) = found["visible objects"].faults
    assert fault.index == spoilt_textless.column("train", "image_idxs")[0]
    assert fault.problem.startswith("object 1, a ")
    said = int(fault.problem.partition("does not show ")[2].partition(" ")[0])
    assert int(fault.value) == said - 1 >= 100


def test_an_object_that_cannot_be_seen_is_named(spoilt_textless: Spoilt) -> None:
    hidden_object(spoilt_textless)
    (fault,) = failed(audit(spoilt_textless.root))["visible objects"].faults
    assert fault.problem.endswith("shows less than 100 pixels")
    assert fault.value == "0"


@pytest.mark.slow
def test_numbers_of_objects_are_even_in_a_larger_split(train_alone: Path) -> None:
    report = audit(train_alone)
    assert report.ok
    (line,) = (each for each in report.checks if each.name == "numbers of objects")
    assert line.n_checked > 600


def test_a_fault_of_one_kind_fails_no_other_check(spoilt: Spoilt) -> None:
    FAULTS["another_family"][0](spoilt)
    # The family is in the JSON file too, and it decides what balance looks at.
    assert set(failed(audit(spoilt.root))) <= {"text", "HDF5 and JSON", "balance", "duplicates"}


def test_a_fault_is_named_with_its_question(spoilt: Spoilt) -> None:
    another_value_said(spoilt)
    row, _ = spoilt.first_row_with("train", "blue")
    (fault, *_) = failed(audit(spoilt.root))["text"].faults
    assert fault.problem == "its words do not mean its program"
    assert fault.value == spoilt.text("train", fault.index or 0)
    assert fault.index is not None
    assert row <= fault.index
