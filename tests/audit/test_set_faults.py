"""Faults planted in questions over several images: found, each by its own line of the report, and named."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from spoiling import SETS, Arrays, Change, Row, Spoilt, failed, put

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
    shutil.copytree(whole, tmp_path / "spoilt")
    return SpoiltSets(tmp_path / "spoilt")


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


def one_answer_and_two_texts(arrays: Arrays) -> None:
    arrays["answers"][9] = arrays["answers"][8]
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


JSON = TRAIN.replace(".h5", "_questions.json")

FAULTS: list[tuple[Plant, dict[str, list[str]]]] = [
    (dev_is_unlisted, {"counts": [f"{DEV}: in the manifest, but belongs to none of its splits: dev"]}),
    *(
        (in_split(TRAIN, put(name, 4, value)), {"files": [f"{TRAIN}[4]: {problem}: {value}"]})
        for name, value, problem in (
            ("sources", 5, "sources is not the place of an image"),
            ("cut", 2, "cut is not one of -1 to 1"),
            ("structures", 4, "structures is not one of 0 to 3"),
            ("question_families", 15, "question_families is not one of 0 to 14"),
            ("pair_places", 3, "pair_places is not one of 0 to 2"),
            ("orig_idxs", 5, "orig_idxs is not the row's number"),
            ("answers", 0, "answers: not in covr/vocab.json"),
            ("program_lengths", 1, "program_lengths is not where <END> is"),
        )
    ),
    (in_split(TRAIN, put("image_idxs", (4, 0), 99_999)), {"files": ["scenes that the files of train lack"]}),
    (in_split(TRAIN, put("image_idxs", (4, slice(0, 2)), 1)), {"files": ["[4]: image_idxs: not different"]}),
    (
        in_split(TRAIN, put("questions", (4, -1), 5)),
        {"files": [f"{TRAIN}[4]: questions: tokens after <END>"]},
    ),
    *(
        (in_json(TRAIN, 6, key, value), {"files": [f"[6]: {problem}"]})
        for key, value, problem in (
            ("question", "Is it so?", "questions does not decode to the text in JSON: Is it so?"),
            ("answer", "purple", "answers is not "),
            ("image_indices", [3], "image_idxs is not [3, -1, -1, -1, -1], as in JSON"),
            ("image_filenames", ["HOPE_train_000003.png"], "image_filenames are not those of the scenes in"),
            ("source", 9, "sources is not 9, as in JSON"),
            ("template", "coutn", "question_families is not "),
            ("structure", "w", "structures is not "),
            ("question_index", 7, "orig_idxs is not 7, as in JSON"),
            ("split", "covr_dev", "names another split than: covr_train"),
        )
    ),
    (other_program_in_json, {"files": ["programs does not decode to the text in JSON"]}),
    (
        lambda data: data.rows(TRAIN, lambda rows: rows.append(rows[0])),
        {"files": [f"{JSON}: has 301 questions, but the HDF5 file has another number: 300"]},
    ),
    (
        in_split(TRAIN, one_answer_and_two_texts),
        {"files": ["[9]: the answer of the question before it", "[11]: not the text of the question before"]},
    ),
    (
        lambda data: data.attribute(TRAIN, "pool", "val_iid"),
        {"files": [f"{TRAIN}: attribute pool is not train: val_iid"]},
    ),
    (
        lambda data: data.manifest(lambda raw: raw["covr"][HOP]["covr_dev"].update(images=1)),
        {"counts": [f"{DEV}: images in the manifest: 1, but the files have"]},
    ),
    (
        other_numbers_of_answers,
        {"files": ["answers: yes is not"], "programs": ["not the answer"]},
    ),
    (exchanged_answers, {"programs": [": its program gives "]}),
    (
        next_number("question_families", "count", 15),
        {"programs": ["its program is of another template than"]},
    ),
    (next_number("structures", "count", 4), {"programs": ["its program is of another structure than"]}),
    (
        next_number("sources", "verify_attr", 3),
        {
            "programs": ["another image than the source shows what it describes"],
            "distractors": ["not once in its source"],
        },
    ),
    (second_match, {"distractors": ["not once in its source"]}),
    (no_cut, {"distractors": ["cut is not what the program without its last leaf gives, but: 0"]}),
    (rubber_cylinders, {"pair": ["mentions rubber cylinder: "]}),
    (rubber_in_words, {"pair": ["mentions rubber cylinder: "]}),
    (rubber_in_images, {"pair": ["an image shows a rubber cylinder"]}),
    (pair_elsewhere(1, 2), {"pair": ["not distractors alone show a rubber cylinder"]}),
    (pair_elsewhere(2, 1), {"pair": ["does not mention rubber cylinder"]}),
    (pair_elsewhere(1, 0), {"pair": ["pair_places is 0, where each question is about the pair"]}),
    (
        in_split(TEST, put("pair_places", 3, 1)),
        {"pair": [f"{TEST}[3]: pair_places is not 0, where the pair is held out: 1"]},
    ),
    (
        text_of(DEV, 6, TEST, slice(4, 6)),
        {"texts": [f"{TEST}[{row}]: has a text of another split: covr_dev" for row in (4, 5)]},
    ),
    (
        text_of(TEST, 2, PARAPHRASED, slice(2, 4)),
        {"texts": [f"{PARAPHRASED}[2]: has a text of another split: covr_test"]},
    ),
    (in_json(PARAPHRASED, 2, "phrasing", 0), {"texts": [f"{PARAPHRASED}[2]: has a phrasing"]}),
    (
        in_split(PARAPHRASED, other_questions),
        {"texts": ["[4]: answers: not as in covr_test", "[6]: programs: not as in covr_test"]},
    ),
    (in_split(TRAIN, one_answer_each), {"texts": ["less than 98% of texts have two answers"]}),
]
"""What plants a fault, and by line of the report what it says of it."""


@pytest.mark.parametrize(("plant", "wanted"), FAULTS)
def test_a_planted_fault_is_found_on_its_lines(
    plant: Plant, wanted: dict[str, list[str]], data: SpoiltSets
) -> None:
    plant(data)
    found = failed(audit(data.root))
    for line, faults in wanted.items():
        there = [
            str(fault) for fault in found[line if line == "counts" else f"several images: {line}"].faults
        ]
        for fault in faults:
            assert any(fault in each for each in there), there
    # A scene that changes is wrong for the questions about single images, too.
    assert plant in (second_match, rubber_in_images) or found.keys() <= {*SETS, "counts"}


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
