"""Faults planted in questions over several images: found, each by its own line of the report, and named."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from spoiling import SETS, Arrays, Change, Row, Spoilt, check_faults, failed, put

from clevrhope._core import AuditReader
from clevrhope.audit import audit
from clevrhope.audit.sets import balance
from clevrhope.audit.sets.balance import best_threshold
from clevrhope.config.presets import PRESETS
from clevrhope.pipeline import Request, build

pytestmark = pytest.mark.slow

HOP = "rubber_cylinder"
TRAIN, DEV, TEST = (f"covr/{HOP}/{split}.h5" for split in ("train", "dev", "test"))
OOD, PARAPHRASED = (f"covr/{HOP}/{split}.h5" for split in ("test_ood", "test_paraphrased"))


def with_sets(out: Path, **changes: Any) -> Path:
    """A small sub-dataset with questions over several images."""
    sizes = replace(PRESETS["demo"].sizes, covr_train=300, covr_dev=60, covr_test=61)
    config = replace(PRESETS["demo"], sizes=sizes, **changes)
    build(Request(out=out, hops=(HOP,), splits=("train",), covr=True, config=config, seed=3, render=False))
    return out


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_sets(tmp_path_factory.mktemp("audit") / "whole")


@pytest.fixture
def data(whole: Path, tmp_path: Path) -> "SpoiltSets":
    return SpoiltSets.copy(whole, tmp_path / "spoilt")


class SpoiltSets(Spoilt):
    """A folder with questions over several images that may be written to."""

    def rows(self, file: str, change: Callable[[list[Row]], None]) -> None:
        """Changes the rows of a split's question file."""
        self._rows(file.replace(".h5", "_questions.json"), "questions", change)

    def row_of(self, file: str, template: str, **columns: int) -> int:
        """The first row of a template with these numbers, at an even place."""
        with h5py.File(self.path(file)) as opened:
            family = list(opened.attrs["templates"]).index(template)
            is_wanted = opened["question_families"][:] == family
            for name, number in columns.items():
                is_wanted &= opened[name][:] == number
        return int(np.flatnonzero(is_wanted[::2])[0]) * 2

    def read(self, file: str) -> Arrays:
        with h5py.File(self.path(file)) as opened:
            return {name: opened[name][:] for name in opened}

    @property
    def set_vocab(self) -> dict[str, dict[str, int]]:
        vocab: dict[str, dict[str, int]] = json.loads(self.path("covr/vocab.json").read_text())
        return vocab

    def number(self, name: str, key: str = "program") -> int:
        kind = "answer_token_to_idx" if key == "answer" else f"{key}_token_to_idx"
        return self.set_vocab[kind][name]


Plant = Callable[[SpoiltSets], None]


def in_split(file: str, change: Change) -> Plant:
    """A plant that changes the arrays of a split."""
    return lambda data: data.change(file, change)


def in_json(file: str, row: int, key: str, value: Any) -> Plant:
    """A plant that changes a key of a row of a question file."""
    return lambda data: data.rows(file, lambda rows: rows[row].__setitem__(key, value))


SETTINGS: list[dict[str, str]] = [
    {},
    {"covr_hold": "words"},
    {"distractors": "random"},
    {"strictness": "implied"},
]


@pytest.mark.parametrize("changes", SETTINGS)
def test_nothing_is_wrong_with_a_dataset_as_it_was_built(changes: dict[str, str], tmp_path: Path) -> None:
    report = audit(with_sets(tmp_path / "out", **changes))
    assert failed(report) == {}
    lines = {each.name: each for each in report.checks if each.name in SETS}
    assert [each.n_checked for each in lines.values()] == [543, 543, 543, 543, 543, 0]
    assert lines["several images: balance"].note.startswith("no cell has 1,000 questions")


def test_a_folder_without_such_questions_says_so(clean: Path) -> None:
    lines = [each for each in audit(clean).checks if each.name in SETS]
    assert {(each.result, each.note) for each in lines} == {
        ("not done", "this folder has no questions over several images")
    }


