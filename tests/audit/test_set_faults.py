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
from spoiling import SETS, Row, Spoilt, failed

from clevrhope._core import AuditSetReader
from clevrhope.audit import audit
from clevrhope.audit.sets import balance
from clevrhope.audit.sets.balance import best_threshold
from clevrhope.config.presets import PRESETS
from clevrhope.pipeline import Request, build

pytestmark = pytest.mark.slow

HOP = "rubber_cylinder"
TRAIN, DEV, TEST = (f"covr/{HOP}/{split}.h5" for split in ("train", "dev", "test"))
OOD, PARAPHRASED = (f"covr/{HOP}/{split}.h5" for split in ("test_ood", "test_paraphrased"))

Arrays = dict[str, Any]


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

    def sets(self, file: str, change: Callable[[Arrays], None]) -> None:
        """Changes the arrays of a split."""
        with h5py.File(self.path(file), "r+") as opened:
            arrays = {name: opened[name][:] for name in opened}
            change(arrays)
            for name, values in arrays.items():
                del opened[name]
                opened[name] = values
        self.sign()

    def attribute(self, file: str, name: str, value: object) -> None:
        with h5py.File(self.path(file), "r+") as opened:
            opened.attrs[name] = value
        self.sign()

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

    def faults(self, line: str) -> list[str]:
        """What a line says is wrong, where every line that fails is known to be one of several images."""
        found = failed(audit(self.root))
        assert f"several images: {line}" in found, found
        assert all(name in SETS for name in found)
        return [str(fault) for fault in found[f"several images: {line}"].faults]


def setting(name: str, place: Any, value: Any) -> Callable[[Arrays], None]:
    """Sets an entry of an array."""
    return lambda arrays: arrays[name].__setitem__(place, value)


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
    assert " do not, and " in lines["several images: distractors"].note
    assert "543 in 5 splits" in lines["several images: files"].note


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


def test_a_split_without_file_and_a_file_without_split_are_found(data: SpoiltSets) -> None:
    data.manifest(lambda raw: raw["covr"][HOP].pop("covr_dev"))
    found = data.faults("files")
    assert f"{DEV}: in the manifest, but belongs to none of its splits: {DEV}" in found


FILES: list[tuple[Callable[[Arrays], None], str]] = [
    (setting("sources", 4, 5), f"{TRAIN}[4]: sources: out of range: 5"),
    (setting("cut", 4, 2), f"{TRAIN}[4]: cut: out of range: 2"),
    (setting("structures", 4, 4), f"{TRAIN}[4]: structures: out of range: 4"),
    (setting("question_families", 4, 15), f"{TRAIN}[4]: question_families: out of range: 15"),
    (setting("pair_places", 4, 3), f"{TRAIN}[4]: pair_places: out of range: 3"),
    (setting("orig_idxs", 4, 5), f"{TRAIN}[4]: orig_idxs is not the row's number: 5"),
    (setting("answers", 4, 0), f"{TRAIN}[4]: answers: not in covr/vocab.json: 0"),
    (setting("program_lengths", 4, 1), f"{TRAIN}[4]: program_lengths is not where <END> is: 1"),
    (setting("image_idxs", (4, 0), 99_999), "scenes that the files of train lack"),
    (setting("image_idxs", (4, slice(0, 2)), 1), f"{TRAIN}[4]: image_idxs: not different scenes, then -1"),
    (setting("questions", (4, -1), 5), f"{TRAIN}[4]: questions: not <START> tokens <END>, then 0"),
]


@pytest.mark.parametrize(("change", "fault"), FILES)
def test_a_number_out_of_its_range_is_found(
    change: Callable[[Arrays], None], fault: str, data: SpoiltSets
) -> None:
    data.sets(TRAIN, change)
    assert any(fault in each for each in data.faults("files"))


JSON: list[tuple[str, Any, str]] = [
    ("question", "Is it so?", "questions: not as in JSON"),
    ("answer", "purple", "answers: not as in JSON"),
    ("image_indices", [3], "image_idxs: not as in JSON"),
    ("image_filenames", ["HOPE_train_000003.png"], "image_filenames are not those of the scenes in train"),
    ("source", 9, "sources: not as in JSON"),
    ("template", "coutn", "question_families: not as in JSON"),
    ("structure", "w", "structures: not as in JSON"),
    ("question_index", 7, "orig_idxs: not as in JSON"),
    ("split", "covr_dev", "names another split than: covr_train"),
]


@pytest.mark.parametrize(("key", "value", "fault"), JSON)
def test_json_that_says_something_else_is_found(key: str, value: Any, fault: str, data: SpoiltSets) -> None:
    data.rows(TRAIN, lambda rows: rows[6].__setitem__(key, value))
    assert any(f"{TRAIN}[6]: {fault}" in each or f"[6]: {fault}" in each for each in data.faults("files"))


