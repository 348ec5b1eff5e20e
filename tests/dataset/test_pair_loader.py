"""`load` of a suite of paired tests: the items are the two questions of each pair, as its files have them."""

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import build_demo
from fake_renderer import pixels_of
from truth import HOP, Truth

from clevrhope import ConfigError, load
from clevrhope.dataset.layout import Layout
from clevrhope.pipeline.suites import make_suite
from wording import check_refused

SPLIT = "complex_iid"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pairs") / "data"
    build_demo(out)
    make_suite(out, "rad")
    return out


def rows_of(folder: Path) -> list[dict[str, Any]]:
    path = Layout(folder).suite_json(HOP, "rad", SPLIT)
    return list(json.loads(path.read_text())["questions"])


def test_items_are_the_pairs_of_the_file_with_their_images(folder: Path) -> None:
    data = load(folder, "cylinder_rubber", suite="rad", split=SPLIT, text=True)
    wanted = rows_of(folder)
    scenes = Truth(folder).scenes(data.pool)
    assert 2 * len(data) == len(wanted) > 20
    content = Layout(folder).suite_h5(HOP, "rad", SPLIT).read_bytes()
    assert data.sha256 == hashlib.sha256(content).hexdigest()
    assert repr(data) == f"<{len(data)} pairs of rad on {HOP}/{SPLIT}, with images>"
    answers = data.vocab.answers()
    for k, item in enumerate(data):
        assert item["pair_index"] == k
        for role, row in (("original", wanted[2 * k]), ("partner", wanted[2 * k + 1])):
            side = item[role]
            assert row["role"] == role
            assert side["question_index"] == row["question_index"]
            assert side["original_index"] == (-1 if row["original_index"] is None else row["original_index"])
            assert side["question_text"] == row["question"]
            assert side["answer_text"] == answers[side["answer"]] == row["answer"]
            np.testing.assert_array_equal(side["image"], pixels_of(scenes[row["image_index"]]))
            for name in ("relation", "test", "tier", "cell"):
                assert item[name] == row[name]
            assert (answers[item["value"]] if item["value"] >= 0 else None) == row["value"]
    assert {item["relation"] for item in data} == {"is", "positive"}


def test_the_first_pairs_and_others(folder: Path) -> None:
    whole = load(folder, HOP, SPLIT, suite="rad", images=False)
    data = load(folder, HOP, SPLIT, suite="rad", images=False, limit=3)
    assert len(list(data)) == len(data) == 3
    for one, other in zip(data, whole, strict=False):
        np.testing.assert_array_equal(one["partner"]["question"], other["partner"]["question"])
        assert one["test"] == other["test"]
    assert data[-1]["pair_index"] == data[np.int64(2)]["pair_index"] == 2
    with pytest.raises(IndexError):
        data[3]
    copy = pickle.loads(pickle.dumps(data))
    assert type(copy) is type(data)
    assert copy[1]["original"]["answer"] == data[1]["original"]["answer"]


@pytest.mark.parametrize(
    ("suite", "split", "limit"),
    [("rat", SPLIT, None), ("rad", "train", None), ("rad", SPLIT, 10_000), ("rad", SPLIT, 0)],
)
def test_what_the_folder_does_not_have(folder: Path, suite: str, split: str, limit: int | None) -> None:
    check_refused(ConfigError, load, folder, HOP, split, suite=suite, limit=limit)


def test_a_pair_is_shown_as_two_questions(folder: Path) -> None:
    pairs = load(folder, HOP, SPLIT, suite="rad", text=True)
    original, partner = pairs.show(2)
    assert [original.question, partner.question] == [
        pairs[2][role]["question_text"] for role in ("original", "partner")
    ]
    shown = pairs.show(-1)
    assert repr(shown) == f"{shown[0]!r}\n\n{shown[1]!r}"
    assert shown._repr_html_().count("data:image/png") == 2
