"""The package's world without English names: its meshes, its colors, and episodes of it."""

import json
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from unnamed_meshes import FOLDER, SHAPES, obj

from clevrhope.__main__ import run_command
from clevrhope.config.presets import PRESETS
from clevrhope.images.settings import NativeSettings
from clevrhope.look.definition import read_look
from clevrhope.look.meshes import build_mesh
from clevrhope.pipeline import Request, build
from clevrhope.replies import lexicon
from clevrhope.runtime.assets import properties_file
from clevrhope.splits.nonce.words import usable_words

WORLD = properties_file(Path("unnamed"))


def numbers(text: str) -> np.ndarray:
    return np.asarray([line.split()[1:] for line in text.splitlines()[1:]], dtype=np.float64)


def widths(vertices: np.ndarray) -> np.ndarray:
    """(3, 12) how far a shape reaches in twelve directions, in order of reach, at three heights."""
    x, y, z = vertices.T
    sector, level = (np.arctan2(y, x) / (2 * np.pi) * 12).astype(int) % 12, ((z + 1) * 1.49).astype(int)
    reach = np.zeros((3, 12))
    np.maximum.at(reach, (level, sector), np.hypot(x, y))
    return np.sort(reach, axis=1)


@pytest.mark.parametrize("name", SHAPES)
def test_a_mesh_is_that_of_its_formula(name: str) -> None:
    made, kept = (numbers(text) for text in (obj(name), (FOLDER / f"{name}.obj").read_text("utf-8")))
    assert np.abs(made - kept).max() < 2e-4, "the last digit may be another on other machines"


def test_shapes_and_colors_differ_much() -> None:
    look = read_look(WORLD)
    meshes = [build_mesh(look.shapes[each]).vertices for each in look.properties["shapes"].values()]
    for one, other in combinations(map(widths, meshes), 2):
        assert np.abs(one - other).max() > 0.3
    colors = np.asarray([*look.properties["colors"].values()], dtype=float)
    assert min(np.linalg.norm(one - other) for one, other in combinations(colors, 2)) > 80


def test_no_value_has_an_english_name() -> None:
    named = json.loads(WORLD.read_text("utf-8"))
    names = [*named["colors"], *named["shapes"]]
    known = {*lexicon.YES, *lexicon.NO, *lexicon.NUMBERS, *lexicon.KINDS, *lexicon.OTHER_VALUES}
    assert not {*names} & known
    assert all(name not in word for name, word in product(names, known))
    assert len(usable_words(names, least=6)) > 180


@pytest.mark.slow
def test_episodes_of_the_world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    about = ["--nonce", "11", "--seed", "3", "--no-render", "--properties", "unnamed", "--out", str(out)]
    assert run_command(["plan", *about]) == 0
    assert "no episodes" not in capsys.readouterr().out
    config = replace(
        PRESETS["demo"], properties=WORLD, rendering=NativeSettings(quality="draft", width=96, height=64)
    )
    build(Request(out, ("none",), config, seed=3, splits=(), nonce=11))
    assert run_command(["audit", str(out), "--properties", "unnamed"]) == 0
