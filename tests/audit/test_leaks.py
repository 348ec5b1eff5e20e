"""The check for leaks: it passes a clean folder, and finds each fault that a test plants in one."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from clevrhope.audit.leaks.check import check_leaks
from clevrhope.audit.leaks.report import Kind, LeakReport
from clevrhope.errors import DatasetError
from clevrhope.splits.hops import Hop

HOP = Hop("rubber_cylinder", (("material", "rubber"), ("shape", "cylinder")), 6)
POOLS = {
    "train": "train",
    "complex_iid": "test_iid",
    "complex_ood": "test_ood",
    "minimal_iid": "minimal_material_shape",
    "minimal_ood": "minimal_material_shape",
}
VALUES = {
    "size": "small large",
    "color": "red gray blue cyan brown",
    "material": "rubber metal",
    "shape": "cube cylinder sphere",
}
# As in a real folder, the vocabulary has all values of the world, asked for or not.
VALUE_TOKENS = {f"filter_{kind}[{value}]" for kind, values in VALUES.items() for value in values.split()}
SPECIAL = ("<NULL>", "<START>", "<END>", "<UNK>")
Row = dict[str, Any]


def step(function: str, *values: str, inputs: list[int]) -> Row:
    return {"function": function, "value_inputs": list(values), "inputs": inputs}


def chain(*functions: str) -> list[Row]:
    """A program without branches: each step takes the one before; "filter_color red" is a filter."""
    return [step(*f.split(), inputs=[k - 1] if k else []) for k, f in enumerate(("scene", *functions))]


def scene(pool: str, index: int, *objects: str, row: float | None = None) -> Row:
    """Objects ("small red rubber cube") from left to right, in a row of the scene's own if none is given."""
    n = len(objects)
    values = [
        dict(zip(("size", "color", "material", "shape"), each.split(), strict=True)) for each in objects
    ]
    places = [{"3d_coords": [i, index if row is None else row, 0.7], "rotation": 45.0} for i in range(n)]
    left, right = [list(range(i)) for i in range(n)], [list(range(i + 1, n)) for i in range(n)]
    return {
        "image_index": index,
        "image_filename": f"HOPE_{pool}_{index:06d}.png",
        "objects": [{**each, **place} for each, place in zip(values, places, strict=True)],
        "relationships": {"left": left, "right": right, "behind": left, "front": right},
    }


