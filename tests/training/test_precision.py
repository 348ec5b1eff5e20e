"""Which precision a run is computed in, by what its device has instructions for."""

from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from short_runs import Train, stopped_states, weights

from clevrhope.dataset.binding import BindingError
from clevrhope.errors import ConfigError
from clevrhope.models.recipe import Recipe, Stage
from clevrhope.training import device
from clevrhope.training.device import chosen_precision
from clevrhope.training.recipe_settings import apply_settings
from wording import refused

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("capabilities", "there"),
    [
        ({"avx2": True, "avx512_bf16": False, "amx_bf16": False}, False),
        ({"avx512_bf16": True}, True),
        ({"amx_bf16": True, "avx512_bf16": False}, True),
        ({"architecture": "arm64", "bf16": True}, True),
    ],
)
def test_a_recipes_bfloat16_is_taken_where_the_cpu_has_it(
    capabilities: dict[str, object], there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "cpu", SimpleNamespace(get_capabilities=lambda: capabilities))
    assert chosen_precision(None, "bf16", CPU) == ("bf16" if there else "float32")
    assert chosen_precision(None, "float32", CPU) == "float32"
    assert chosen_precision("bf16", "float32", CPU) == "bf16", "what is asked for is done"


def test_where_torch_cannot_tell_it_is_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "cpu", SimpleNamespace())
    assert chosen_precision(None, "bf16", CPU) == "float32"


@pytest.mark.parametrize("there", [False, True])
def test_so_it_is_on_a_gpu(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation: there and not including_emulation
    )
    assert chosen_precision(None, "bf16", GPU) == ("bf16" if there else "float32")


@pytest.mark.parametrize("first", [True, False])
def test_a_run_is_gone_on_with_in_its_own_precision_on_whatever_machine(
    first: bool, run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = {"settings": {"recipe.precision": "bf16"}}
    monkeypatch.setattr(device, "has_bfloat16", lambda _: first)
    run("whole", **usual)
    stopped_states(run, tmp_path / "stopped", [7], **usual)
    monkeypatch.setattr(device, "has_bfloat16", lambda _: not first)
    assert run("stopped", **usual).resumed_at == 7
    assert weights(tmp_path / "stopped") == weights(tmp_path / "whole")
    with refused(BindingError):
        run("stopped", **usual, precision="float32" if first else "bf16")


def test_a_setting_chooses_the_recipe_s_precision() -> None:
    recipe = Recipe((Stage("only", updates=2, batch_size=8),))
    assert apply_settings(recipe, {"precision": "bf16"}, None).precision == "bf16"
    with refused(ConfigError):
        apply_settings(recipe, {"precision": "bf61"}, None)
