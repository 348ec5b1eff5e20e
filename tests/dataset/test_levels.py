"""Levels of difficulty, against a slow count, and wherever questions are chosen by them."""

import json
import shutil
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import SET_SIZES, Cli, build_demo, cli
from truth import HOP

import clevrhope
from benchmarks import levels as comparison
from clevrhope import ConfigError, DatasetError, load
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.levels import floors, read_levels
from clevrhope.metrics.request_files import write_requests
from wording import refused

__all__ = ["cli"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("levels") / "data"
    build_demo(out, images="png", covr=True, sizes=SET_SIZES)
    return out


def level_of(item: dict[str, Any]) -> int:
    """The level, as docs/training_vlms.md describes it."""
    n_functions = len(item["program_text"].split())
    scenes = item["scenes"] if "scenes" in item else [item["scene"]]
    n_objects = sum(len(scene["objects"]) for scene in scenes)
    thresholds = (8, 11, 14, 15) if "scenes" in item else (6, 7, 11, 16)
    points = sum(n_functions >= least for least in thresholds)
    points += n_objects >= (30 if "scenes" in item else 7)
    return min(max(points, 1), 4)


@pytest.mark.parametrize("split", ["train", "covr_train"])
def test_levels_are_those_of_the_page(folder: Path, split: str) -> None:
    items = load(folder, HOP, split, text=True, scenes=True, images=False)
    wanted = [level_of(item) for item in items]
    assert read_levels(Layout(folder), items.table).tolist() == wanted
    assert len(set(wanted)) == 4
    scenes = [item["scenes"] if "scenes" in item else [item["scene"]] for item in items]
    n_objects = np.array([sum(len(scene["objects"]) for scene in each) for each in scenes])
    counts = comparison.counts_of(items.table, n_objects)
    kind = "sets" if items.table.kind.of_sets else "single"
    assert comparison.levels(comparison.definitions()["length_four"], counts, kind).tolist() == wanted, (
        "the definition compared"
    )


def test_a_split_and_a_stream_of_some_levels(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = load(folder, HOP, "train", limit=150, images=False)
    levels = read_levels(Layout(folder), every.table)
    wanted = np.flatnonzero(np.isin(levels, [1, 4])).tolist()
    chosen = load(folder, HOP, "train", limit=150, images=False, levels=(4, 1))
    assert [item["question_index"] for item in chosen] == wanted
    assert [item["question_index"] for item in chosen[2:9:3]] == wanted[2:9:3]
    assert chosen[-1]["question_index"] == wanted[-1]
    stream = clevrhope.stream(HOP, "train", size=(48, 32), seed=5, limit=150, images=False, levels=(1, 4))
    assert [item["question_index"] for item in stream] == wanted
    assert len(stream) == len(wanted)
    other = clevrhope.stream(HOP, "train", size=(48, 32), seed=5, limit=150, images=False)
    with pytest.raises(ConfigError):
        other.load_state_dict(stream.state_dict())
    # A state is also refused where levels are defined otherwise, as other questions would follow.
    monkeypatch.setattr("clevrhope.training.stream.levels_of", lambda *_: np.roll(levels, 1))
    other = clevrhope.stream(HOP, "train", size=(48, 32), seed=5, limit=150, images=False, levels=(1, 4))
    with pytest.raises(ConfigError):
        other.load_state_dict(stream.state_dict())


def test_images_of_a_stream_are_those_of_its_questions() -> None:
    arguments: dict[str, Any] = {"size": (48, 32), "seed": 5, "limit": 60, "quality": "draft"}
    every = list(clevrhope.stream(HOP, "train", **arguments))
    some = list(clevrhope.stream(HOP, "train", levels=(4,), **arguments))
    assert 0 < len(some) < len(every)
    for item in some:
        np.testing.assert_array_equal(item["image"], every[item["question_index"]]["image"])


def test_what_has_no_level(folder: Path, tmp_path: Path) -> None:
    with refused(ConfigError):
        load(folder, HOP, "minimal_ood", levels=(4,))
    with refused(ConfigError):
        load(folder, HOP, "train", levels=(1, 5))
    with refused(ConfigError):
        load(folder, HOP, "train", suite="carets", levels=(1,))
    with refused(ConfigError):
        clevrhope.stream(HOP, "train", size=(48, 32), seed=5, limit=9, levels=(0,))
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    shutil.rmtree(copy / "scenes" / "train")
    with refused(DatasetError):
        load(copy, HOP, "train", levels=(1,))


def test_requests_of_some_levels(folder: Path, tmp_path: Path, cli: Cli) -> None:
    ask = ("ask", folder, "--quiet", "--out")
    cli(*ask, tmp_path / "some.jsonl", "--level", 3, "--level", 4, "--limit", 3, "--seed", 1)
    rows = [json.loads(line) for line in (tmp_path / "some.jsonl").read_text().splitlines()]
    counts = Counter(row["split"] for row in rows)
    assert counts["complex_ood"] == counts["complex_iid"] == 3
    assert "minimal_ood" not in counts, "its questions are short"
    for row in rows:
        item = load(folder, HOP, row["split"], text=True, scenes=True)[row["question_index"]]
        assert item["question_text"] == row["question"]
        assert level_of(item) in (3, 4)
    with refused(ConfigError):
        write_requests(folder, tmp_path / "none.jsonl", splits=["minimal_ood"], levels=[4], seed=1)
    with refused(ConfigError):
        write_requests(folder, tmp_path / "none.jsonl", suite="carets", levels=[1], seed=1)
    assert not (tmp_path / "none.jsonl").exists()


def test_scores_by_level(folder: Path, tmp_path: Path, cli: Cli) -> None:
    cli("baseline", folder, "--kind", "always_no", "--out", tmp_path / "no.jsonl", "--quiet")
    said = cli("score", folder, tmp_path / "no.jsonl", "--by", "level", "--bootstrap", 0, "--json", "--quiet")
    (condition,) = json.loads(said.out)["conditions"]
    found = {part["name"]: part["scored"]["splits"] for part in condition["breakdowns"]["level"]}
    right: dict[str, list[bool]] = defaultdict(list)
    for item in load(folder, HOP, "complex_iid", text=True, scenes=True):
        right[str(level_of(item))].append(item["answer_text"] == "no")
    assert {level: splits["complex_iid"]["percent"] for level, splits in found.items()} == pytest.approx(
        {level: 100 * np.mean(flags) for level, flags in right.items()}
    )
    plain = cli("score", folder, tmp_path / "no.jsonl", "--bootstrap", 0, "--json", "--quiet")
    assert "level" not in json.loads(plain.out)["conditions"][0]["breakdowns"]


@pytest.mark.parametrize("split", ["train", "covr_train"])
def test_floors_are_what_replies_earn(folder: Path, split: str) -> None:
    items = load(folder, HOP, split, text=True, scenes=True, images=False)
    of_levels: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for item in items:
        of_levels[level_of(item)].append((item["program_text"].split("[")[0].split()[0], item["answer_text"]))
    found = floors(items.table, read_levels(Layout(folder), items.table))
    assert found.keys() == of_levels.keys()
    for level, rows in of_levels.items():
        answers = Counter(answer for _, answer in rows)
        by_function = defaultdict(Counter)
        for function, answer in rows:
            by_function[function][answer] += 1
        best = sum(max(counts.values()) - 1 for counts in by_function.values())
        n_answers = {"train": 28, "covr_train": 32}[split]
        wanted = (answers["yes"], max(answers.values()) - 1, best, len(rows) / n_answers)
        assert found[level] == pytest.approx([each / len(rows) for each in wanted])
