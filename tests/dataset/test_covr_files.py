"""Files of questions about sets of images: read whole and in blocks, checked, and loaded."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from building import add_sets, build_demo
from fake_renderer import pixels_of

from clevrhope import ConfigError, DatasetError, load
from clevrhope._core import covr_property_names, covr_template_names
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import SETS, STRUCTURES
from clevrhope.dataset.question_table import QuestionTable, open_split, read_table
from clevrhope.dataset.questions_h5 import QuestionWriter
from clevrhope.dataset.vocab import read_vocab
from clevrhope.programs import SceneSet, answer_text, execute
from wording import check_refused, refused

HOP = "rubber_cylinder"
ATTRIBUTES = ("templates", "property_names", "term_names", "skipped")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sets") / "data"
    build_demo(out, images="h5")
    add_sets(out)
    return out


def write(path: Path, rows: QuestionTable) -> Path:
    names = {"hop": HOP, "split": "covr_train", "pool": "train"}
    attributes = {name: getattr(rows, name) for name in ATTRIBUTES}
    with QuestionWriter(path, **names, attributes=attributes) as writer:
        writer.append(rows.arrays())
    return path


def test_what_was_written_is_read_whole_and_in_blocks(folder: Path, tmp_path: Path) -> None:
    path = Layout(folder).questions_h5(HOP, "covr_train")
    rows = read_table(path, SETS)
    assert rows.image_idxs.shape == (96, 5)
    assert (rows.image_idxs < 0).any()
    assert rows.terms.dtype == np.int64
    blocks = list(read_table(path, SETS).parts(40))
    assert [len(each) for each in blocks] == [40, 40, 16]
    again = read_table(write(tmp_path / "train.h5", rows), SETS)
    for name, values in again.arrays().items():
        np.testing.assert_array_equal(values, getattr(rows, name))
        np.testing.assert_array_equal(values, np.concatenate([each.arrays()[name] for each in blocks]))
    assert (rows.hop, rows.split, rows.pool) == (HOP, "covr_train", "train")
    assert rows.templates == tuple(covr_template_names())
    assert rows.property_names == tuple(covr_property_names())
    assert {"rubber", "cube"} <= set(rows.term_names)
    for name in ("hop", "split", "pool", *ATTRIBUTES):
        assert getattr(again, name) == getattr(rows, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("image_idxs", [3, -1, 4, -1, -1]),
        ("image_idxs", [-1, -1, -1, -1, -1]),
        ("image_idxs", [3, 4, 3, -1, -1]),
        ("image_idxs", [3, -2, -2, -2, -2]),
        ("sources", 5),
        ("structures", 4),
        ("cut", -2),
        ("pair_places", 3),
        ("question_families", 15),
        ("terms", 1 << 40),
        ("terms", -1),
        ("question_lengths", 1),
    ],
)
def test_numbers_out_of_range_are_named(folder: Path, tmp_path: Path, name: str, value: Any) -> None:
    rows = read_table(Layout(folder).questions_h5(HOP, "covr_train"), SETS).take(slice(0, 5))
    spoiled = getattr(rows, name).copy()
    spoiled[2] = value
    path = write(tmp_path / "train.h5", rows.with_columns(**{name: spoiled}))
    with refused(DatasetError):
        read_table(path, SETS).check()


def test_files_of_another_kind_are_refused(folder: Path, tmp_path: Path) -> None:
    layout = Layout(folder)
    check_refused(DatasetError, read_table, layout.questions_h5(HOP, "train"), SETS)
    path = write(tmp_path / "train.h5", read_table(layout.questions_h5(HOP, "covr_train"), SETS))
    with h5py.File(path, "r+") as file:
        del file.attrs["templates"]
    check_refused(DatasetError, read_table, path, SETS)


def test_items_have_lists_of_images_and_scenes(folder: Path) -> None:
    data = load(folder, HOP, "covr_train", text=True, scenes=True)
    rows = read_table(Layout(folder).questions_h5(HOP, "covr_train"), SETS)
    assert len(data) == 96
    assert (data.hop, data.split, data.pool) == (HOP, "covr_train", "train")
    functions, lengths = read_vocab(Layout(folder).covr_vocab).programs(), set()
    for k, item in enumerate(data):
        indices = rows.image_idxs[k][rows.image_idxs[k] >= 0].tolist()
        lengths.add(len(indices))
        assert item["question_index"] == k
        assert item["image_indices"] == indices == [scene["image_index"] for scene in item["scenes"]]
        assert item["template"] == rows.templates[rows.question_families[k]]
        assert item["structure"] == STRUCTURES[rows.structures[k]]
        assert item["source"] == rows.sources[k]
        for image, scene in zip(item["images"], item["scenes"], strict=True):
            np.testing.assert_array_equal(image, pixels_of(scene))
        # Its program, on its scenes, gives its answer.
        program = data.show(k).program
        assert answer_text(execute(program, SceneSet(item["scenes"]))) == item["answer_text"]
        assert item["program_text"].split()[0] == functions[rows.programs[k, 1]]
    assert lengths == {3, 4, 5}


def test_what_is_not_there_is_said(folder: Path, tmp_path: Path) -> None:
    check_refused(ConfigError, load, folder, HOP, "covr_tset")
    check_refused(ConfigError, load, folder, HOP, "covr_test", passes=["mask"])
    vocab = read_vocab(Layout(folder).covr_vocab)
    check_refused(ConfigError, open_split, Layout(folder), HOP, "covr_test", vocab=vocab, limit=41)
    with refused(DatasetError):
        list(open_split(Layout(folder), HOP, "covr_test", vocab=read_vocab(Layout(folder).vocab)).blocks())


def test_a_question_over_several_images_is_shown_with_all_of_them(folder: Path) -> None:
    data = load(folder, HOP, "covr_train", text=True, scenes=True)
    item, card = data[1], data.show(1)
    assert [card.question, card.answer] == [item["question_text"], item["answer_text"]]
    assert len(card.images) == len(item["images"])
    assert all(np.array_equal(np.asarray(a), b) for a, b in zip(card.images, item["images"], strict=True))
