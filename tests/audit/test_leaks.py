"""The check for leaks: it passes a clean folder, and finds each fault that a test plants in one."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
from leak_dataset import CYLINDER, HOP, RUBBER, Dataset, chain, clean, report_on, step, wrong_answer

from clevrhope._core import AuditViolation
from clevrhope.audit.leaks.report import VIOLATIONS, Kind
from clevrhope.audit.report import MAX_LISTED


def test_a_clean_folder_passes(tmp_path: Path) -> None:
    report = report_on(clean(), tmp_path)
    assert report.violations == ()
    assert report.ok
    counts = {
        each.split: (each.n_questions, each.n_images, each.n_images_with_pair) for each in report.splits
    }
    assert counts == {
        "train": (3, 2, 0),
        "complex_iid": (1, 1, 0),
        "complex_ood": (2, 2, 2),
        "minimal_iid": (3, 3, 0),
        "minimal_ood": (4, 4, 1),
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
    same = [*chain(RUBBER, "filter_shape cube", "unique", "query_material")]
    same += [
        step("scene", inputs=[]),
        step("filter_shape", "cylinder", inputs=[5]),
        step("unique", inputs=[6]),
    ]
    same += [step("query_material", inputs=[7]), step("equal_material", inputs=[4, 8])]
    data.ask("complex_iid", 0, "Is the cylinder made of the same material as the rubber cube?", "no", same)
    report = report_on(data, tmp_path)
    assert report.ok, report.violations
    assert {each.split: each.n_implying for each in report.splits}["train"] == 2
    assert ", 2 of train and 1 of complex_iid ask for a rubber cylinder." in report.checked()[5]
    data.strictness = "implied"
    strict = report_on(data, tmp_path / "strict")
    problem = "asks for a rubber cylinder through likenesses"
    questions = "hops/rubber_cylinder/{}_questions.json".format
    assert [(each.file, each.index, each.problem) for each in strict.violations] == [
        (questions("train"), 3, problem),
        (questions("train"), 4, problem),
        (questions("complex_iid"), 1, problem),
    ]


def test_a_folder_that_implies_nothing_says_so(tmp_path: Path) -> None:
    data = clean()
    data.strictness = "implied"
    report = report_on(data, tmp_path)
    assert report.ok
    assert report.checked()[5].startswith("Held out by --strictness implied: ")
    assert ", 0 of train and 0 of complex_iid ask for a rubber cylinder." in report.checked()[5]


def scene_with_pair(data: Dataset) -> None:
    data.scenes["train"][1]["objects"][2]["shape"] = "cylinder"


def iid_scene_with_pair(data: Dataset) -> None:
    data.scenes["test_iid"][0]["objects"][1]["material"] = "rubber"


def program_with_pair(data: Dataset) -> None:
    """Only the program: its words speak of a cylinder."""
    data.questions["train"][0]["program"] = chain(RUBBER, CYLINDER, "count")
    data.questions["train"][0]["answer"] = "0"


def union_with_pair(data: Dataset) -> None:
    """No chain of filters holds both, but a filter meets what comes out of a union."""
    program = data.questions["train"][2]["program"]
    program[5]["value_inputs"] = ["rubber"]
    data.questions["train"][2]["answer"] = "0"


def words_with_pair(data: Dataset) -> None:
    data.questions["train"][1]["question"] = "What color is the matte cylinder?"


def words_of_a_union_with_pair(data: Dataset) -> None:
    data.questions["train"][2]["question"] = "How many matte things are either red blocks or cylinders?"


def minimal_iid_question_with_pair(data: Dataset) -> None:
    data.questions["minimal_iid"][0]["question"] = "Is there any matte cylinder?"


def minimal_iid_image_with_pair(data: Dataset) -> None:
    row = data.questions["minimal_iid"][0]
    row["image_index"], row["image_filename"] = 0, "HOPE_minimal_material_shape_000000.png"


def ood_scene_without_pair(data: Dataset) -> None:
    data.scenes["test_ood"][0]["objects"][0]["material"] = "metal"


def ood_program_without_pair(data: Dataset) -> None:
    data.questions["complex_ood"][1]["program"] = chain(CYLINDER, "unique", "query_color")


def ood_words_without_pair(data: Dataset) -> None:
    data.questions["complex_ood"][1]["question"] = "There is a cylinder; what color is the matte thing?"


def minimal_ood_words_without_pair(data: Dataset) -> None:
    data.questions["minimal_ood"][2]["question"] = "Are there any rubber cubes?"


def two_matches_in_a_group(data: Dataset) -> None:
    data.scenes["minimal_material_shape"][1]["objects"][0]["shape"] = "cylinder"
    data.questions["minimal_ood"][1]["answer"] = "yes"
    data.questions["minimal_iid"] = data.questions["minimal_iid"][1:]


def a_image_of_a_group_elsewhere(data: Dataset) -> None:
    data.scenes["minimal_material_shape"][3]["objects"][0]["rotation"] = 46.0


def a_group_asked_in_other_words(data: Dataset) -> None:
    data.questions["minimal_ood"][2]["question"] = "Is there any matte cylinder?"


def a_question_twice_in_minimal_ood(data: Dataset) -> None:
    data.questions["minimal_ood"].append(data.questions["minimal_ood"][1])


def program_without_answer(data: Dataset) -> None:
    data.questions["train"][1]["program"] = chain(RUBBER, "unique", "query_color")


def unknown_function(data: Dataset) -> None:
    data.questions["train"][1]["program"] = chain("filter_material metal", "unique", "weigh")


def shared_scene(data: Dataset) -> None:
    """The same objects in the same places, under another name."""
    twin = deepcopy(data.scenes["train"][0])
    data.scenes["test_iid"] = [{**twin, "image_index": 0, "image_filename": "HOPE_test_iid_000000.png"}]


def shared_name(data: Dataset) -> None:
    name = data.scenes["test_ood"][0]["image_filename"]
    data.scenes["test_iid"][0]["image_filename"] = data.questions["complex_iid"][0]["image_filename"] = name


def shared_bytes(data: Dataset) -> None:
    data.same_bytes = True


def missing_scene(data: Dataset) -> None:
    del data.scenes["train"][1]


def missing_image(data: Dataset) -> None:
    data.images_left_out = ("HOPE_train_000003.png",)


def scene_twice(data: Dataset) -> None:
    data.scenes["train"].append(data.scenes["train"][0])


def another_image(data: Dataset) -> None:
    data.questions["train"][2]["image_filename"] = "HOPE_train_000000.png"


@pytest.mark.parametrize(
    ("spoil", "file", "index", "problem", "kind"),
    [
        (scene_with_pair, "scenes/train", 3, "an image of train shows", Kind.PAIR),
        (iid_scene_with_pair, "scenes/test_iid", 0, "an image of complex_iid shows", Kind.PAIR),
        (program_with_pair, "train_questions.json", 0, "mentions rubber cylinder in its program", Kind.PAIR),
        (union_with_pair, "train_questions.json", 2, "mentions rubber cylinder in its program", Kind.PAIR),
        (words_with_pair, "train_questions.json", 1, "mentions rubber cylinder in its words", Kind.PAIR),
        (
            words_of_a_union_with_pair,
            "train_questions.json",
            2,
            "mentions rubber cylinder in its words",
            Kind.PAIR,
        ),
        (
            minimal_iid_question_with_pair,
            "minimal_iid_questions.json",
            0,
            "mentions rubber cylinder in its words",
            Kind.PAIR,
        ),
        (
            minimal_iid_image_with_pair,
            "scenes/minimal_material_shape",
            0,
            "an image of minimal_iid shows",
            Kind.PAIR,
        ),
        (ood_scene_without_pair, "scenes/test_ood", 1, "an image of complex_ood lacks", Kind.PAIR),
        (
            ood_program_without_pair,
            "complex_ood_questions.json",
            1,
            "does not mention rubber cylinder in its program",
            Kind.PAIR,
        ),
        (
            ood_words_without_pair,
            "complex_ood_questions.json",
            1,
            "does not mention rubber cylinder in its words",
            Kind.PAIR,
        ),
        (
            minimal_ood_words_without_pair,
            "minimal_ood_questions.json",
            2,
            "does not mention rubber cylinder in its words",
            Kind.PAIR,
        ),
        (
            a_group_asked_in_other_words,
            "minimal_ood_questions.json",
            0,
            "not asked once about each of 4 images",
            Kind.GROUP,
        ),
        (
            two_matches_in_a_group,
            "scenes/minimal_material_shape",
            0,
            "two images of one place show the same values",
            Kind.GROUP,
        ),
        (
            a_image_of_a_group_elsewhere,
            "minimal_ood_questions.json",
            0,
            "not asked once about each of 4 images",
            Kind.GROUP,
        ),
        (
            a_question_twice_in_minimal_ood,
            "minimal_ood_questions.json",
            None,
            "not exactly 3 answers in 4",
            Kind.GROUP,
        ),
        (wrong_answer, "train_questions.json", 2, "its program gives 2", Kind.PROGRAM),
        (
            program_without_answer,
            "train_questions.json",
            1,
            "its program has no answer (a unique of not one object)",
            Kind.PROGRAM,
        ),
        (
            unknown_function,
            "train_questions.json",
            1,
            "its program has no answer (not a program of CLEVR's functions)",
            Kind.PROGRAM,
        ),
        (shared_scene, "scenes/test_iid", 0, "an image of complex_iid is also in train", Kind.SHARED),
        (shared_name, "scenes/test_ood", 1, "an image of complex_ood is also in complex_iid", Kind.SHARED),
        (shared_bytes, "scenes/test_iid", 0, "an image of complex_iid is also in train", Kind.SHARED),
        (missing_scene, "scenes/train", 3, "a question's scene is missing", Kind.DISAGREEMENT),
        (missing_image, "images/train", 3, "no such image", Kind.DISAGREEMENT),
        (scene_twice, "scenes/train", 0, "the scene occurs twice", Kind.DISAGREEMENT),
        (
            another_image,
            "train_questions.json",
            2,
            "names another image than its scene",
            Kind.DISAGREEMENT,
        ),
    ],
)
def test_a_planted_fault_is_found(
    spoil: Callable[[Dataset], None],
    file: str,
    index: int | None,
    problem: str,
    kind: Kind,
    tmp_path: Path,
) -> None:
    data = clean()
    spoil(data)
    report = report_on(data, tmp_path)
    assert not report.ok
    assert report.checked() == ()
    found = {
        name: [
            (v.file.removeprefix(f"hops/{HOP.name}/"), v.index) for v in line.faults if problem in v.problem
        ]
        for name, line in report.lines.items()
    }
    assert (file, index) in found[kind], [str(v) for v in report.violations]
    assert [name for name, places in found.items() if places] == [kind]


def test_every_violation_of_the_native_readers_has_a_kind_and_a_sentence() -> None:
    every = {each for each in vars(AuditViolation).values() if isinstance(each, AuditViolation)}
    assert len(every) == 9
    assert every == set(VIOLATIONS)


def test_all_violations_are_counted_and_the_first_are_listed(tmp_path: Path) -> None:
    data = clean()
    n = MAX_LISTED + 7
    for _ in range(n):
        data.ask("train", 0, "Is there a matte cylinder?", "no", chain("filter_shape cube", "exist"))
    report = report_on(data, tmp_path)
    listed = report.lines[Kind.PAIR].faults
    assert report.lines[Kind.PAIR].n_faults == n
    assert [each.index for each in listed] == list(range(3, 3 + MAX_LISTED))
    assert {each.problem for each in listed} == {"mentions rubber cylinder in its words"}
    assert report.lines[Kind.PROGRAM].n_faults == n  # there is a cube