def test_a_program_that_json_has_otherwise_is_found(data: SpoiltSets) -> None:
    row = data.row_of(TRAIN, "verify_quantifier")

    def change(rows: list[Row]) -> None:
        (condition,) = rows[row]["program"][-1]["arguments"]
        condition[-1]["arguments"] = ["cyan" if condition[-1]["operation"] == "filter" else "same_shape"]

    data.rows(TRAIN, change)
    assert any(f"{TRAIN}[{row}]: programs: not as in JSON" in each for each in data.faults("files"))


def test_rows_that_only_json_has_are_found(data: SpoiltSets) -> None:
    data.rows(TRAIN, lambda rows: rows.append(rows[0]))
    name = TRAIN.replace(".h5", "_questions.json")
    assert f"{name}[300]: questions that HDF5 does not have: 1" in data.faults("files")


def test_a_pair_of_questions_with_one_answer_or_two_texts_is_found(data: SpoiltSets) -> None:
    def change(arrays: Arrays) -> None:
        arrays["answers"][9] = arrays["answers"][8]
        arrays["questions"][[11, 13]] = arrays["questions"][[13, 11]]

    data.sets(TRAIN, change)
    found = data.faults("files")
    assert any("[9]: the answer of the question before it" in each for each in found)
    assert any("[11]: not the text of the question before it" in each for each in found)


def test_attributes_and_numbers_of_the_manifest_are_compared(data: SpoiltSets) -> None:
    data.attribute(TRAIN, "pool", "val_iid")
    data.manifest(lambda raw: raw["covr"][HOP]["covr_dev"].__setitem__("pictures", 1))
    found = data.faults("files")
    assert f"{TRAIN}: attribute pool is not train: val_iid" in found
    assert any(each.startswith(f"{DEV}: pictures in the manifest: 1, but the file has") for each in found)


def test_a_vocabulary_with_other_numbers_is_found(data: SpoiltSets) -> None:
    vocab = data.set_vocab
    answers = vocab["answer_token_to_idx"]
    answers["yes"], answers["no"] = answers["no"], answers["yes"]
    data.path("covr/vocab.json").write_text(json.dumps(vocab))
    data.sign()
    assert any("answers: yes is not" in each for each in data.faults("files"))
    assert any("not the answer" in each for each in data.faults("programs"))