@dataclass
class Dataset:
    """A folder's content, to be spoilt and written."""

    scenes: dict[str, list[Row]] = field(default_factory=dict)
    questions: dict[str, list[Row]] = field(default_factory=dict)
    spoil_arrays: Callable[[str, dict[str, Any]], None] = lambda split, arrays: None
    same_bytes: bool = False
    strictness: str = "description"
    images_left_out: tuple[str, ...] = ()

    def ask(self, split: str, index: int, question: str, answer: str, program: list[Row]) -> None:
        self.questions.setdefault(split, []).append(
            {
                "split": split,
                "image_index": index,
                "image_filename": f"HOPE_{POOLS[split]}_{index:06d}.png",
                "question": question,
                "answer": answer,
                "program": deepcopy(program),
                "question_family_index": 85,
            }
        )

    def write(self, root: Path) -> None:
        vocab = self.vocab()
        for pool, rows in self.scenes.items():
            write_json(root / "scenes" / pool / "0000.json", {"info": {}, "scenes": rows})
            (root / "images" / pool).mkdir(parents=True)
            names = [
                row["image_filename"] for row in rows if row["image_filename"] not in self.images_left_out
            ]
            for name in names:
                (root / "images" / pool / name).write_bytes(b"")
        for split, rows in self.questions.items():
            folder = root / "hops" / HOP.name
            write_json(folder / f"{split}_questions.json", {"info": {}, "questions": rows})
            arrays = self.arrays(rows, vocab)
            self.spoil_arrays(split, arrays)
            with h5py.File(folder / f"{split}.h5", "w") as file:
                file.attrs.update({"hop": HOP.name, "split": split, "pool": POOLS[split]})
                for name, values in arrays.items():
                    file[name] = np.array(values, dtype=np.int32)
        write_json(root / "vocab.json", vocab)
        names = sorted(
            f"images/{pool}/{row['image_filename']}" for pool, rows in self.scenes.items() for row in rows
        )
        sums = {name: {"bytes": 0, "sha256": "same" if self.same_bytes else name} for name in names}
        write_json(root / "manifest.json", {"files": sums, "questions": {"strictness": self.strictness}})

    def vocab(self) -> dict[str, dict[str, int]]:
        rows = [row for rows in self.questions.values() for row in rows]
        lists = {
            "question_token_to_idx": {token for row in rows for token in tokens(row["question"])},
            "program_token_to_idx": {token for row in rows for token in prefix(row["program"])}
            | VALUE_TOKENS,
            "answer_token_to_idx": {row["answer"] for row in rows} | {str(n) for n in range(11)} | {"maybe"},
        }
        return {name: {t: i for i, t in enumerate([*SPECIAL, *sorted(each)])} for name, each in lists.items()}

    @staticmethod
    def arrays(rows: list[Row], vocab: dict[str, dict[str, int]]) -> dict[str, Any]:
        words, functions = vocab["question_token_to_idx"], vocab["program_token_to_idx"]
        questions = [[1, *(words[t] for t in tokens(row["question"])), 2] for row in rows]
        programs = [[1, *(functions[t] for t in prefix(row["program"])), 2] for row in rows]
        return {
            "questions": [each + [0] * (40 - len(each)) for each in questions],
            "question_lengths": [len(each) for each in questions],
            "programs": [each + [0] * (30 - len(each)) for each in programs],
            "program_lengths": [len(each) for each in programs],
            "answers": [vocab["answer_token_to_idx"][row["answer"]] for row in rows],
            "image_idxs": [row["image_index"] for row in rows],
            "orig_idxs": list(range(len(rows))),
            "question_families": [row["question_family_index"] for row in rows],
        }


def tokens(question: str) -> list[str]:
    return question.replace("?", "").replace(";", " ;").split()


def prefix(program: list[Row], at: int = -1) -> list[str]:
    last = program[at]
    name = f"{last['function']}[{last['value_inputs'][0]}]" if last["value_inputs"] else last["function"]
    return [name, *(token for i in last["inputs"] for token in prefix(program, i))]


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


RUBBER = "filter_material rubber"
CYLINDER = "filter_shape cylinder"
LEFT_OF_CYLINDER = chain(CYLINDER, "unique", "relate left", RUBBER, "count")


def clean() -> Dataset:
    """A folder in order: every split, images with several questions, a program with a branch."""
    data = Dataset()
    data.scenes["train"] = [
        scene("train", 0, "small red rubber cube", "large gray metal cylinder", "small cyan rubber sphere"),
        scene("train", 3, "large blue metal cylinder", "small red metal cube", "large red rubber sphere"),
    ]
    data.scenes["test_iid"] = [scene("test_iid", 0, "small blue rubber cube", "large cyan metal cylinder")]
    data.scenes["test_ood"] = [
        scene("test_ood", 1, "small red rubber cylinder", "large gray metal cube", "small gray rubber cube"),
        scene(
            "test_ood", 2, "large cyan metal sphere", "large brown rubber cylinder", "small gray metal sphere"
        ),
    ]
    corners = [
        f"small red {material} {shape}" for material in ("rubber", "metal") for shape in ("cylinder", "cube")
    ]
    data.scenes["minimal_material_shape"] = [
        scene("minimal_material_shape", index, each, row=0.0) for index, each in enumerate(corners)
    ]
    question = "How many matte things are left of the cylinder?"
    data.ask("train", 0, question, "1", LEFT_OF_CYLINDER)
    data.ask(
        "train",
        0,
        "What color is the metallic thing?",
        "gray",
        chain("filter_material metal", "unique", "query_color"),
    )
    either = [
        *chain(CYLINDER),
        step("scene", inputs=[]),
        step("filter_shape", "cube", inputs=[2]),
        step("union", inputs=[1, 3]),
        step("filter_material", "metal", inputs=[4]),
        step("count", inputs=[5]),
    ]
    data.ask("train", 3, "How many shiny things are either cylinders or blocks?", "2", either)
    data.ask("complex_iid", 0, question, "1", LEFT_OF_CYLINDER)
    asked = "There is a matte cylinder; what color is it?"
    for index, answer in ((1, "red"), (2, "brown")):
        data.ask("complex_ood", index, asked, answer, chain(RUBBER, CYLINDER, "unique", "query_color"))
    for index in range(4):
        answer = "yes" if index == 0 else "no"
        data.ask(
            "minimal_ood", index, "Are there any rubber cylinders?", answer, chain(RUBBER, CYLINDER, "exist")
        )
    for index in range(1, 4):
        program = chain("filter_material metal", CYLINDER, "exist")
        data.ask("minimal_iid", index, "Is there any shiny cylinder?", "yes" if index == 2 else "no", program)
    return data


