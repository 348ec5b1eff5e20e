"""LSTMs over questions: one that runs on every processor under autocast, and an encoder built on it."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence


class Lstm(nn.LSTM):
    """`nn.LSTM` that computes in float32 on a CPU even under autocast.

    torch's bfloat16 LSTM kernel raises an error on processors without bfloat16 instructions.
    """

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> Any:
        """As `nn.LSTM`, for a tensor or a packed sequence."""
        on_cpu = (input.data if isinstance(input, PackedSequence) else input).device.type == "cpu"
        if not (on_cpu and torch.is_autocast_enabled("cpu")):
            return super().forward(input, hx)
        state = None if hx is None else (hx[0].float(), hx[1].float())
        with torch.autocast("cpu", enabled=False):
            return super().forward(input.float(), state)

    def encode(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Runs over padded rows, (B, Q, E) of which the first `lengths` (B,) are tokens.

        Packing needs `lengths` on the CPU.

        Returns:
            Outputs (B, Q, D), 0 at the padding; a (B, Q) bool mask of the tokens; the last hidden and cell
            states, (layers * directions, B, H) each.
        """
        # Sorted here, as torch would read the order back from the device.
        lengths, order = lengths.sort(descending=True)
        back = order.argsort()
        on_device = torch.stack([lengths, order, back]).to(embedded.device, non_blocking=True)
        order, back = on_device[1:]
        packed = pack_padded_sequence(embedded.index_select(0, order), lengths, batch_first=True)
        output, state = self(packed)
        n_tokens = embedded.shape[1]
        padded, _ = pad_packed_sequence(output, batch_first=True, total_length=n_tokens)
        lengths = on_device[0].index_select(0, back)
        mask = torch.arange(n_tokens, device=embedded.device) < lengths.unsqueeze(1)
        hidden, cell = (each.index_select(1, back) for each in state)
        return padded.index_select(0, back), mask, (hidden, cell)


class EncodedQuestions(NamedTuple):
    """Questions as `QuestionEncoder` gives them."""

    words: Tensor  # (B, Q, D) state at each word
    mask: Tensor  # (B, Q) bool, true at words, false at padding
    whole: Tensor  # (B, D) state after all words


class QuestionEncoder(nn.Module):
    """An LSTM over embedded words, which several models begin with.

    Args:
        n_words: size of the vocabulary.
        word_size: size of the word embeddings.
        hidden: D; each direction of a bidirectional LSTM has half of it.
        bidirectional: whether to read from both ends.
    """

    def __init__(self, n_words: int, word_size: int, hidden: int, *, bidirectional: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_words, word_size)
        n_directions = 2 if bidirectional else 1
        self.lstm = Lstm(word_size, hidden // n_directions, batch_first=True, bidirectional=bidirectional)

    def forward(self, questions: Tensor, lengths: Tensor) -> EncodedQuestions:
        """Encodes (B, Q) tokens of `lengths` (B,), which are on the CPU."""
        words, mask, (last, _) = self.lstm.encode(self.embedding(questions), lengths)
        return EncodedQuestions(words, mask, last.transpose(0, 1).flatten(1))
