"""Features that fit on a device, and those that do not: the same batches, and how much of it they take."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from clevrhope.errors import ConfigError
from clevrhope.training import data
from clevrhope.training.device import computing
from clevrhope.training.request import SIDE_BY_SIDE
from wording import refused

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
        refused(ConfigError),
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
    from short_runs import check_resumes, weights

    usual = {"device": "cuda", "deterministic": True}
    run("again", **usual)
    check_resumes(run, tmp_path, 17, **usual)
    assert weights(tmp_path / "again") == weights(tmp_path / "whole")
