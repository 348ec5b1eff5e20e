"""Gradients that a recording computes: those of each batch, whatever batch was recorded."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")


from torch import Tensor

from clevrhope.bench.synthetic_batch import clevr_vocab, synthetic_batch
from clevrhope.errors import TrainingError
from clevrhope.models.batch import Batch
from clevrhope.models.lxmert.model import LxmertScratch
from clevrhope.models.names import build_model
from clevrhope.training.gradients import WARM_UP, Gradients, Record, record_graph

SMALL = {"hidden": 16, "heads": 2, "intermediate": 16, "language_layers": 1, "object_layers": 1}
LXMERT = {**SMALL, "cross_layers": 2, "dropout": 0.0}
N_BATCHES = WARM_UP + 4
CPU = torch.device("cpu")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no NVIDIA GPU")


class Recorder:
    """In place of a CUDA graph: does the work again, and leaves its results in the same tensors."""

    def __init__(self) -> None:
        self.n_recorded = self.n_replayed = 0

    def __call__(self, work: Callable[[], Tensor]) -> tuple[Tensor, Callable[[], None]]:
        self.n_recorded += 1
        result = torch.full((1,), torch.nan)  # a graph computes nothing while it is recorded

        def replay() -> None:
            self.n_replayed += 1
            result.copy_(work())

        return result, replay


def made(**changes: Any) -> LxmertScratch:
    torch.manual_seed(0)
    model: LxmertScratch = build_model("lxmert_s", {**LXMERT, **changes}, clevr_vocab())
    return model


def batches(n: int = N_BATCHES, size: int = 6) -> list[Batch]:
    """Batches of different questions on different images."""
    whole = synthetic_batch(n * size, 1, kind="frcnn")

    def part(number: int, tensor: Tensor) -> Tensor:
        return tensor[number * size : (number + 1) * size]

    names = ("questions", "question_lengths", "programs", "program_lengths", "answers", "families", "rows")
    made = []
    for number in range(n):
        columns = {name: part(number, getattr(whole, name)) for name in names}
        features = {name: part(number, each) for name, each in whole.features.items()}
        made.append(replace(whole, **columns, features=features))
    assert all(len(each) == size for each in made)
    return made


def results(
    model: LxmertScratch, given: list[Batch], device: torch.device = CPU, record: Record | None = None
) -> list[tuple[Tensor, list[Tensor]]]:
    """Loss and gradients of each batch, with a step of gradient descent after each."""
    model = model.to(device)
    weights = [each for each in model.parameters() if each.requires_grad]
    compute = Gradients(
        lambda batch: model.loss(batch).reshape(1), model, weights, device, "float32", record=record
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
    return found


def assert_same(some: Any, others: Any, **tolerance: float) -> None:
    for (loss, grads), (other_loss, other_grads) in zip(some, others, strict=True):
        torch.testing.assert_close(loss, other_loss, **tolerance)
        for own, other in zip(grads, other_grads, strict=True):
            torch.testing.assert_close(own, other, **tolerance)


def test_a_recording_computes_what_each_batch_needs() -> None:
    given, recorder = batches(), Recorder()
    expected = results(made(), given)
    assert len({float(loss) for loss, _ in expected}) == N_BATCHES
    assert_same(results(made(), given, record=recorder), expected, rtol=0, atol=0)
    assert (recorder.n_recorded, recorder.n_replayed) == (1, N_BATCHES - WARM_UP)


def test_losses_that_are_kept_stay_as_they_are() -> None:
    kept = [loss for loss, _ in results(made(), batches(), record=Recorder())]
    assert len({float(loss) for loss in kept}) == N_BATCHES


def test_the_batch_that_was_recorded_is_not_written_to() -> None:
    given = batches()
    before = [each.copy() for each in given]
    results(made(), given, record=Recorder())
    for own, old in zip(given, before, strict=True):
        assert torch.equal(own.questions, old.questions)
        assert torch.equal(own.features["vectors"], old.features["vectors"])


def test_a_model_that_is_not_static_is_never_recorded() -> None:
    model, recorder = made(), Recorder()
    model.add_set_layers()
    assert not model.is_static
    results(model, batches(), record=recorder)
    assert recorder.n_recorded == 0


def test_batches_of_other_shapes_are_refused() -> None:
    given = [*batches(), batches(1, size=5)[0]]
    with pytest.raises(ValueError, match="other shapes"):
        results(made(), given, record=Recorder())


def test_work_that_cannot_be_recorded_is_said() -> None:
    def refuse(work: Callable[[], Tensor]) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")

    with pytest.raises(TrainingError, match=r"is_static.*not permitted"):
        results(made(), batches(), record=refuse)


@needs_gpu
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_graph_computes_what_single_kernels_do(dropout: float) -> None:
    """With the same random numbers."""
    given, gpu = batches(), torch.device("cuda")
    found = []
    for record in (None, record_graph):
        model = made(dropout=dropout)
        if record is None:
            model.__class__ = type("Eager", (LxmertScratch,), {"is_static": False})
        torch.manual_seed(1)
        found.append(results(model, given, gpu, record))
    assert_same(*found, rtol=1e-4, atol=1e-6)
