"""Requests about several images for models that only answer, and what is read out of their replies."""

import json
from pathlib import Path
from typing import Any

import pytest
from building import build_demo
from made_folder import write_lines

from clevrhope.dataset.layout import Layout
from clevrhope.errors import ConfigError
from clevrhope.metrics.answers import write_answers
from clevrhope.metrics.request_files import asked_answers, write_requests
from clevrhope.programs import default_vocabulary
from wording import check_refused

HOP = "rubber_cylinder"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("asked") / "data"
    build_demo(out, covr=True, images="h5")
    return out


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_requests_have_lists_of_images(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "requests.jsonl"
    assert write_requests(folder, out, splits=["covr_test", "complex_ood"], limit=9, seed=1) == 18
    rows = json.loads(Layout(folder).questions_json(HOP, "covr_test").read_text())["questions"]
    single, several = lines(out)[:9], lines(out)[9:]
    assert all("image" in each and "asked" not in each for each in single)
    drawn = [rows[each["question_index"]] for each in several]
    for asked, row in zip(several, drawn, strict=True):
        assert asked["question"] == row["question"]
        assert (asked["split"], asked["question_index"]) == ("covr_test", row["question_index"])
        assert [Path(path).name for path in asked["images"]] == row["image_filenames"]
        assert all((tmp_path / path).is_file() for path in asked["images"])
        assert "right_answer" not in asked
        assert row["answer"] in asked["asked"]
        assert {"left", "front", "yes", "4"} <= set(asked["answers"])


def test_replies_in_words_become_predictions(folder: Path, tmp_path: Path) -> None:
    asked, replies, out = (tmp_path / name for name in ("asked.jsonl", "replies.jsonl", "out.jsonl"))
    write_requests(folder, asked, splits=["covr_test"], seed=1)
    rows = json.loads(Layout(folder).questions_json(HOP, "covr_test").read_text())["questions"]
    sentences = [
        {"id": each["id"], "reply": f"Looking at the images, the answer is: {row['answer']}."}
        for each, row in zip(lines(asked), rows, strict=True)
    ]
    write_lines(replies, sentences)
    counts = write_answers(replies, asked, out, model="words").counts
    assert (counts["replies"], counts["unreadable"]) == (len(rows), 0)
    assert [each["answer"] for each in lines(out)] == [row["answer"] for row in rows]


def test_unknown_splits_are_refused(folder: Path, tmp_path: Path) -> None:
    check_refused(ConfigError, write_requests, folder, tmp_path / "r", splits=["covr_tset"], seed=1)


@pytest.mark.parametrize("split", ["train", "covr_train"])
def test_questions_of_train_sets_come_with_their_answers(folder: Path, tmp_path: Path, split: str) -> None:
    out = tmp_path / "requests.jsonl"
    write_requests(folder, out, splits=[split], limit=20, seed=1)
    rows = json.loads(Layout(folder).questions_json(HOP, split).read_text())["questions"]
    assert [rows[each["question_index"]]["answer"] for each in lines(out)] == [
        each["right_answer"] for each in lines(out)
    ]


@pytest.mark.parametrize(
    ("program", "asked"),
    [
        (["choose_relation[front]", "unique"], ["behind", "front"]),
        (["choose_color[red]", "unique", "option_color[blue]"], ["red", "blue"]),
        (["query_size", "unique"], ["small", "large"]),
        (["count_images", "unique_images"], ["0", "1", "10", "2", "3", "4", "5", "6", "7", "8", "9"]),
        (["count_is[3]", "count"], ["yes", "no"]),
        (["all_same_color", "scene"], ["yes", "no"]),
    ],
)
def test_the_program_says_what_is_asked_for(program: list[str], asked: list[str]) -> None:
    vocabulary = default_vocabulary()
    found = asked_answers(program, sorted(vocabulary.set_answers), dict(vocabulary.attribute_types))
    assert found == asked
