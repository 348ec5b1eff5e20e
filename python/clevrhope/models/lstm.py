"""LSTMs and GRUs over questions that run on every processor under autocast."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence


class _InFloat32:
    """Computes in float32 on a CPU even under autocast.

    torch's bfloat16 kernels of LSTMs and GRUs raise an error on processors without bfloat16 instructions.
    """

    def forward(self, input: Any, hx: Any = None) -> Any:
        """As in torch, for a tensor or a packed sequence; the state is a tensor, a pair of them, or None."""
        forward: Any = super().forward  # type: ignore[misc]
        on_cpu = (input.data if isinstance(input, PackedSequence) else input).device.type == "cpu"
        if not (on_cpu and torch.is_autocast_enabled("cpu")):
            return forward(input, hx)
        if hx is not None:
            hx = hx.float() if isinstance(hx, Tensor) else tuple(each.float() for each in hx)
        with torch.autocast("cpu", enabled=False):
            return forward(input.float(), hx)


class Lstm(_InFloat32, nn.LSTM):
    """`nn.LSTM` that computes in float32 on a CPU."""


class Gru(_InFloat32, nn.GRU):
    """`nn.GRU` that computes in float32 on a CPU."""

    def flatten_parameters(self) -> None:
        """As in `nn.GRU`, but does nothing for stacked weights, for which cuDNN has no layout."""
        if self.weight_ih_l0.ndim == 2:
            super().flatten_parameters()


def encode(rnn: Lstm | Gru, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Any]:
    """Runs over padded rows, (B, Q, E); the first `lengths` (B,), on the CPU, of each row are tokens.

    Returns:
        Outputs (B, Q, D), 0 at the padding; a (B, Q) bool mask of the tokens; the last state, which is one
        tensor (layers * directions, B, H) for a GRU, and a hidden and a cell state for an LSTM.
    """
    # Sorted here, because torch would read the order back from the device.
    lengths, order = lengths.sort(descending=True)
    back = order.argsort()
    on_device = torch.stack([lengths, order, back]).to(embedded.device, non_blocking=True)
    order, back = on_device[1:]
    packed = pack_padded_sequence(embedded.index_select(0, order), lengths, batch_first=True)
    output, state = rnn(packed)
    n_tokens = embedded.shape[1]
    padded, _ = pad_packed_sequence(output, batch_first=True, total_length=n_tokens)
    lengths = on_device[0].index_select(0, back)
    mask = torch.arange(n_tokens, device=embedded.device) < lengths.unsqueeze(1)
    if isinstance(state, Tensor):
        return padded.index_select(0, back), mask, state.index_select(1, back)
    return padded.index_select(0, back), mask, tuple(each.index_select(1, back) for each in state)
