"""trl trains two steps by the examples of docs/training_vlms.md, from a folder and a stream, offline."""

import re
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from building import SET_SIZES, build_demo
from tiny_vlm import write_tiny_vlm
from truth import HOP

from clevrhope import load, rewards
from clevrhope.errors import ConfigError
from clevrhope.prompts import prompts
from wording import refused

PAGE = Path(__file__).parents[2] / "docs/training_vlms.md"
STEPS = (
    "max_steps=2, per_device_train_batch_size=8, num_generations=4, max_completion_length=4, use_cpu=True, "
    'bf16=False, report_to=[], save_strategy="no", logging_steps=1'
)
CHANGED = {
    "max_steps=1_000": STEPS,
    '"size": (480, 320), "seed": 1': '"size": (96, 64), "seed": 1, "limit": 40, "quality": "draft"',
}
"""What the examples say -> what stands in for it here."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("trl")
    build_demo(home / "out/small", images="h5", covr=True, sizes=SET_SIZES)
    return home


def test_rows_are_those_of_the_split(home: Path) -> None:
    items = load(home / "out/small", HOP, "complex_ood", text=True)
    for item, row in zip(items, prompts(HOP, "complex_ood", folder=home / "out/small"), strict=True):
        (message,) = row.pop("prompt")
        assert message["content"].startswith(f"{item['question_text']} Think step by step.")
        np.testing.assert_array_equal(np.asarray(row.pop("image")), item["image"])
        assert row == {"question": item["question_text"], "answer": item["answer_text"], "asked": []}


def test_rows_of_sets_have_all_images_and_the_answers_they_offer(home: Path) -> None:
    arguments: dict[str, Any] = {"folder": home / "out/small", "instruction": "short", "limit": 40}
    items = load(home / "out/small", HOP, "covr_train", text=True, limit=40)
    for item, row in zip(items, prompts(HOP, "covr_train", **arguments), strict=True):
        (message,) = row["prompt"]
        assert message == {
            "role": "user",
            "content": f"{item['question_text']} Answer with one word or number.",
        }
        assert [image.size[::-1] for image in row["images"]] == [each.shape[:2] for each in item["images"]]
        assert row["answer"] in row["asked"]
        reply = f"<answer>{row['answer']}</answer>"
        assert rewards.answer_reward([reply], [row["question"]], [row["answer"]], [row["asked"]]) == [1]


@pytest.mark.parametrize(
    ("split", "choices"),
    [
        ("complex_ood", {"folder": "out/small", "suite": "carets"}),
        ("complex_ood", {"folder": "out/small", "size": (48, 32)}),
        ("complex_ood", {"folder": "out/small", "images": False}),
        ("complex_ood", {"size": (48, 32), "seed": 1, "text": True}),
        ("complex_ood", {"size": (48, 32), "seed": 1, "transform": np.asarray}),
        ("nonce_unseen", {"folder": "out/small"}),
    ],
)
def test_rows_cannot_hold_everything(
    home: Path, split: str, choices: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    with refused(ConfigError):
        next(prompts(HOP, split, **choices))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_another_dataset_in_the_same_place_gives_its_own_rows(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`datasets` keeps rows by the arguments of their generator."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (code,) = (block for block in blocks if "import Dataset\n" in block and "GRPOTrainer" in block)
    lines = [line for line in code.partition("settings =")[0].splitlines() if "trl" not in line]
    build_demo(tmp_path / "out/small", images="h5", seed=6)
    for folder in (home, tmp_path):
        monkeypatch.chdir(folder)
        names: dict[str, Any] = {}
        exec(compile("\n".join(lines), "rows", "exec"), names)
        wanted = [item["question_text"] for item in load("out/small", HOP, "train", text=True, images=False)]
        assert names["rows"]["question"] == wanted


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", ["Dataset", "IterableDataset"])
def test_two_steps(home: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", home / "cache")
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (code,) = (block for block in blocks if f"import {source}\n" in block and "GRPOTrainer" in block)
    assert len([line for line in code.splitlines() if line]) <= 15
    for said, here in CHANGED.items():
        code = code.replace(said, here)
    asked: list[tuple[str, ...]] = []

    @wraps(rewards.answer_reward)
    def answer_reward(
        completions: Any, question: list[str], answer: list[str], **columns: Any
    ) -> list[float]:
        assert len(columns["asked"]) == len(completions)
        asked.append(tuple(question))
        return rewarded(completions, question, answer, **columns)

    rewarded = rewards.answer_reward
    monkeypatch.setattr(rewards, "answer_reward", answer_reward)
    texts = [row["prompt"][0]["content"] for row in prompts(HOP, "train", folder="out/small")]
    write_tiny_vlm(Path("your/model"), texts)
    names: dict[str, Any] = {}
    exec(compile(code, source, "exec"), names)
    state = names["trainer"].state
    assert state.global_step == 2
    assert all(np.isfinite(log["loss"]) for log in state.log_history if "loss" in log)
    assert "rewards/answer_reward/mean" in state.log_history[0]
    assert "unread" in state.log_history[0]
    groups = [batch[k : k + 4] for batch in asked for k in range(0, len(batch), 4)]
    assert len(groups) >= 4
    assert all(len(set(group)) == 1 for group in groups)
    assert len(set(groups)) > 2