def test_a_file_that_cannot_be_read_is_left_out(data: SpoiltSets) -> None:
    path = data.path(DEV)
    path.write_bytes(path.read_bytes()[:1000])
    found = {each.name: each for each in audit(data.root).checks}
    assert found["several images: programs"].result == "in part"
    assert found["several images: programs"].note.endswith(f"whatever needs {DEV} was left out")
    assert found["programs"].result == "passed"


def dev_is_unlisted(data: SpoiltSets) -> None:
    data.manifest(lambda raw: raw["covr"][HOP].pop("covr_dev"))


def other_program_in_json(data: SpoiltSets) -> None:
    def change(rows: list[Row]) -> None:
        (condition,) = rows[data.row_of(TRAIN, "verify_quantifier")]["program"][-1]["arguments"]
        condition[-1]["arguments"] = ["cyan" if condition[-1]["operation"] == "filter" else "same_shape"]

    data.rows(TRAIN, change)


def same_answer_twice(arrays: Arrays) -> None:
    arrays["answers"][9] = arrays["answers"][8]


def two_texts_of_a_pair(arrays: Arrays) -> None:
    arrays["questions"][[11, 13]] = arrays["questions"][[13, 11]]


def other_numbers_of_answers(data: SpoiltSets) -> None:
    vocab = data.set_vocab
    answers = vocab["answer_token_to_idx"]
    answers["yes"], answers["no"] = answers["no"], answers["yes"]
    data.path("covr/vocab.json").write_text(json.dumps(vocab))
    data.sign()


def exchanged_answers(data: SpoiltSets) -> None:
    row = data.row_of(TRAIN, "count_group_by")

    def change(arrays: Arrays) -> None:
        arrays["answers"][row : row + 2] = arrays["answers"][row : row + 2][::-1]

    data.change(TRAIN, change)


def next_number(column: str, template: str, n: int) -> Plant:
    """The next number, of n, in a column of the first question of a template."""

    def plant(data: SpoiltSets) -> None:
        row = data.row_of(TRAIN, template)
        data.change(TRAIN, lambda arrays: put(column, row, (arrays[column][row] + 1) % n)(arrays))

    return plant


def second_match(data: SpoiltSets) -> None:
    """A distractor's scene becomes the source's, under another index."""
    row, arrays = data.row_of(TRAIN, "query_attr"), data.read(TRAIN)
    images, source = arrays["image_idxs"][row], arrays["sources"][row]
    other = images[(source + 1) % 3]

    def change(scenes: list[Row]) -> None:
        by_index = {scene["image_index"]: scene for scene in scenes}
        for key in ("objects", "relationships"):
            by_index[int(other)][key] = by_index[int(images[source])][key]

    data.scenes("train", change)


def no_cut(data: SpoiltSets) -> None:
    data.change(TRAIN, put("cut", data.row_of(TRAIN, "count", cut=1), 0))


def rubber_cylinders(data: SpoiltSets) -> None:
    """Some cylinders become rubber, in program and words."""
    tokens = [
        ("programs", data.number("filter_shape[cylinder]"), data.number("filter_material[rubber]")),
        ("questions", data.number("cylinder", "question"), data.number("rubber", "question")),
    ]

    def change(arrays: Arrays) -> None:
        for name, noun, attribute in tokens:
            rows, places = np.nonzero(arrays[name] == noun)
            arrays[name][rows, places - 1] = attribute

    data.change(TRAIN, change)


def rubber_in_words(data: SpoiltSets) -> None:
    cylinder, rubber = (data.number(word, "question") for word in ("cylinder", "rubber"))

    def change(arrays: Arrays) -> None:
        rows, places = np.nonzero(arrays["questions"] == cylinder)
        arrays["questions"][rows[0], places[0] - 1] = rubber

    data.change(DEV, change)


def rubber_in_images(data: SpoiltSets) -> None:
    def change(scenes: list[Row]) -> None:
        for thing in (thing for scene in scenes for thing in scene["objects"]):
            if thing["shape"] == "cylinder":
                thing["material"] = "rubber"

    data.scenes("val_iid", change)


