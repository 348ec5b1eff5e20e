"""An LSTM that runs on every processor under autocast."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence


class Lstm(nn.LSTM):
    """`nn.LSTM`, in float32 on a CPU whatever autocast says.

    torch's kernel of LSTMs in bfloat16 is an error on processors without instructions for it.
    """

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> Any:
        """As `nn.LSTM`, of a tensor or a packed sequence."""
        on_cpu = (input.data if isinstance(input, PackedSequence) else input).device.type == "cpu"
        if not (on_cpu and torch.is_autocast_enabled("cpu")):
            return super().forward(input, hx)
        state = None if hx is None else (hx[0].float(), hx[1].float())
        with torch.autocast("cpu", enabled=False):
            return super().forward(input.float(), state)
