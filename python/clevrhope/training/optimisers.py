"""An optimiser's numbers and weights in, torch's optimiser out; BertAdam is written here."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from clevrhope.models.recipe import Optimiser


class BertAdam(torch.optim.Optimizer):
    """Adam whose moments are taken as they are, without bias correction, with decoupled decay.

    m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g g;  p = p - rate (m / (sqrt(v) + epsilon) + decay p)

    Source: the public code of BERT and LXMERT, whose first updates are larger than Adam's because of this.
    """

    def __init__(
        self,
        params: Iterable[Parameter],
        *,
        lr: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update of all weights that have a gradient."""
        assert closure is None
        for group in self.param_groups:
            params = [each for each in group["params"] if each.grad is not None]
            if not params:
                continue
            for each in params:
                if not self.state[each]:
                    self.state[each] = {
                        "exp_avg": torch.zeros_like(each),
                        "exp_avg_sq": torch.zeros_like(each),
                    }
            grads: list[Tensor] = [each.grad for each in params]
            means = [self.state[each]["exp_avg"] for each in params]
            squares = [self.state[each]["exp_avg_sq"] for each in params]
            b1, b2 = group["betas"]
            torch._foreach_lerp_(means, grads, 1 - b1)
            torch._foreach_mul_(squares, b2)
            torch._foreach_addcmul_(squares, grads, grads, 1 - b2)
            divisors = torch._foreach_sqrt(squares)
            torch._foreach_add_(divisors, group["eps"])
            moves = torch._foreach_div(means, divisors)
            if group["weight_decay"]:
                torch._foreach_add_(moves, params, alpha=group["weight_decay"])
            torch._foreach_add_(params, moves, alpha=-group["lr"])


def make_optimiser(wanted: Optimiser, weights: Iterable[Parameter]) -> torch.optim.Optimizer:
    """The optimiser with its rate before the schedule."""
    numbers: dict[str, Any] = {
        "lr": wanted.rate,
        "betas": wanted.betas,
        "eps": wanted.epsilon,
        "weight_decay": wanted.decay,
    }
    if wanted.kind == "bert_adam":
        return BertAdam(weights, **numbers)
    # Fused: one call for all weights. Of a small model the loop over them takes as long as the gradients.
    return torch.optim.Adam(weights, fused=True, **numbers)