def pair_elsewhere(place: int, value: int) -> Plant:
    def change(arrays: Arrays) -> None:
        arrays["pair_places"][arrays["pair_places"] == place] = value

    return in_split(OOD, change)


def text_of(source: str, row: int, file: str, rows: slice) -> Plant:
    """The text of a question becomes that of a pair of questions of another split."""
    return lambda data: data.change(file, put("questions", rows, data.read(source)["questions"][row]))


def other_questions(arrays: Arrays) -> None:
    arrays["answers"][[4, 5]] = arrays["answers"][[5, 4]]
    arrays["programs"][[6, 8]] = arrays["programs"][[8, 6]]


def one_answer_each(arrays: Arrays) -> None:
    arrays["answers"][1:21:2] = arrays["answers"][0:20:2]


IN_TRAIN: dict[str, Change] = {
    "place of the source": put("sources", 4, 5),
    "cut": put("cut", 4, 2),
    "structure": put("structures", 4, 4),
    "family": put("question_families", 4, 15),
    "pair place": put("pair_places", 4, 3),
    "number": put("orig_idxs", 4, 5),
    "answer": put("answers", 4, 0),
    "length": put("program_lengths", 4, 1),
    "missing scene": put("image_idxs", (4, 0), 99_999),
    "same scene twice": put("image_idxs", (4, slice(0, 2)), 1),
    "token behind the end": put("questions", (4, -1), 5),
    "same answer twice": same_answer_twice,
    "two texts of a pair": two_texts_of_a_pair,
    "one answer each": one_answer_each,
}

ROW_IN_JSON: dict[str, Any] = {
    "question": "Is it so?",
    "answer": "purple",
    "image_indices": [3],
    "image_filenames": ["HOPE_train_000003.png"],
    "source": 9,
    "template": "coutn",
    "structure": "w",
    "question_index": 7,
    "split": "covr_dev",
}
"""What is put into the 6th row of the question file of train in place of its value."""

FAULTS: dict[str, Plant] = {
    **{name: in_split(TRAIN, change) for name, change in IN_TRAIN.items()},
    **{f"{key} in JSON": in_json(TRAIN, 6, key, value) for key, value in ROW_IN_JSON.items()},
    "dev that is not in the manifest": dev_is_unlisted,
    "other program in JSON": other_program_in_json,
    "row more in JSON": lambda data: data.rows(TRAIN, lambda rows: rows.append(rows[0])),
    "another pool": lambda data: data.attribute(TRAIN, "pool", "val_iid"),
    "images in the manifest": lambda data: data.manifest(
        lambda raw: raw["covr"][HOP]["covr_dev"].update(images=1)
    ),
    "other numbers of answers": other_numbers_of_answers,
    "exchanged answers": exchanged_answers,
    "program of another template": next_number("question_families", "count", 15),
    "program of another structure": next_number("structures", "count", 4),
    "another source": next_number("sources", "verify_attr", 3),
    "second match": second_match,
    "no cut": no_cut,
    "rubber cylinders": rubber_cylinders,
    "rubber in words": rubber_in_words,
    "rubber in images": rubber_in_images,
    "pair in the source": pair_elsewhere(1, 2),
    "pair in distractors": pair_elsewhere(2, 1),
    "pair in no place": pair_elsewhere(1, 0),
    "pair where it is held out": in_split(TEST, put("pair_places", 3, 1)),
    "text of dev": text_of(DEV, 6, TEST, slice(4, 6)),
    "text of test": text_of(TEST, 2, PARAPHRASED, slice(2, 4)),
    "phrasing": in_json(PARAPHRASED, 2, "phrasing", 0),
    "other questions": in_split(PARAPHRASED, other_questions),
}


