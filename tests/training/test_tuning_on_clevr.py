"""Weights chosen by CLEVR's own val: its questions, and features of its images."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from PIL import Image
from safetensors import safe_open
from short_runs import Train, rows, weights

from clevrhope.dataset.clevr_folder import read_clevr_questions
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ClevrhopeError, ConfigError, DatasetError
from clevrhope.features.extraction import make_features
from clevrhope.features.store import open_store
from wording import refused


@pytest.fixture(scope="module")
def clevr(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """CLEVR's real questions on the first image of val, and an image of noise in its format for it."""
    root = tmp_path_factory.mktemp("clevr") / "CLEVR_v1.0"
    for folder, name in (("questions", "CLEVR_val_questions.json"), ("scenes", "CLEVR_val_scenes.json")):
        (root / folder).mkdir(parents=True)
        (root / folder / name).write_bytes((test_data / "real_clevr" / name).read_bytes())
    images = root / "images/val"
    images.mkdir(parents=True)
    noise = np.random.default_rng(0).integers(0, 256, (320, 480, 4), dtype=np.uint8)
    for index in range(2):
        Image.fromarray(noise[:, :, [index, 1, 2, 3]], "RGBA").save(images / f"CLEVR_val_{index:06d}.png")
    return root


@pytest.fixture(scope="module")
def with_features(clevr: Path) -> Path:
    made = make_features(clevr, kind="pixels", size=(24, 16))
    assert (made.folder, dict(made.pools), made.n_made) == (clevr / "features/pixels-24x16", {"val": 2}, 2)
    return clevr


def numbers(dataset: Path) -> tuple[Any, Any]:
    return read_vocab(dataset / "vocab.json"), json.loads((dataset / "manifest.json").read_text())["world"]


def test_real_questions_in_the_datasets_numbers(clevr: Path, dataset: Path) -> None:
    vocab, world = numbers(dataset)
    split = read_clevr_questions(clevr, "val", vocab, world["attributes"])
    rows = json.loads((clevr / "questions/CLEVR_val_questions.json").read_text())["questions"]
    ((first, questions, programs),) = split.blocks()
    assert (first, len(split), len(rows)) == (0, len(rows), len(questions))
    words, functions, answers = vocab.questions(), vocab.programs(), vocab.answers()
    assert split.sentences() == [row["question"] for row in rows]
    for k, row in enumerate(rows):
        n = int(split.question_lengths[k])
        said = [words[token] for token in questions[k, :n]]
        assert (said[0], said[-1], set(questions[k, n:].tolist()) - {0}) == ("<START>", "<END>", set())
        assert " ".join(said[1:-1]).replace(" ;", ";") + "?" == row["question"]
        assert answers[split.answers[k]] == row["answer"]
        assert (split.image_idxs[k], split.question_families[k]) == (0, row["question_family_index"])
        written = [functions[token] for token in programs[k, 1 : int(split.program_lengths[k]) - 1]]
        assert written == prefix(row["program"], len(row["program"]) - 1)


def prefix(nodes: list[dict[str, Any]], at: int) -> list[str]:
    node = nodes[at]
    values = "".join(f"[{value}]" for value in node["value_inputs"])
    return [node["function"] + values, *(name for below in node["inputs"] for name in prefix(nodes, below))]


def test_features_are_of_its_images(with_features: Path) -> None:
    pool = open_store(with_features, kind="pixels").pool("val")
    assert pool.indices.tolist() == [0, 1]
    path = with_features / "images/val/CLEVR_val_000001.png"
    small = Image.open(path).convert("RGB").resize((24, 16), Image.Resampling.BICUBIC)
    np.testing.assert_array_equal(pool.arrays["pixels"][1], np.asarray(small).transpose(2, 0, 1))
    assert make_features(with_features, kind="pixels", size=(24, 16)).n_made == 0


def test_the_best_weights_on_clevrs_val_are_kept(
    with_features: Path, run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("plain")
    made = run("tuned", tune_on=str(with_features), tune_every=6)
    assert made.checkpoints == ("best", "words", "last")
    looks = [line for line in rows(tmp_path / "tuned/log.jsonl") if "tuned_on" in line]
    assert [line["update"] for line in looks] == [6, 12, 18]
    n = len(json.loads((with_features / "questions/CLEVR_val_questions.json").read_text())["questions"])
    right = [line["accuracy"] * n / 100 for line in looks]
    assert right == pytest.approx(list(map(round, right)))
    best = max(looks, key=lambda line: line["accuracy"])
    with safe_open(tmp_path / "tuned/weights/best.safetensors", "pt") as file:
        assert json.loads(file.metadata()["clevrhope"])["update"] == best["update"]
    assert weights(tmp_path / "plain") == weights(tmp_path / "tuned"), "looking changes nothing"
    monkeypatch.chdir(with_features.parent)
    again = run("tuned", tune_on=with_features.name, tune_every=6)
    assert again.resumed_at == again.updates, "the same folder by another path"


def test_what_cannot_be_tuned_on(clevr: Path, dataset: Path, run: Train, tmp_path: Path) -> None:
    with refused(ConfigError):
        run(tune_on=str(tmp_path))
    with refused(ConfigError):
        make_features(clevr, kind="attributes")
    with refused(ConfigError):
        make_features(clevr, kind="pixels", pools=["test"])
    bare = tmp_path / "bare"
    for name in ("questions", "scenes", "images"):
        (bare / name).parent.mkdir(exist_ok=True)
        (bare / name).symlink_to(clevr / name)
    with refused(ConfigError):
        run(tune_on=str(bare))
    make_features(bare, kind="pixels", size=(12, 8))
    with refused(ConfigError):
        run(tune_on=str(bare))
    vocab, world = numbers(dataset)
    smaller = {**world["attributes"], "color": ["gray", "red"]}
    with refused(ClevrhopeError):
        read_clevr_questions(clevr, "val", vocab, smaller)
    (tmp_path / "broken/questions").mkdir(parents=True)
    (tmp_path / "broken/questions/CLEVR_val_questions.json").write_text(
        '{"questions": [{"question": "Why?"}]}'
    )
    with refused(DatasetError):
        read_clevr_questions(tmp_path / "broken", "val", vocab, world["attributes"])


def test_an_image_that_is_missing_is_told(with_features: Path, run: Train, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    for name in ("questions", "scenes"):
        bare.mkdir(exist_ok=True)
        (bare / name).symlink_to(with_features / name)
    (bare / "images/val").mkdir(parents=True)
    (bare / "images/val/CLEVR_val_000001.png").symlink_to(with_features / "images/val/CLEVR_val_000001.png")
    make_features(bare, kind="pixels", size=(24, 16))
    with refused(DatasetError):
        run(tune_on=str(bare))
