"""The check for leaks: it passes a clean folder, and finds each fault that a test plants in one."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from leak_dataset import CYLINDER, RUBBER, Dataset, chain, clean, report_on, step, wrong_answer

from clevrhope._core import AuditViolation
from clevrhope.audit.leaks.report import VIOLATIONS
from wording import check_words


def test_a_clean_folder_passes(tmp_path: Path) -> None:
    report = report_on(clean(), tmp_path)
    assert report.violations == ()
    assert report.ok
    counts = {each.split: (each.n_questions, each.n_images) for each in report.splits}
    assert counts == {
        "train": (3, 2),
        "complex_iid": (1, 1),
        "complex_ood": (2, 2),
        "minimal_iid": (3, 3),
        "minimal_ood": (4, 4),
    }
    assert {each.split: each.n_mentioning for each in report.splits}["complex_ood"] == 2
    assert len(report.checked()) == 8
    assert "alone (something with one value" in report.checked()[5]
    assert ", 0 of train and 0 of complex_iid ask for a rubber cylinder." in report.checked()[5]


def test_questions_that_imply_the_pair_are_counted(tmp_path: Path) -> None:
    data = clean()
    like_rubber = chain(RUBBER, "filter_shape cube", "unique", "same_material", CYLINDER, "exist")
    asked = "Is there a cylinder that has the same material as the rubber cube?"
    for _ in range(2):
        data.ask("train", 0, asked, "no", like_rubber)
    same = [
        *chain(RUBBER, "filter_shape cube", "unique", "query_material"),
        step("scene", inputs=[]),
        step("filter_shape", "cylinder", inputs=[5]),
        step("unique", inputs=[6]),
        step("query_material", inputs=[7]),
        step("equal_material", inputs=[4, 8]),
    ]
    data.ask("complex_iid", 0, "Is the cylinder made of the same material as the rubber cube?", "no", same)
    report = report_on(data, tmp_path)
    assert report.ok, report.violations
    assert {each.split: each.n_implying for each in report.splits}["train"] == 2
    assert ", 2 of train and 1 of complex_iid ask for a rubber cylinder." in report.checked()[5]
    data.strictness = "implied"
    strict = report_on(data, tmp_path / "strict")
    check_words("\n".join(map(str, strict.violations)))


def test_a_folder_that_implies_nothing_says_so(tmp_path: Path) -> None:
    data = clean()
    data.strictness = "implied"
    report = report_on(data, tmp_path)
    assert report.ok
    assert report.checked()[5].startswith("Held out by --strictness implied: ")
    assert ", 0 of train and 0 of complex_iid ask for a rubber cylinder." in report.checked()[5]


Plant = Callable[[Dataset], Any]
MINIMAL = "minimal_material_shape"


def in_scene(pool: str, scene: int, place: int, **values: object) -> Plant:
    """A plant that changes an object of a scene."""
    return lambda data: data.scenes[pool][scene]["objects"][place].update(values)


def in_question(split: str, row: int, **fields: object) -> Plant:
    """A plant that changes a question."""
    return lambda data: data.questions[split][row].update(fields)


def union_with_pair(data: Dataset) -> None:
    """No chain of filters holds both, but a filter meets what comes out of a union."""
    row = data.questions["train"][2]
    row["program"][5]["value_inputs"] = ["rubber"]
    row["answer"] = "0"


def two_matches_in_a_group(data: Dataset) -> None:
    data.scenes[MINIMAL][1]["objects"][0]["shape"] = "cylinder"
    data.questions["minimal_ood"][1]["answer"] = "yes"
    data.questions["minimal_iid"] = data.questions["minimal_iid"][1:]


def shared_scene(data: Dataset) -> None:
    """The same objects in the same places, under another name."""
    twin = deepcopy(data.scenes["train"][0])
    data.scenes["test_iid"] = [{**twin, "image_index": 0, "image_filename": "HOPE_test_iid_000000.png"}]


def shared_name(data: Dataset) -> None:
    name = data.scenes["test_ood"][0]["image_filename"]
    data.scenes["test_iid"][0]["image_filename"] = data.questions["complex_iid"][0]["image_filename"] = name


FAULTS: dict[str, Plant] = {
    "pair in a train image": in_scene("train", 1, 2, shape="cylinder"),
    "pair in an IID image": in_scene("test_iid", 0, 1, material="rubber"),
    "pair in a program alone": in_question("train", 0, program=chain(RUBBER, CYLINDER, "count"), answer="0"),
    "pair in a union": union_with_pair,
    "pair in words": in_question("train", 1, question="What color is the matte cylinder?"),
    "pair in the words of a union": in_question(
        "train", 2, question="How many matte things are either red blocks or cylinders?"
    ),
    "pair in the words of minimal_iid": in_question(
        "minimal_iid", 0, question="Is there any matte cylinder?"
    ),
    "pair in an image of minimal_iid": in_question(
        "minimal_iid", 0, image_index=0, image_filename=f"HOPE_{MINIMAL}_000000.png"
    ),
    "no pair in an OOD image": in_scene("test_ood", 0, 0, material="metal"),
    "no pair in an OOD program": in_question(
        "complex_ood", 1, program=chain(CYLINDER, "unique", "query_color")
    ),
    "no pair in OOD words": in_question(
        "complex_ood", 1, question="There is a cylinder; what color is the matte thing?"
    ),
    "no pair in the words of minimal_ood": in_question(
        "minimal_ood", 2, question="Are there any rubber cubes?"
    ),
    "a group asked in other words": in_question("minimal_ood", 2, question="Is there any matte cylinder?"),
    "two matches in a group": two_matches_in_a_group,
    "an image of a group elsewhere": in_scene(MINIMAL, 3, 0, rotation=46.0),
    "a question twice in minimal_ood": lambda data: data.questions["minimal_ood"].append(
        data.questions["minimal_ood"][1]
    ),
    "wrong answer": wrong_answer,
    "program without answer": in_question("train", 1, program=chain(RUBBER, "unique", "query_color")),
    "unknown function": in_question("train", 1, program=chain("filter_material metal", "unique", "weigh")),
    "shared scene": shared_scene,
    "shared name": shared_name,
    "shared bytes": lambda data: setattr(data, "same_bytes", True),
    "missing scene": lambda data: data.scenes["train"].pop(1),
    "scene twice": lambda data: data.scenes["train"].append(data.scenes["train"][0]),
    "another image": in_question("train", 2, image_filename="HOPE_train_000000.png"),
}


@pytest.mark.parametrize("plant", FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_found(plant: Plant, tmp_path: Path) -> None:
    data = clean()
    plant(data)
    report = report_on(data, tmp_path)
    assert not report.ok
    assert report.checked() == ()
    check_words(
        "\n".join(f"{name}: {fault}" for name, line in report.results.items() for fault in line.faults)
    )


def test_every_violation_of_the_native_readers_has_a_kind_and_a_sentence() -> None:
    every = {each for each in vars(AuditViolation).values() if isinstance(each, AuditViolation)}
    assert len(every) == 9
    assert every == set(VIOLATIONS)
