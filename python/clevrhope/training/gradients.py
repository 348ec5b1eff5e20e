"""The losses and gradients of batches, which a GPU replays where all of them need the same work."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from clevrhope.errors import TrainingError
from clevrhope.models.batch import Batch
from clevrhope.training.device import casting
from clevrhope.training.request import Precision

WARM_UP = 3
"""Batches before the recording, in which libraries choose and load their kernels."""

Losses = Callable[[Batch], Tensor]
Record = Callable[[Callable[[], Tensor]], tuple[Tensor, Callable[[], None]]]
"""Records work: returns what it returns, and what does the work again, into the same tensors."""


class Gradients:
    """Computes the losses of batches, and leaves their gradients in the weights.

    A processor needs some 5 us to start a kernel, and an update of LXMERT starts thousands of them, which
    takes longer than they run. If a model says by `is_static` (`protocol.Model`) that it does the same work
    for every batch, its work is recorded once on a GPU, as a CUDA graph. For later batches the recording is
    replayed, with new random numbers.
    """

    def __init__(
        self,
        losses: Losses,
        model: nn.Module,
        weights: Sequence[Parameter],
        device: torch.device,
        precision: Precision,
        *,
        record: Record | None = None,
    ) -> None:
        """Prepares the computation.

        Args:
            losses: (M,) losses of a batch, one for each run.
            model: the model or the stack of models that computes them.
            weights: those that the losses are differentiated by.
            device: of the model and its batches.
            precision: to compute in.
            record: by default a CUDA graph's recording, and none on another device.
        """
        self._losses, self._weights, self._device, self._precision = losses, weights, device, precision
        if record is None and device.type == "cuda":
            record = record_graph
        self._record = record if getattr(model, "is_static", False) else None
        self._n_computed = 0
        self._batch: Batch | None = None  # the recording reads its tensors
        self._replay: Callable[[], None] = lambda: None
        self._replayed = torch.empty(0)

    def __call__(self, batch: Batch) -> Tensor:
        """The losses, (M,), without their history.

        Raises:
            TrainingError: the work of a model with `is_static` cannot be recorded.
        """
        if self._record is None or self._n_computed < WARM_UP:
            self._n_computed += 1
            return self._compute(batch)
        if self._batch is None:
            self._batch = own = batch.copy()
            try:
                self._replayed, self._replay = self._record(lambda: self._compute(own))
            except RuntimeError as error:
                raise TrainingError(
                    f"this model has is_static, but its work cannot be recorded as a CUDA graph: {error}"
                ) from error
        else:
            self._batch.fill(batch)
        self._replay()
        return self._replayed.clone()

    def _compute(self, batch: Batch) -> Tensor:
        for each in self._weights:
            each.grad = None
        with casting(self._device, self._precision):
            losses = self._losses(batch)
        losses.sum().backward()  # type: ignore[no-untyped-call]
        return losses.detach()


def record_graph(work: Callable[[], Tensor]) -> tuple[Tensor, Callable[[], None]]:
    """As `Record`, of a GPU's work."""
    graph = torch.cuda.CUDAGraph()
    # Other threads may allocate memory meanwhile, for the next batch.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        result = work()
    return result, graph.replay
