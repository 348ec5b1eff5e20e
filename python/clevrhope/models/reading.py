"""Questions in, states of their words and of the whole out: what several models begin with."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from clevrhope.models.lstm import Lstm


class Read(NamedTuple):
    """A batch of questions that was read."""

    words: Tensor  # (B, Q, D) state at each word
    there: Tensor  # (B, Q) bool: there is a word
    whole: Tensor  # (B, D) state after all words


class Reader(nn.Module):
    """An LSTM over embedded words.

    Args:
        n_words: of the vocabulary.
        word_size: of embeddings.
        hidden: D; of an LSTM that reads both ways half of it is each direction's.
        both_ways: whether it reads from both ends.
    """

    def __init__(self, n_words: int, word_size: int, hidden: int, *, both_ways: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_words, word_size)
        n_ways = 2 if both_ways else 1
        self.lstm = Lstm(word_size, hidden // n_ways, batch_first=True, bidirectional=both_ways)

    def forward(self, questions: Tensor, lengths: Tensor) -> Read:
        """(B, Q) tokens and their (B,) numbers to states."""
        # On a GPU, `lengths` is waited for: packing wants it on the CPU.
        packed = pack_padded_sequence(
            self.embedding(questions), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        output, (last, _) = self.lstm(packed)
        words, _ = pad_packed_sequence(output, batch_first=True, total_length=questions.shape[1])
        there = torch.arange(questions.shape[1], device=questions.device) < lengths.unsqueeze(1)
        return Read(words, there, last.transpose(0, 1).flatten(1))
