"""Episodes with nonce words in Parquet, read back by Hugging Face's datasets without a network."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import build_demo

import clevrhope
from clevrhope.__main__ import run_command
from clevrhope.errors import ClevrhopeError
from clevrhope.export import export
from clevrhope.splits.nonce.kinds import NONCE_SPLITS, nonce_file
from wording import refused


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("episodes") / "made"
    build_demo(out, hops=("none",), splits=(), nonce=10, images="h5")
    return out


@pytest.mark.usefixtures("offline")
def test_episodes_come_with_their_supports(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import datasets

    made = export(folder, tmp_path / "out", format="parquet", splits=NONCE_SPLITS)
    read = datasets.load_dataset(str(tmp_path / "out"), "nonce", cache_dir=str(tmp_path / "cache"))
    assert tuple(read) == NONCE_SPLITS
    shown: list[int] = []
    for split in NONCE_SPLITS:
        loaded = clevrhope.load(folder, "none", split, text=True)
        assert len(read[split]) == len(loaded) == 10
        assert read[split]["group"] == [0, 0, 1, 1, 2, 2, 3, 3, 3, 4]
        for row, item in zip(read[split], loaded, strict=True):
            check_row(row, item)
            assert row["condition"] == nonce_file(split)
            shown += item["support_indices"]
    assert (made.n_copies, made.n_images) == (20 + len(shown), 10 + len({*shown}))
    about = ["--format", "parquet", "--splits", ",".join(NONCE_SPLITS), "--out", str(tmp_path / "again")]
    assert run_command(["export", str(folder), *about]) == 0
    assert f"{made.n_copies} copies, one for each episode of a split that uses it" in capsys.readouterr().out


def check_row(row: dict[str, Any], item: dict[str, Any]) -> None:
    """A row has what `load` gives, and what its words mean in columns of their own alone."""
    assert (row["question"], row["answer"]) == (item["question_text"], item["answer_text"])
    for name in ("statements", "form", "grid", "partner"):
        assert row[name] == item[name], name
    np.testing.assert_array_equal(np.asarray(row["image"]), item["image"])
    np.testing.assert_array_equal(
        np.stack([*map(np.asarray, row["support_images"])]), np.stack(item["support_images"])
    )
    meanings = dict(each.split(": ") for each in row["real_words"])
    assert len(meanings) == (5 if "3x2" in row["form"] else 6)

    def in_real_words(text: str) -> str:
        for word, value in meanings.items():
            text = re.sub(rf"{word}es\b", f"{value}s", text).replace(word, value)
        return text.capitalize()

    assert in_real_words(row["question"].lower()) == row["real_question"]
    for_models = " ".join([row["question"], *row["statements"]]).lower()
    assert not any(value in for_models for value in meanings.values())


def test_other_formats_have_no_place_for_supports(folder: Path, tmp_path: Path) -> None:
    with refused(ClevrhopeError):
        export(folder, tmp_path / "out", format="webdataset", splits=NONCE_SPLITS)
    export(folder, tmp_path / "text", format="parquet", splits=NONCE_SPLITS, images=False)
    with refused(ClevrhopeError):
        clevrhope.load(tmp_path / "text", "none", "nonce_seen")
