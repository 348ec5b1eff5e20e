"""How a device computes: its precision, determinism, and features that fit on it and those that do not."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from short_runs import Train, check_resumes, stopped_states, weights

from clevrhope.dataset.binding import BindingError
from clevrhope.errors import ConfigError
from clevrhope.models.recipe import Recipe, Stage
from clevrhope.training import data, device
from clevrhope.training.device import chosen_precision, computing
from clevrhope.training.recipe_settings import apply_settings
from clevrhope.training.request import SIDE_BY_SIDE
from wording import check_refused

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("capabilities", "has_bfloat16"),
    [
        ({"avx2": True, "avx512_bf16": False, "amx_bf16": False}, False),
        ({"avx512_bf16": True}, True),
        ({"amx_bf16": True, "avx512_bf16": False}, True),
        ({"architecture": "arm64", "bf16": True}, True),
        (None, False),  # a version of torch that cannot tell
    ],
)
def test_a_recipes_bfloat16_is_taken_where_the_cpu_has_it(
    capabilities: dict[str, object] | None, has_bfloat16: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions = {} if capabilities is None else {"get_capabilities": lambda: capabilities}
    monkeypatch.setattr(torch, "cpu", SimpleNamespace(**functions))
    assert chosen_precision(None, "bf16", CPU) == ("bf16" if has_bfloat16 else "float32")
    assert chosen_precision(None, "float32", CPU) == "float32"
    assert chosen_precision("bf16", "float32", CPU) == "bf16", "what is asked for is done"


@pytest.mark.parametrize("has_bfloat16", [False, True])
def test_so_it_is_on_a_gpu(has_bfloat16: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation: has_bfloat16 and not including_emulation
    )
    assert chosen_precision(None, "bf16", GPU) == ("bf16" if has_bfloat16 else "float32")


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
    check_refused(BindingError, run, "stopped", **usual, precision="float32" if first else "bf16")


def test_a_setting_chooses_the_recipe_s_precision() -> None:
    recipe = Recipe((Stage("only", updates=2, batch_size=8),))
    assert apply_settings(recipe, {"precision": "bf16"}, None).precision == "bf16"
    check_refused(ConfigError, apply_settings, recipe, {"precision": "bf61"}, None)


N, QUESTIONS = 20, 53


@pytest.fixture
def features() -> Any:
    rng = np.random.default_rng(0)
    arrays = {"maps": rng.random((N, 3, 2)).astype(np.float16), "n": np.arange(N, dtype=np.int32)}
    return data._Features(arrays, rng.integers(0, N, QUESTIONS), torch.device("cpu"))


@pytest.mark.parametrize(("n", "size"), [(QUESTIONS, 8), (16, 8), (5, 8), (1, 1)])
def test_features_that_are_read_for_each_batch_are_those_that_are_there(
    features: Any, n: int, size: int
) -> None:
    numbers = np.random.default_rng(1).permutation(QUESTIONS)[:n]
    parts = [numbers[first : first + size] for first in range(0, n, size)]
    wanted = [(part, torch.from_numpy(part)) for part in parts]
    there = list(features.batches(wanted))
    features._on_device = None  # as on a GPU where they do not fit
    read = list(features.batches(wanted))
    assert [len(each["n"]) for each in read] == [min(size, n - first) for first in range(0, n, size)]
    for a, b in zip(there, read, strict=True):
        assert all(torch.equal(a[name], b[name]) and a[name].dtype == b[name].dtype for name in a)


@pytest.mark.parametrize(
    ("n_bytes", "side_by_side", "free", "fits"),
    [
        (550, "1", 1000, True),
        (650, "1", 1000, False),
        (550, "1", 900, False),  # others have the rest
        (140, "4", 580, True),  # the last of four, each of which may take 150
        (160, "4", 1000, False),
    ],
)
def test_runs_side_by_side_share_what_features_may_take(
    n_bytes: int, side_by_side: str, free: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 1000 bytes, 600."""
    monkeypatch.setattr(data, "_memory", lambda _: (free, 1000))
    monkeypatch.setenv(SIDE_BY_SIDE, side_by_side)
    assert data._fit(n_bytes, torch.device("cuda")) is fits


def test_what_torch_cannot_do_deterministically_is_a_sentence() -> None:
    cpu = torch.device("cpu")
    said = "adaptive_avg_pool2d_backward_cuda does not have a deterministic implementation, but you set"
    with (
        pytest.raises(ConfigError, match="torch has no deterministic adaptive_avg_pool2d_backward_cuda on"),
        computing(cpu, precision="float32", deterministic=True),
    ):
        raise RuntimeError(said)
    for deterministic, words in ((False, said), (True, "mat1 and mat2 shapes cannot be multiplied")):
        with (
            pytest.raises(RuntimeError, match=words[:10]),
            computing(cpu, precision="float32", deterministic=deterministic),
        ):
            raise RuntimeError(words)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_a_deterministic_run_is_the_same_again_and_resumes(run: Any, tmp_path: Any) -> None:
    usual = {"device": "cuda", "deterministic": True}
    run("again", **usual)
    check_resumes(run, tmp_path, 17, **usual)
    assert weights(tmp_path / "again") == weights(tmp_path / "whole")
