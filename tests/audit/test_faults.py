"""Every kind of fault that the audit is for, planted in a dataset: found, by its own check, and named."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import pytest
from spoiling import TRAIN, Plant, Row, Spoilt, check_faults, put

from clevrhope.audit import audit


def spoils(change: Callable[..., None], *names: str) -> Callable[[Callable[[Spoilt, Any], None]], Plant]:
    """Makes a plant of a function that changes what a method of the folder hands to it."""
    return lambda spoil: lambda data: change(data, *names, partial(spoil, data))


HOP_MEASURED = "hops/rubber_cylinder/measured.json"


def used_scene(data: Spoilt, change: Callable[[Row], None]) -> None:
    """Changes the first train scene that the pair asks about."""
    index = int(data.column("train", "image_idxs")[0])
    data.scenes("train", lambda rows: change(next(row for row in rows if row["image_index"] == index)))


# Files


def other_bytes(data: Spoilt) -> None:
    path = data.path("scenes/train/0000.json")
    path.write_bytes(path.read_bytes().replace(b"train", b"trail", 1))


# Counts


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


def asked_about(split: str, of: str, pool: str) -> Plant:
    """A plant that has all questions of a split ask about an image of another split, whose pool is said."""

    def plant(data: Spoilt) -> None:
        image = data.column(of, "image_idxs")[0]
        with h5py.File(data.h5(split), "r+") as file:
            file.attrs["pool"] = pool
            file["image_idxs"][:] = image
        entry = {"pool": pool, "images": 1}
        data.manifest(lambda raw: raw["splits"]["rubber_cylinder"][split].update(entry))
        data.sign()

    return plant


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


@spoils(Spoilt.arrays, "train")
def one_answer_for_all(data: Spoilt, each: dict[str, Any]) -> None:
    """Every question that can be answered yes is."""
    yes, no = (data.vocab["answer_token_to_idx"][name] for name in ("yes", "no"))
    each["answers"][each["answers"] == no] = yes


# The held-out pair


def changed_image(split: str, pool: str, change: Callable[[list[Row]], Any]) -> Plant:
    """A plant that changes the objects of the first scene that a split asks about."""

    def plant(data: Spoilt) -> None:
        used = set(data.column(split, "image_idxs").tolist())
        data.scenes(pool, lambda rows: change(next(r for r in rows if r["image_index"] in used)["objects"]))

    return plant


def rubber_cylinder(objects: list[Row]) -> None:
    objects[0] |= {"material": "rubber", "shape": "cylinder"}


@spoils(Spoilt.arrays, "train")
def pair_in_words(data: Spoilt, each: dict[str, Any]) -> None:
    words = [1, *(data.word(w) for w in ("Are", "there", "matte", "cylinders")), 2]
    each["questions"][0] = 0
    each["questions"][0, : len(words)] = words


# Agreement of files


def in_json(key: str, value: object, row: int = 5) -> Plant:
    """A plant that gives a key of a row another value, in JSON alone."""

    def plant(data: Spoilt) -> None:
        def change(rows: list[Row]) -> None:
            assert rows[row][key] != value
            rows[row][key] = value

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


FAULTS: dict[str, Plant] = {
    "other bytes": other_bytes,
    "unlisted page": lambda data: data.path("index.html").write_text(""),
    "unlisted notes": lambda data: data.path("hops/notes.txt").write_text("mine"),
    "images of a split": lambda data: data.manifest(
        lambda raw: raw["splits"]["rubber_cylinder"]["train"].update(images=9)
    ),
    "questions measured": measured(HOP_MEASURED, "splits", "train", "questions"),
    "images measured": measured(HOP_MEASURED, "splits", "minimal_ood", "images"),
    "splits measured": measured("measured.json", "splits", "metal_cube", "train"),
    "measurements cut off": lambda data: cut_off(data, HOP_MEASURED),
    "measurements of another pair": lambda data: data.measured(
        HOP_MEASURED, lambda raw: raw.update(hop="red_cube")
    ),
    "measurements of another format": lambda data: data.measured(
        "measured.json", lambda raw: raw.update(format=0)
    ),
    "split that is not in the manifest": lambda data: data.manifest(
        lambda raw: raw["splits"]["rubber_cylinder"].pop("complex_ood")
    ),
    "pair that is not in the manifest": lambda data: data.manifest(
        lambda raw: raw["splits"].pop("metal_cube")
    ),
    "copied scene": copied_scene,
    "copied scene in another order": copied_scene_in_another_order,
    "one relation more": one_relation_more,
    "moved object": moved_object,
    "train image in a test": asked_about("complex_iid", "train", "train"),
    "IID image in an OOD test": asked_about("complex_ood", "complex_iid", "test_iid"),
    "two objects": two_objects,
    "eleven objects": eleven_objects,
    "moved camera": moved_camera,
    "far camera": far_camera,
    "mirrored": mirrored,
    "more visible pixels": more_visible_pixels,
    "hidden object": hidden_object,
    "prefixes": lambda data: data.attribute(TRAIN, "prefixes", [100]),
    "other relation needed": other_relation_needed,
    "other color in a group": other_color_in_a_group,
    "moved object in a group": moved_object_in_a_group,
    "two answers yes in a group": two_answers_yes_in_a_group,
    "another value said": another_value_said,
    "words in another order": words_in_another_order,
    "another family": lambda data: data.arrays("train", put("question_families", 0, 89)),
    "another answer": another_answer,
    "same question twice": same_question_twice,
    "image comes again": image_comes_again,
    "one answer for all": one_answer_for_all,
    "pair in a train image": changed_image("train", "train", rubber_cylinder),
    "pair in words": pair_in_words,
}
"""What plants a fault in a folder whose questions are in JSON, too."""

IN_JSON: dict[str, Plant] = {
    "answer": in_json("answer", "10", row=0),
    "image": in_json("image_filename", "HOPE_train_999999.png", row=0),
    "split": in_json("split", "val"),
    "number": in_json("question_index", 6),
    "template file": in_json("template_filename", "one_hop_.json"),
    "template": in_json("template_index", 99),
    "no template": lambda data: data.questions("train", lambda rows: rows[5].pop("template_index")),
    "relation needed": in_json("relation_needed", [True]),
    "prefixes": other_prefixes_in_json,
}
"""What plants a fault in question files in JSON alone."""


@pytest.mark.slow
@pytest.mark.parametrize("plant", FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_found_and_named(plant: Plant, spoilt: Spoilt) -> None:
    plant(spoilt)
    check_faults(spoilt.root)


IN_ARRAYS = (
    *("train image in a test", "IID image in an OOD test", "prefixes", "other relation needed"),
    *("two answers yes in a group", "another value said", "words in another order", "another family"),
    *("another answer", "same question twice", "image comes again", "one answer for all"),
    "pair in words",
)
"""What is read from HDF5 alone where there is no JSON; scenes and measurements are the same in both cases."""


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_ARRAYS)
def test_a_planted_fault_is_found_without_json(name: str, spoilt_textless: Spoilt) -> None:
    FAULTS[name](spoilt_textless)
    check_faults(spoilt_textless.root)


@pytest.mark.slow
@pytest.mark.parametrize("plant", IN_JSON.values(), ids=IN_JSON)
def test_a_fault_in_json_alone_is_found(plant: Plant, spoilt: Spoilt) -> None:
    plant(spoilt)
    check_faults(spoilt.root)


@pytest.mark.slow
def test_numbers_of_objects_are_even_in_a_larger_split(train_alone: Path) -> None:
    report = audit(train_alone)
    assert report.ok
    (line,) = (each for each in report.checks if each.name == "numbers of objects")
    assert line.n_checked > 600
