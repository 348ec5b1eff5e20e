"""The command `answers` turns replies into predictions, with a dataset's own values and colors."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from building import Cli
from made_folder import CONSTRAINTS, make_folder, write_lines

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest, write_manifest
from clevrhope.errors import DatasetError
from clevrhope.metrics.answers import write_answers
from clevrhope.runtime.assets import blender_assets
from clevrhope.scenes import read_world
from wording import check_refused

OWN = {"ash": [120, 125, 130], "wine": [125, 5, 10], "sea": [60, 222, 205], "corn": [250, 220, 40]}


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    """The package's properties with colors of one's own."""
    content = json.loads((blender_assets() / "properties.json").read_text())
    path = tmp_path / "own.json"
    path.write_text(json.dumps({**content, "colors": OWN}))
    return path


def read(tmp_path: Path, question: str, replies: list[str], answers: list[str], **more: Any) -> list[str]:
    """The predictions made of replies to a question."""
    requests, given, out = (tmp_path / f"{name}.jsonl" for name in ("requests", "replies", "out"))
    row = {"question": question, "answers": answers, "hop": "none", "split": "test"}
    write_lines(requests, [{"id": k, **row, "question_index": k} for k in range(len(replies))])
    write_lines(given, [{"id": k, "reply": reply} for k, reply in enumerate(replies)])
    write_answers(given, requests, out, model="made-up", **more)
    return [json.loads(line)["answer"] for line in out.read_text().splitlines()]


def test_other_names_of_colors_mean_the_nearest_of_the_datasets_own(tmp_path: Path, properties: Path) -> None:
    folder = make_folder(tmp_path / "data", {"none": {"test": [(0, 0, "yes")]}})
    manifest = existing_manifest(Layout(folder).manifest)
    world = read_world(properties=properties, constraints=CONSTRAINTS)
    attributes = {kind: list(values) for kind, values in world.attribute_types}
    own = {"fingerprint": world.fingerprint, "attributes": attributes, "constraints": CONSTRAINTS}
    write_manifest(Layout(folder).manifest, replace(manifest, world=own))
    question, answers = (
        "What color is the cube?",
        ["yes", "no", *(v for each in attributes.values() for v in each)],
    )
    replies = ["Silver.", "It is teal.", "a turquoise cube", "gold", "maroon", "yellow", "navy"]
    found = read(tmp_path, question, replies, answers, folder=folder, properties=properties)
    assert found == ["ash", "sea", "sea", "corn", "wine", "corn", "<UNK>"]
    assert read(tmp_path, question, replies, answers, folder=folder) == ["<UNK>"] * 7
    other = shutil.copy(blender_assets() / "properties.json", tmp_path / "other.json")
    check_refused(DatasetError, read, tmp_path, question, replies, answers, folder=folder, properties=other)


def test_it_says_how_many_replies_were_not_read_and_what_score_makes_of_them(
    cli: Cli, tmp_path: Path
) -> None:
    read(tmp_path, "Is there a red cube?", ["Yes.", "Hm.", "No, none.", ""], ["yes", "no"])
    words = ("answers", tmp_path / "replies.jsonl", "--requests", tmp_path / "requests.jsonl")
    out = tmp_path / "out.jsonl"
    assert cli(*words, "--out", out).out.splitlines() == [
        f'{out}: 4 predictions, all marked "not trained on the splits"',
        "Replies that cannot be read: 2 of 4, 50.0% (to questions for yes or no: 2 of 4, 50.0%), such as",
        '  1: "Hm."',
        '  3: ""',
        "They count as wrong; clevrhope score also prints the accuracy if all of them were right.",
    ]
    found = json.loads(cli(*words, "--out", out, "--json").out)
    assert (found["unreadable"], found["yes_no"], found["unreadable_yes_no"]) == (2, 4, 2)
    assert found["unread"] == ["1", "3"]

    read(tmp_path, "Is there a red cube?", ["Hm.", "Yes.", "Well\n...", "?", "So?"], ["yes", "no"])
    shown = [line for line in cli(*words, "--out", out).out.splitlines() if line.startswith("  ")]
    assert shown == ['  0: "Hm."', r"  2: 'Well\n...'", '  3: "?"'], "the first three, each in a line"
