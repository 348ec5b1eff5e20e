"""The losses and gradients of batches, replayed from a CUDA graph if a model always does the same work."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from clevrhope.errors import ConfigError, TrainingError
from clevrhope.models.batch import Batch
from clevrhope.training.device import casting
from clevrhope.training.request import Precision

WARM_UP = 3
"""Batches before the recording, during which libraries choose and load their kernels."""

Losses = Callable[[Batch], Tensor]
Made = tuple[Tensor, list[Tensor | None]]
"""The losses, and the gradient of each weight."""
Record = Callable[[Callable[[], Made]], tuple[Made, Callable[[], None]]]
"""Records a function: gives its result, and a function that repeats the work into the same tensors."""


class Gradients:
    """Computes the losses of batches, and leaves their gradients in the weights.

    An update of LXMERT launches thousands of kernels, at some 5 us each, so launching them takes longer than
    running them. On a GPU the work of a static model (`is_static` in `protocol.Model`) is therefore recorded
    once as a CUDA graph and replayed for each later batch, with new random numbers. The graph holds the
    memory of an update for as long as it exists.
    """

    def __init__(
        self,
        losses: Losses,
        weights: Sequence[Parameter],
        device: torch.device,
        precision: Precision,
        *,
        is_static: bool,
        parts: int = 1,
    ) -> None:
        """`losses` gives the (M,) losses of a batch; `is_static` says that all batches need the same work.

        `parts` is the number of batches whose gradients are averaged; if there are several, no work is
        recorded.
        """
        self._parts = parts
        self._losses, self._weights, self._device, self._precision = losses, weights, device, precision
        self._record = recorder(device) if is_static and parts == 1 else None
        self._n_computed = 0
        self._batch: Batch | None = None  # the one whose tensors the graph reads
        self._made: Made = torch.empty(0), []
        self._replay: Callable[[], None] = lambda: None

    def __call__(self, batch: Batch, *, part: int = 0) -> Tensor:
        """The (M,) losses, detached; gradients of a `part` after the first are added to those before.

        Raises:
            TrainingError: a static model's work cannot be recorded, or its batches differ in shape.
        """
        if self._record is None or self._n_computed < WARM_UP:
            self._n_computed += 1
            return self._compute(batch, adds=part > 0)[0]
        if batch.plan is not None:
            raise TrainingError("this model has a plan for each batch, so it must not have is_static")
        if self._batch is None:
            self._begin(self._record, batch.copy())
        else:
            self._batch.fill(batch)
        self._replay()
        losses, gradients = self._made
        for weight, gradient in zip(self._weights, gradients, strict=True):
            weight.grad = gradient
        return losses.clone()

    def _begin(self, record: Record, batch: Batch) -> None:
        """Records the work for a batch, whose tensors later batches then overwrite."""
        for each in self._weights:  # freed now, as the graph allocates gradients of its own
            each.grad = None
        try:
            self._made, self._replay = record(lambda: self._compute(batch))
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            cause = error.__context__ or error
            raise TrainingError(
                f"an update cannot be recorded as a CUDA graph ({cause}); leave is_static out of this model"
            ) from error
        self._batch = batch

    def _compute(self, batch: Batch, *, adds: bool = False) -> Made:
        for each in () if adds else self._weights:
            each.grad = None
        with casting(self._device, self._precision):
            losses = self._losses(batch)
        (losses.sum() / self._parts).backward()  # type: ignore[no-untyped-call]
        return losses.detach(), [each.grad for each in self._weights]


def compiled(model: nn.Module, name: str) -> Losses:
    """A loss of a static model, compiled at the first batch for the shapes of that; `name` is the method's.

    The compiled loss raises a ConfigError where torch cannot compile it, as without a C++ compiler.
    """
    from torch._dynamo.exc import TorchDynamoException

    torch.compiler.reset()  # as it limits the number of models for which one method is compiled
    made: Losses = torch.compile(getattr(model, name), fullgraph=True, dynamic=False)

    def loss(batch: Batch) -> Tensor:
        try:
            return made(batch)
        except TorchDynamoException as error:
            reason = next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)
            raise ConfigError(
                f"recipe.compile: torch cannot compile {type(model).__name__}.{name} ({reason}); install "
                "a C++ compiler if that is what is missing, or leave the setting out"
            ) from error

    return loss


def recorder(device: torch.device) -> Record | None:
    """The function that records work on a device; None if there is none for it."""
    return _record_graph if device.type == "cuda" else None


def _record_graph(work: Callable[[], Made]) -> tuple[Made, Callable[[], None]]:
    graph = torch.cuda.CUDAGraph()
    # Another thread may be allocating memory for the next batch.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        made = work()
    return made, graph.replay