@pytest.mark.parametrize("plant", FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_found_on_its_lines(plant: Plant, data: SpoiltSets) -> None:
    plant(data)
    check_faults(data.root)


def test_an_idle_leaf_is_found_where_distractors_are_edited(tmp_path: Path) -> None:
    """Random distractors leave some last leaves without consequence."""
    data = SpoiltSets(with_sets(tmp_path / "out", distractors="random"))
    data.manifest(lambda raw: raw["questions"].pop("distractors"))
    faults = failed(audit(data.root))["several images: distractors"].faults
    assert any("its last leaf is of no consequence" in str(each) for each in faults)


def test_too_many_objects_are_found(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrhope.audit.sets.rules.MOST_OBJECTS", 12)
    faults = failed(audit(whole))["several images: files"].faults
    assert {fault.problem for fault in faults} == {"more than 12 objects in its images"}


def balance_of(data: SpoiltSets, change: Change, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the line on balance says, looking at cells so small that chance alone is at fault in some."""
    monkeypatch.setattr(balance, "LEAST_QUESTIONS", 4)
    monkeypatch.setattr("clevrhope.audit.report.MAX_LISTED", 10_000)
    data.change(TRAIN, change)
    (line,) = (each for each in audit(data.root).checks if each.name == "several images: balance")
    return "\n".join(map(str, line.faults))


def of_template(data: SpoiltSets, arrays: Arrays, template: str) -> Any:
    with h5py.File(data.path(TRAIN)) as file:
        return arrays["question_families"] == list(file.attrs["templates"]).index(template)


def test_answers_out_of_balance_are_found(data: SpoiltSets, monkeypatch: pytest.MonkeyPatch) -> None:
    yes = data.number("yes", "answer")

    def change(arrays: Arrays) -> None:
        arrays["answers"][of_template(data, arrays, "verify_attr")] = yes

    assert "+50.0 points off: yes" not in balance_of(data, lambda arrays: None, monkeypatch)
    found = balance_of(data, change, monkeypatch)
    assert re.search(
        rf"{TRAIN}: verify_attr, \w+: (\d+) of \1 answers of its type, \+50.0 points off: yes", found
    )


def test_sources_out_of_balance_are_found(data: SpoiltSets, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = f"{TRAIN}: sets of 5 images: the source is at this place +80.0 points off: 0"
    assert "sets of 5 images" not in balance_of(data, lambda arrays: None, monkeypatch)
    assert fault in balance_of(data, put("sources", slice(None), 0), monkeypatch)


@pytest.mark.parametrize("what", ["objects", "objects in the source", "images"])
def test_sizes_that_give_answers_away_are_found(
    what: str, data: SpoiltSets, monkeypatch: pytest.MonkeyPatch
) -> None:
    yes, no = data.number("yes", "answer"), data.number("no", "answer")
    n_objects = np.zeros(100_000, dtype=np.int64)
    for scene in json.loads(data.path("scenes/train/0000.json").read_text())["scenes"]:
        n_objects[scene["image_index"]] = len(scene["objects"])

    def change(arrays: Arrays) -> None:
        images = arrays["image_idxs"]
        of_images = n_objects[images] * (images >= 0)
        sizes = {
            "images": (images >= 0).sum(axis=1),
            "objects": of_images.sum(axis=1),
            "objects in the source": of_images[np.arange(len(images)), arrays["sources"]],
        }[what]
        given = np.where(sizes > np.median(sizes[sizes < sizes.max()]), yes, no)
        rows = of_template(data, arrays, "verify_logic")
        arrays["answers"][rows] = given[rows]

    fault = f"{TRAIN}: verify_logic: the number of {what} alone tells yes from no in per cent: 100.0"
    assert fault not in balance_of(data, lambda arrays: None, monkeypatch)
    assert fault in balance_of(data, change, monkeypatch)


def test_the_best_threshold_is_found() -> None:
    sizes = np.asarray([3, 4, 5, 6])
    assert best_threshold(sizes, np.asarray([False, False, True, True])) == 100
    assert best_threshold(sizes, np.asarray([True, True, True, False])) == 100
    assert best_threshold(sizes, np.asarray([True, False, False, True])) == 75
    assert best_threshold(np.asarray([3, 3]), np.asarray([True, False])) == 50


def test_the_templates_of_a_file_are_those_of_the_audit(whole: Path) -> None:
    with h5py.File(whole / TRAIN) as file:
        assert sorted(file.attrs["templates"]) == sorted(AuditReader.TEMPLATES)