def report_on(data: Dataset, root: Path) -> LeakReport:
    data.write(root)
    return check_leaks(root, HOP, images=True)


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
    assert "alone (something of one value" in report.checked()[5]
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
    problem = "asks for a rubber cylinder by way of likenesses"
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


def wrong_answer(data: Dataset) -> None:
    data.questions["train"][2]["answer"] = "1"


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
            "scenes/minimal_material_shape",
            0,
            "asked different questions",
            Kind.GROUP,
        ),
        (
            two_matches_in_a_group,
            "scenes/minimal_material_shape",
            0,
            "not one image in 4 of this place",
            Kind.GROUP,
        ),
        (
            a_image_of_a_group_elsewhere,
            "scenes/minimal_material_shape",
            0,
            "not one image in 4 of this",
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
        (shared_bytes, "scenes/test_ood", 1, "an image of complex_ood is also in complex_iid", Kind.SHARED),
        (missing_scene, "scenes/train", 3, "a question's scene is missing", Kind.DISAGREEMENT),
        (missing_image, "images/train", 3, "no such image", Kind.DISAGREEMENT),
        (scene_twice, "scenes/train", 0, "scene is there twice", Kind.DISAGREEMENT),
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
    found = [
        (v.file.removeprefix(f"hops/{HOP.name}/"), v.index) for v in report.violations if problem in v.problem
    ]
    assert (file, index) in found, [str(v) for v in report.violations]
    assert {v.kind for v in report.violations if problem in v.problem} == {kind}
    assert report.counts[kind] >= len(found)


@pytest.mark.parametrize(
    ("column", "place", "value"),
    [
        ("answers", 1, 4),
        ("image_idxs", 1, 3),
        ("orig_idxs", 2, 1),
        ("question_families", 0, 84),
        ("question_lengths", 0, 9),
        ("program_lengths", 0, 3),
        ("questions", (1, 3), 3),
        ("questions", (1, 39), 5),
        ("programs", (2, 1), 3),
    ],
)
def test_arrays_that_say_something_else_are_found(
    column: str, place: int | tuple[int, int], value: int, tmp_path: Path
) -> None:
    def spoil(split: str, arrays: dict[str, Any]) -> None:
        if split == "train":
            values = np.array(arrays[column])
            assert values[place] != value
            values[place] = value
            arrays[column] = values

    data = clean()
    data.spoil_arrays = spoil
    report = report_on(data, tmp_path)
    row = place if isinstance(place, int) else place[0]
    told = [v for v in report.violations if v.file == "hops/rubber_cylinder/train.h5"]
    assert [v.index for v in told] == [row]
    assert told[0].problem.startswith(column)
    # Of another image, program or answer, the answer does not come out either.
    others = [v for v in report.violations if v not in told]
    assert {v.index for v in others} <= {row}
    assert all(v.problem.startswith("its program") for v in others)


def test_rows_that_are_too_many_or_too_few_are_found(tmp_path: Path) -> None:
    def cut(split: str, arrays: dict[str, Any]) -> None:
        if split == "complex_ood":
            for name, values in arrays.items():
                arrays[name] = values[:1]

    data = clean()
    data.spoil_arrays = cut
    problems = [(v.file, v.problem) for v in report_on(data, tmp_path).violations]
    assert problems == [
        ("hops/rubber_cylinder/complex_ood_questions.json", "has 2 questions, the HDF5 file another number")
    ]


def test_a_split_with_one_file_is_found(tmp_path: Path) -> None:
    clean().write(tmp_path)
    (tmp_path / "hops" / HOP.name / "train.h5").unlink()
    report = check_leaks(tmp_path, HOP)
    assert [(v.file, v.index) for v in report.violations] == [("hops/rubber_cylinder/train.h5", None)]
    with pytest.raises(DatasetError, match=r"train\.h5"):
        check_leaks(tmp_path, HOP, splits=["train"])


def test_all_violations_are_counted_and_the_first_listed(tmp_path: Path) -> None:
    data = clean()
    data.questions["train"] = [{**data.questions["train"][0], "answer": "maybe"} for _ in range(300)]
    report = report_on(data, tmp_path)
    assert report.counts == {Kind.PROGRAM: 300}
    assert report.n_violations == 300
    assert len(report.violations) == 100
    assert str(report.violations[0]) == (
        "hops/rubber_cylinder/train_questions.json[0]: its program gives 1, not the answer: maybe"
    )


def test_many_violations_of_one_kind_hide_none_of_another(tmp_path: Path) -> None:
    data = clean()
    train = data.questions["train"]
    train[:] = [{**train[0], "answer": "maybe"} for _ in range(200)]
    train.append({**train[0], "answer": "1", "question": "How many matte cylinders are there?"})
    report = report_on(data, tmp_path)
    assert report.counts == {Kind.PROGRAM: 200, Kind.PAIR: 1}
    assert [v.index for v in report.violations if v.kind is Kind.PAIR] == [200]


def test_without_a_pair_all_else_is_checked(tmp_path: Path) -> None:
    data = clean()
    data.questions["train"][0]["answer"] = "0"
    data.write(tmp_path)
    (tmp_path / "hops" / HOP.name).rename(tmp_path / "hops" / "none")
    report = check_leaks(tmp_path, Hop("none", None, 0), splits=["train", "complex_iid", "complex_ood"])
    assert [v.problem for v in report.violations] == ["its program gives 1, not the answer"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vocab.json", "{}", "question_token_to_idx is missing"),
        ("vocab.json", '{"question_token_to_idx": [', r"vocab\.json:1:\d+: broken JSON"),
        (
            "hops/rubber_cylinder/train_questions.json",
            '{"questions": [{}]}',
            r"questions\[0\].question is missing",
        ),
        (
            "hops/rubber_cylinder/train_questions.json",
            '{"questions": [\n{"question": \n]}',
            r"json:2:\d+: broken",
        ),
        (
            "scenes/train/0000.json",
            '{"scenes": [{"image_index": 0}]}',
            r"0000\.json:1:\d+: not a CLEVR scene file",
        ),
        ("scenes/train/0000.json", '{"scenes": [', r"0000\.json:1:\d+: broken JSON"),
        ("hops/rubber_cylinder/train.h5", "none", "not a question file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(name: str, content: str, message: str, tmp_path: Path) -> None:
    clean().write(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(DatasetError, match=message):
        check_leaks(tmp_path, HOP)


def test_files_with_a_row_a_line_say_the_same(tmp_path: Path) -> None:
    data = clean()
    wrong_answer(data)
    expected = report_on(data, tmp_path)
    for path in [*tmp_path.glob("scenes/*/*.json"), *tmp_path.glob("hops/*/*.json")]:
        content = json.loads(path.read_text())
        key = "scenes" if "scenes" in content else "questions"
        rows = ",\n".join(json.dumps(row) for row in content[key])
        path.write_text(f'{{"info": {{}}, "{key}": [\n{rows}\n]}}\n')
    assert check_leaks(tmp_path, HOP, images=True) == expected
