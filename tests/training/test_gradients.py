"""Gradients that a recording computes: those of each batch, whatever batch was recorded."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")


from safetensors.torch import load_file
from short_runs import stopped_states
from torch import Tensor

from benchmarks.synthetic_batch import clevr_vocab, part_of, synthetic_batch
from clevrhope.errors import TrainingError
from clevrhope.models.batch import Batch
from clevrhope.models.lxmert.model import LxmertScratch
from clevrhope.models.names import build_model
from clevrhope.training import gradients
from clevrhope.training.device import computing
from clevrhope.training.gradients import WARM_UP, Gradients, Made
from wording import check_refused

SMALL = {"hidden": 16, "heads": 2, "intermediate": 16, "language_layers": 1, "object_layers": 1}
LXMERT = {**SMALL, "cross_layers": 2, "dropout": 0.0}
N_BATCHES = WARM_UP + 4
CPU = torch.device("cpu")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no NVIDIA GPU")


class Recorder:
    """In place of a CUDA graph: does the work again, and leaves its results in the same tensors."""

    def __init__(self) -> None:
        self.n_recorded = self.n_replayed = 0

    def __call__(self, work: Callable[[], Made]) -> tuple[Made, Callable[[], None]]:
        self.n_recorded += 1
        losses = torch.full((1,), torch.nan)  # a graph computes nothing while it is recorded
        grads: list[Tensor | None] = []

        def replay() -> None:
            self.n_replayed += 1
            now, gradients = work()
            losses.copy_(now)
            if not grads:
                grads.extend(gradients)
            for kept, each in zip(grads, gradients, strict=True):
                if kept is not None:
                    kept.copy_(each)

        return (losses, grads), replay


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """What records the work on a CPU in this test."""
    found = Recorder()
    monkeypatch.setattr(gradients, "recorder", lambda device: found)
    return found


def small_lxmert(**changes: Any) -> LxmertScratch:
    torch.manual_seed(0)
    model: LxmertScratch = build_model("lxmert_s", {**LXMERT, **changes}, clevr_vocab())
    return model


def batches(n: int = N_BATCHES, size: int = 6) -> list[Batch]:
    """Batches of different questions on different images."""
    whole = synthetic_batch(n * size, 1, kind="frcnn")
    parts = [part_of(whole, slice(first, first + size)) for first in range(0, n * size, size)]
    assert all(len(each) == size for each in parts)
    return parts


def results(
    model: LxmertScratch,
    given: list[Batch],
    device: torch.device = CPU,
    precision: Any = "float32",
    *,
    is_static: bool = True,
) -> list[tuple[Tensor, list[Tensor]]]:
    """Loss and gradients of each batch, with a step of gradient descent after each."""
    model = model.to(device)
    weights = [each for each in model.parameters() if each.requires_grad]
    compute = Gradients(
        lambda batch: model.loss(batch).reshape(1), weights, device, precision, is_static=is_static
    )
    found = []
    for batch in given:
        loss = compute(batch.to(device))
        grads = [each.grad for each in weights if each.grad is not None]
        found.append((loss.cpu(), [each.detach().cpu().clone() for each in grads]))
        with torch.no_grad():
            for each in weights:
                if each.grad is not None:
                    each.sub_(each.grad, alpha=0.1)
                each.grad = None  # as somebody might do between updates
    return found


def assert_same(some: Any, others: Any, **tolerance: float) -> None:
    for (loss, grads), (other_loss, other_grads) in zip(some, others, strict=True):
        torch.testing.assert_close(loss, other_loss, **tolerance)
        for own, other in zip(grads, other_grads, strict=True):
            torch.testing.assert_close(own, other, **tolerance)


def test_a_recording_computes_what_each_batch_needs(recorder: Recorder) -> None:
    given = batches()
    expected = results(small_lxmert(), given, is_static=False)
    assert recorder.n_recorded == 0
    assert len({float(loss) for loss, _ in expected}) == N_BATCHES
    assert_same(results(small_lxmert(), given), expected, rtol=0, atol=0)
    assert (recorder.n_recorded, recorder.n_replayed) == (1, N_BATCHES - WARM_UP)


def test_the_batch_that_was_recorded_is_not_written_to(recorder: Recorder) -> None:
    given = batches()
    before = [each.copy() for each in given]
    results(small_lxmert(), given)
    for own, old in zip(given, before, strict=True):
        assert torch.equal(own.questions, old.questions)
        assert torch.equal(own.features["vectors"], old.features["vectors"])


def test_lxmert_is_static_for_single_images_alone() -> None:
    model = small_lxmert()
    assert model.is_static
    model.add_set_layers()
    assert not model.is_static


def test_batches_that_differ_in_more_than_values_are_refused(recorder: Recorder) -> None:
    given = [*batches(), batches(1, size=5)[0]]
    check_refused(TrainingError, results, small_lxmert(), given)
    vectors = given[0].features["vectors"].float()
    given[-1] = replace(given[0], features={**given[0].features, "vectors": vectors})
    check_refused(TrainingError, results, small_lxmert(), given)


def test_a_plan_is_refused(recorder: Recorder) -> None:
    given = [replace(each, plan=number) for number, each in enumerate(batches())]
    check_refused(TrainingError, results, small_lxmert(), given)


def test_work_that_cannot_be_recorded_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(work: Callable[[], Made]) -> Any:
        try:
            raise RuntimeError("operation not permitted when stream is capturing")
        finally:
            raise RuntimeError("capture was invalidated")

    monkeypatch.setattr(gradients, "recorder", lambda device: refuse)
    check_refused(TrainingError, results, small_lxmert(), batches())


def test_a_run_is_the_same_with_a_recording(run: Any, tmp_path: Path, recorder: Recorder) -> None:
    """With two stages, tuning between updates and a stop."""
    usual = {"tune_on": "val", "tune_every": 9, "save_every": 4}
    run("plain", **usual)
    assert recorder.n_recorded == 0
    run("whole", **usual, model="tiny_models:Static")
    assert recorder.n_recorded == 2
    stopped_states(run, tmp_path / "stopped", [22], **usual, model="tiny_models:Static")
    assert not (tmp_path / "stopped/weights/last.safetensors").exists()
    run("stopped", **usual, model="tiny_models:Static")
    for other in ("whole", "stopped"):
        for name in ("last.safetensors", "best.safetensors"):
            ours, theirs = (load_file(tmp_path / each / "weights" / name) for each in (other, "plain"))
            assert all(torch.equal(ours[key], theirs[key]) for key in theirs)


@needs_gpu
@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_graph_computes_what_single_kernels_do(dropout: float, precision: Any) -> None:
    """With the same random numbers."""
    given, gpu, found = batches(), torch.device("cuda"), []
    for is_static in (True, False):
        model = small_lxmert(dropout=dropout)
        torch.manual_seed(1)
        with computing(gpu, precision=precision, deterministic=True):
            found.append(results(model, given, gpu, precision, is_static=is_static))
    tolerance = 1e-4 if precision == "float32" else 1e-2
    assert_same(*found, rtol=tolerance, atol=tolerance / 100)
