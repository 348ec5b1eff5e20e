"""What `stats` and `load_scenes` say of a folder that has episodes with nonce words alone."""

import json
from pathlib import Path

import numpy as np
import pytest

import clevrhope
from clevrhope.__main__ import run_command
from clevrhope.dataset.question_kinds import NONCE
from clevrhope.dataset.question_table import read_table
from clevrhope.errors import ConfigError
from clevrhope.splits.nonce.kinds import NONCE_SPLITS, OBJECTS, SCENES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("episodes") / "demo"
    words = ["build", "--nonce", "24", "--no-render", "--seed", "3", "--quiet", "--out", str(out)]
    assert run_command(words) == 0
    return out


def shown(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = run_command(["stats", *map(str, words)])
    return (code, *capsys.readouterr())


def test_described_objects_are_counted_in_both_pools(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "red cube"
    code, out, _ = shown(capsys, folder, "--objects", text, "--json")
    assert code == 0
    found = json.loads(out)["hops"]["none"]["objects"][text]
    tables = [
        read_table(folder / "nonce" / f"{name}.h5", NONCE).load()
        for name in [split.removeprefix("nonce_") for split in NONCE_SPLITS]
    ]
    asked = {
        SCENES: tables[0].image_idxs[:, None],
        OBJECTS: np.concatenate([table.support_idxs for table in tables], axis=1),
    }
    assert {*found} == {*asked}
    for pool, images in asked.items():
        such = [each["image_index"] for each in clevrhope.load_scenes(folder, pool, objects=text)]
        used = {*images.ravel().tolist()} - {-1}
        assert found[pool] == {
            "images": len(used & {*such}),
            "all_images": len(used),
            "questions": int(np.isin(images, such).any(axis=1).sum()),
        }
    assert 0 < found[OBJECTS]["images"] < found[OBJECTS]["all_images"]
    code, out, _ = shown(capsys, folder, "--objects", text)
    assert code == 0
    assert f"Images that show {text}" in out
    assert OBJECTS in out
    code, _, err = shown(capsys, folder, "--objects", "red cub")
    assert code == 2
    assert '"cub"' in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--splits", "train"), 'no split "train" of none; there are: nonce_unseen, nonce_seen'),
        (("--splits", "nonce_sen"), 'no split "nonce_sen" of none (did you mean "nonce_seen"?)'),
        (("--hop", "rubber_cylinder"), 'no HOP "rubber_cylinder"; there are: none'),
    ],
)
def test_what_is_not_there_is_refused(
    folder: Path, words: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = shown(capsys, folder, *words)
    assert (code, out) == (2, "")
    assert said in err


def test_episodes_are_shown_by_number_of_objects(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = shown(capsys, folder, "--json")
    assert code == 0
    found = json.loads(out)["nonce"]
    counts = [of_form["objects"] for of_form in found.values()]
    assert max(map(len, counts)) > 1
    assert [[*map(int, each)] for each in counts] == [sorted(map(int, each)) for each in counts]
    assert [*found["query_3x3"]["answers"]] == sorted(found["query_3x3"]["answers"])
    for words in ((), ("--hop", "none"), ("--splits", "nonce_seen")):
        code, out, _ = shown(capsys, folder, *words)
        assert code == 0
        n_objects, n = next(iter(counts[0].items()))
        assert f"{n_objects} objects: {n}" in out


def test_a_wrong_pool_is_told_the_pools(folder: Path) -> None:
    with pytest.raises(ConfigError, match=f"there are: {OBJECTS}, {SCENES}$"):
        clevrhope.load_scenes(folder, "typo")
