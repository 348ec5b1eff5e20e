"""Losses that torch compiles: equal up to rounding, with plain names, in runs that resume; and refusals."""

import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file
from short_runs import HOP, OBJECTS, Train, check_resumes, log, start_command
from test_gradients import assert_same, batches, results, small_lxmert

from clevrhope.errors import ConfigError
from clevrhope.training.gradients import compiled
from wording import refused

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
STATIC: dict[str, Any] = {"model": "tiny_models:Static", "size": 64}


@needs_compiler
@pytest.mark.slow
def test_a_compiled_run_has_the_losses_of_any_and_resumes_to_the_same_bits(
    run: Train, tmp_path: Path
) -> None:
    check_resumes(run, tmp_path, 7, 13, **STATIC, settings={"recipe.compile": True})
    for name, settings in (("plain", {}), ("compiled", {"recipe.compile": True})):
        run(name, **STATIC, settings={"dropout": 0, **settings})
    plain, made = (load_file(tmp_path / each / "weights/last.safetensors") for each in ("plain", "compiled"))
    assert plain.keys() == made.keys()
    losses = [[line["loss"] for line in log(tmp_path / each)] for each in ("plain", "compiled")]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@needs_compiler
@pytest.mark.slow
def test_lxmert_compiles() -> None:
    given = batches(4)
    model = small_lxmert(cross_layers=1)
    expected = results(model, given, is_static=False)
    model = small_lxmert(cross_layers=1)
    loss = compiled(model, "loss")
    model.loss = lambda batch: loss(batch)
    assert_same(results(model, given, is_static=False), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
def test_without_a_compiler_a_sentence_says_so(dataset: Path, tmp_path: Path) -> None:
    command = ["train", "tiny_models:Static", str(dataset), "--hop", HOP, "--size", "64", "--seed", "1"]
    options = ["--set", "recipe.compile=true", "--device", "cpu", "--out", str(tmp_path / "run")]
    nowhere = {"CXX": str(tmp_path / "no-compiler"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    process = start_command(*command, *options, **nowhere)
    _, told = process.communicate()
    assert process.returncode == 2, told
    last = told.strip().splitlines()[-1]
    assert "recipe.compile: torch cannot compile Static.loss (" in last
    assert last.endswith("install a C++ compiler if that is what is missing, or leave the setting out")


@pytest.mark.parametrize(
    "asked",
    [
        {"model": "object_transformer", "settings": {**OBJECTS, "recipe.compile": True}},
        {**STATIC, "settings": {"recipe.compile": True, "recipe.objective": "rewards"}},
        {**STATIC, "settings": {"recipe.compile": 1}},
    ],
    ids=["a plan", "rewards", "no boolean"],
)
def test_what_does_not_hold_still_is_not_compiled(asked: Any, run: Train, folder: Path) -> None:
    with refused(ConfigError):
        run(dataset=folder, **asked)