def test_too_many_objects_are_found(data: SpoiltSets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrhope.audit.sets.rules.MOST_OBJECTS", 12)
    assert any("more than 12 objects in its images" in each for each in data.faults("files"))


def test_another_answer_template_structure_or_source_is_found(data: SpoiltSets) -> None:
    row = data.row_of(TRAIN, "count_group_by")
    unique = data.row_of(TRAIN, "verify_attr")

    def change(arrays: Arrays) -> None:
        answers, sources = arrays["answers"], arrays["sources"]
        answers[row : row + 2] = answers[row : row + 2][::-1]
        arrays["question_families"][row + 2] = (arrays["question_families"][row + 2] + 1) % 15
        arrays["structures"][row + 4] = (arrays["structures"][row + 4] + 1) % 4
        sources[unique] = (sources[unique] + 1) % 3

    data.sets(TRAIN, change)
    found = data.faults("programs")
    for place, fault in (
        (row, "its program gives"),
        (row + 2, "its program is of another template than"),
        (row + 4, "its program is of another structure than"),
        (unique, "another image than the source shows what it describes"),
    ):
        assert any(f"{TRAIN}[{place}]: {fault}" in each for each in found), (fault, found)
    assert any(f"{TRAIN}[{unique}]: not once in its source" in each for each in data.faults("distractors"))


def test_a_second_match_is_found(data: SpoiltSets) -> None:
    """A distractor's scene becomes the source's, under another index."""
    row = data.row_of(TRAIN, "query_attr")
    arrays = data.read(TRAIN)
    images, source = arrays["image_idxs"][row], arrays["sources"][row]
    other = images[(source + 1) % 3]

    def change(scenes: list[Row]) -> None:
        by_index = {scene["image_index"]: scene for scene in scenes}
        for key in ("objects", "relationships"):
            by_index[int(other)][key] = by_index[int(images[source])][key]

    data.scenes("train", change)
    found = failed(audit(data.root))
    assert any(
        f"[{row}]: not once in its source" in str(each)
        for each in found["several images: distractors"].faults
    )


def test_a_wrong_cut_is_found(data: SpoiltSets) -> None:
    row = data.row_of(TRAIN, "count", cut=1)
    data.sets(TRAIN, setting("cut", row, 0))
    fault = "cut is not what the program without its last leaf gives, but: 0"
    assert f"{TRAIN}[{row}]: {fault}" in data.faults("distractors")


def test_an_idle_leaf_is_found_where_distractors_are_edited(tmp_path: Path) -> None:
    """Random distractors leave some last leaves without consequence."""
    data = SpoiltSets(with_sets(tmp_path / "out", distractors="random"))
    data.manifest(lambda raw: raw["questions"].pop("distractors"))
    assert any("its last leaf is of no consequence" in each for each in data.faults("distractors"))


def test_a_question_that_mentions_the_pair_is_found(data: SpoiltSets) -> None:
    """Some cylinders become rubber, in program and words."""
    cylinder, rubber = data.number("filter_shape[cylinder]"), data.number("filter_material[rubber]")
    words = data.number("cylinder", "question"), data.number("rubber", "question")

    def change(arrays: Arrays) -> None:
        for tokens, noun, attribute, step in (
            (arrays["programs"], cylinder, rubber, -1),
            (arrays["questions"], words[0], words[1], -1),
        ):
            rows, places = np.nonzero(tokens == noun)
            tokens[rows, places + step] = attribute

    data.sets(TRAIN, change)
    assert any("mentions rubber cylinder: " in each for each in data.faults("pair"))


def test_words_alone_that_mention_the_pair_are_found(data: SpoiltSets) -> None:
    cylinder, rubber = (data.number(word, "question") for word in ("cylinder", "rubber"))

    def change(arrays: Arrays) -> None:
        rows, places = np.nonzero(arrays["questions"] == cylinder)
        arrays["questions"][rows[0], places[0] - 1] = rubber

    data.sets(DEV, change)
    (fault,) = data.faults("pair")
    assert fault.startswith(f"{DEV}[")
    assert "mentions rubber cylinder" in fault


def test_an_image_that_shows_the_pair_is_found(data: SpoiltSets) -> None:
    def change(scenes: list[Row]) -> None:
        for scene in scenes:
            for thing in scene["objects"]:
                if thing["shape"] == "cylinder":
                    thing["material"] = "rubber"

    data.scenes("val_iid", change)
    found = failed(audit(data.root))["several images: pair"].faults
    assert any("an image shows a rubber cylinder" in str(each) for each in found)
    assert {each.file for each in found} == {DEV}


@pytest.mark.parametrize(
    ("place", "value", "fault"),
    [
        (1, 2, "not distractors alone show a rubber cylinder"),
        (2, 1, "does not mention rubber cylinder"),
        (1, 0, "pair_places is 0, where each question is about the pair"),
    ],
)
def test_a_wrong_place_of_the_pair_is_found(place: int, value: int, fault: str, data: SpoiltSets) -> None:
    data.sets(OOD, lambda arrays: arrays["pair_places"].__setitem__(arrays["pair_places"] == place, value))
    assert any(fault in each for each in data.faults("pair"))


def test_a_pair_in_a_split_without_it_is_found(data: SpoiltSets) -> None:
    data.sets(TEST, setting("pair_places", 3, 1))
    assert f"{TEST}[3]: pair_places is not 0, where the pair is held out: 1" in data.faults("pair")


def test_a_text_that_dev_and_test_share_is_found(data: SpoiltSets) -> None:
    text = data.read(DEV)["questions"][6]
    data.sets(TEST, setting("questions", slice(4, 6), text))
    found = data.faults("texts")
    assert [each for each in found if each.startswith(TEST)] == [
        f"{TEST}[{row}]: has a text of another split: covr_dev" for row in (4, 5)
    ]


def test_a_paraphrase_that_is_none_is_found(data: SpoiltSets) -> None:
    text = data.read(TEST)["questions"][2]
    data.sets(PARAPHRASED, setting("questions", slice(2, 4), text))
    assert f"{PARAPHRASED}[2]: has a text of another split: covr_test" in data.faults("texts")


def test_a_phrasing_of_another_split_is_found(data: SpoiltSets) -> None:
    data.rows(PARAPHRASED, lambda rows: rows[2].__setitem__("phrasing", 0))
    with_zero = [
        each for each in data.faults("texts") if each.startswith(f"{PARAPHRASED}[2]: has a phrasing")
    ]
    assert with_zero


def test_a_paraphrase_of_another_question_is_found(data: SpoiltSets) -> None:
    def change(arrays: Arrays) -> None:
        arrays["answers"][[4, 5]] = arrays["answers"][[5, 4]]
        arrays["programs"][[6, 8]] = arrays["programs"][[8, 6]]

    data.sets(PARAPHRASED, change)
    found = data.faults("texts")
    assert any(f"{PARAPHRASED}[4]: answers: not as in covr_test" in each for each in found)
    assert any(f"{PARAPHRASED}[6]: programs: not as in covr_test" in each for each in found)


def test_texts_with_one_answer_are_found(data: SpoiltSets) -> None:
    def change(arrays: Arrays) -> None:
        arrays["answers"][1:21:2] = arrays["answers"][0:20:2]

    data.sets(TRAIN, change)
    assert any("less than 98% of texts have two answers" in each for each in data.faults("texts"))


def balance_of(data: SpoiltSets, change: Callable[[Arrays], None], monkeypatch: pytest.MonkeyPatch) -> str:
    """What the line on balance says, looking at cells so small that chance alone is at fault in some."""
    monkeypatch.setattr(balance, "LEAST_QUESTIONS", 4)
    monkeypatch.setattr("clevrhope.audit.report.MAX_LISTED", 10_000)
    data.sets(TRAIN, change)
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
    assert fault in balance_of(data, setting("sources", slice(None), 0), monkeypatch)


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
        assert sorted(file.attrs["templates"]) == sorted(AuditSetReader.TEMPLATES)
