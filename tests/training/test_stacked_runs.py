"""Runs that are trained together: the same weights and files as of runs by themselves, also after kills."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file
from short_runs import HOP, PIXELS, log

from clevrhope.errors import ConfigError, TrainingError
from clevrhope.training import checkpoints, loop
from clevrhope.training.checkpoints import states_in
from clevrhope.training.evaluation import evaluate
from clevrhope.training.loop import Loop
from clevrhope.training.member import Member
from clevrhope.training.request import TrainRequest, TrainSummary
from clevrhope.training.run import train
from clevrhope.training.stacked_runs import train_together
from wording import check_refused, refused

COMMON = {**PIXELS, "shift": 1, "recipe.batch_size": 24, "recipe.rate": 1e-3, "recipe.averaging": 0.6}
SETTINGS = {**COMMON, "stages": "engine"}
FILM = {**COMMON, "blocks": 2, "words": 6, "hidden": 9}
RUNS = ((HOP, 3), ("none", 3), (HOP, 4))
"""Two datasets' questions, one of them for two seeds; 60 of them make an epoch of two batches."""


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    """In float32 Adam makes large steps of gradients that are nothing but rounding."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def requests(dataset: Path, out: Path, **changes: Any) -> list[TrainRequest]:
    common = {
        "model": "tensor_nmn",
        "dataset": dataset,
        "size": 60,
        "updates": 5,
        "settings": SETTINGS,
        "device": "cpu",
        **changes,
    }
    return [
        TrainRequest(hop=hop, seed=seed, out=out / str(number), **common)
        for number, (hop, seed) in enumerate(RUNS)
    ]


def assert_same_runs(ours: Path, theirs: Path, *, exact: bool = False) -> None:
    """Checks that all runs have the same files, weights and logs, up to rounding unless `exact`."""
    for number in range(len(RUNS)):
        one, other = ours / str(number), theirs / str(number)
        files = [sorted(str(path.relative_to(each)) for path in each.rglob("*")) for each in (one, other)]
        assert files[0] == files[1]
        assert (one / "run.json").read_bytes() == (other / "run.json").read_bytes()
        tolerance = 0 if exact else 1e-9
        for line, expected in zip(log(one), log(other), strict=True):
            assert line.keys() == expected.keys()
            for name, value in expected.items():
                is_number = isinstance(value, float)
                assert line[name] == (pytest.approx(value, rel=tolerance, abs=0) if is_number else value)
        for path in (other / "weights").iterdir():
            weights = load_file(one / "weights" / path.name)
            for name, value in load_file(path).items():
                torch.testing.assert_close(weights[name], value, rtol=tolerance, atol=tolerance, msg=name)


@pytest.mark.parametrize(
    ("model", "settings", "optimiser", "late"),
    [
        ("tensor_nmn", SETTINGS, "adam", "engine-0000003"),
        ("tensor_nmn", SETTINGS, "muon", "engine-0000003"),
        ("film", FILM, "adam", "train-0000003"),
        ("film", {**FILM, "recipe.decay": 0}, "muon", "train-0000003"),
    ],
)
@pytest.mark.slow
def test_each_run_has_the_weights_and_files_of_a_run_by_itself(
    dataset: Path, tmp_path: Path, model: str, settings: dict[str, Any], optimiser: str, late: str
) -> None:
    changes: dict[str, Any] = {
        "model": model,
        "settings": {**settings, "recipe.optimiser": optimiser},
        "tune_on": "val",
        "tune_every": 2,
        "keep_last": 2,
        "keep_every": 2,
    }
    made = train_together(requests(dataset, tmp_path / "together", **changes))
    assert [each.updates for each in made if isinstance(each, TrainSummary)] == [5, 5, 5], made
    for request in requests(dataset, tmp_path / "apart", **changes):
        train(request)
    assert_same_runs(tmp_path / "together", tmp_path / "apart")
    weights = [load_file(tmp_path / "together" / str(k) / "weights/last.safetensors") for k in range(3)]
    assert any(not torch.equal(value, weights[2][name]) for name, value in weights[0].items())
    torch.set_default_dtype(torch.float32)
    assert {each.checkpoint for each in evaluate(tmp_path / "together/1", device="cpu")} == {
        "best", late, "last",
    }  # fmt: skip


def stop_after(patch: pytest.MonkeyPatch, name: str, n_calls: int) -> None:
    """Makes a function of the loop raise an error after some calls, as if the process were killed there."""
    function, made = getattr(checkpoints, name), [0]

    def call_or_stop(*arguments: Any, **options: Any) -> None:
        if made[0] == n_calls:
            raise MemoryError
        made[0] += 1
        function(*arguments, **options)

    patch.setattr(checkpoints, name, call_or_stop)


@pytest.mark.parametrize(
    ("name", "n_calls"),
    [
        ("save_state", 4),  # three states after 2 updates, and one after 4
        ("save_state", 7),  # one at the end
        ("remove_states", 4),  # three after 2 updates, one after 4
    ],
)
@pytest.mark.slow
def test_killed_runs_resume_to_the_same_bits(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, n_calls: int
) -> None:
    wanted = requests(dataset, tmp_path / "killed", save_every=2, tune_on="val", tune_every=2)
    with monkeypatch.context() as patch:
        stop_after(patch, name, n_calls)
        with pytest.raises(MemoryError):
            train_together(wanted)
    states = [[each.name for each in states_in(request.out / "state")] for request in wanted]
    assert states[0] != states[2], "not killed while states are written or removed"
    train_together(wanted)
    train_together(requests(dataset, tmp_path / "whole", save_every=2, tune_on="val", tune_every=2))
    assert_same_runs(tmp_path / "killed", tmp_path / "whole", exact=True)


@pytest.mark.slow
def test_a_run_that_was_begun_by_itself_goes_on_with_others(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = requests(dataset, tmp_path / "mixed", save_every=2)
    with monkeypatch.context() as patch:
        stop_after(patch, "save_state", 1)
        with pytest.raises(MemoryError):
            train(wanted[1])
    done = train(wanted[2])
    made = train_together(wanted)
    assert [each.resumed_at for each in made if isinstance(each, TrainSummary)] == [0, 2, 5]
    assert done.resumed_at == 0
    for request in requests(dataset, tmp_path / "apart", save_every=2):
        train(request)
    assert_same_runs(tmp_path / "mixed", tmp_path / "apart")


def test_a_signal_at_the_last_update_is_not_lost(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = requests(dataset, tmp_path)
    log_loss = Loop._log_loss

    def log_and_stop(self: Loop, member: Member, *arguments: Any, **options: Any) -> None:
        log_loss(self, member, *arguments, **options)
        if member.done.update == 5 and member.run.request == wanted[2]:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Loop, "_log_loss", log_and_stop)
    with pytest.raises(KeyboardInterrupt):
        train_together(wanted)
    assert all((request.out / "finished.json").exists() for request in wanted)


@pytest.mark.slow
def test_a_run_with_an_error_stops_no_other(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = Loop._losses

    def losses_with_nan(self: Loop, *arguments: Any) -> Any:
        bad = [each.done.update == 2 and each.run.request.hop == "none" for each in self.members]
        return losses(self, *arguments).masked_fill(torch.tensor(bad), torch.nan)

    with monkeypatch.context() as patch:
        patch.setattr(Loop, "_losses", losses_with_nan)
        first, bad, last = train_together(requests(dataset, tmp_path / "some"))
    assert isinstance(bad, TrainingError)
    assert "some/1: the loss is nan at update 3" in str(bad)
    assert isinstance(first, TrainSummary)
    assert isinstance(last, TrainSummary)
    assert not (tmp_path / "some/1/finished.json").exists()
    train_together(requests(dataset, tmp_path / "some"))
    train_together(requests(dataset, tmp_path / "all"))
    assert_same_runs(tmp_path / "some", tmp_path / "all")


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": {**SETTINGS, "stages": "all", "recipe.stages": "generator"}},
        {"settings": {**SETTINGS, "recipe.clip_norm": 1.0}},
        {"drop_types": {"count": 0.5}},
    ],
)
def test_models_that_cannot_be_trained_together_are_refused(
    dataset: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    with refused(ConfigError):
        train_together(requests(dataset, tmp_path, **changes))
    assert not list(tmp_path.iterdir())


def test_runs_that_differ_in_more_than_data_and_seeds_are_refused(dataset: Path, tmp_path: Path) -> None:
    one, other = requests(dataset, tmp_path)[0], requests(dataset, tmp_path, keep_last=2, keep_every=1)[1]
    check_refused(ConfigError, train_together, [one, other])


def test_batches_cross_the_ends_of_epochs_and_of_what_is_ordered_at_once(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "UPDATES_AT_ONCE", 2)
    train_together(requests(dataset, tmp_path / "two"))
    monkeypatch.setattr(loop, "UPDATES_AT_ONCE", 100)
    train_together(requests(dataset, tmp_path / "all"))
    assert_same_runs(tmp_path / "two", tmp_path / "all", exact=True)
