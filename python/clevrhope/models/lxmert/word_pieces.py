"""Turns question tokens of a dataset into BERT's uncased WordPieces, on any device.

`word_pieces.json` has the pieces of every word in this package's and in CLEVR's templates, and in the
phrasings of questions about sets of images, so no vocabulary file is needed. Pieces are indices into BERT's
uncased vocabulary of 30,522 entries (Devlin et al. 2019).
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor, nn

from clevrhope.errors import ConfigError
from clevrhope.models.base import ImageSetModel, SetLayers
from clevrhope.models.lxmert.config import LENGTH_OF_SETS
from clevrhope.runtime.settings import suggestion

PAD = 0
_START, _END, _NULL, _UNKNOWN = "<START>", "<END>", "<NULL>", "<UNK>"


@cache
def known_pieces() -> Mapping[str, tuple[int, ...]]:
    """Word or special token -> its WordPieces."""
    content = json.loads((files(__package__) / "word_pieces.json").read_text("utf-8"))
    return {word: tuple(pieces) for word, pieces in content["pieces"].items()}


class WordPieces(nn.Module):
    """Maps rows of tokens to WordPieces: [CLS], those of the words, [SEP], then padding.

    As in the original experiments, whose questions lost them before, there is no "?". Source: the official
    code's `_as_tokens`.

    Args:
        words: the question tokens of vocab.json, in order.
        length: pieces per row; words of a longer row are cut, but not its [SEP].

    Raises:
        ConfigError: the pieces of a word are unknown.
    """

    pieces: Tensor
    counts: Tensor

    def __init__(self, words: Sequence[str], length: int) -> None:
        super().__init__()
        self.length = length
        rows = [_pieces_of(word) for word in words]
        widest = max(map(len, rows))
        pieces = torch.tensor([[*row, *[PAD] * (widest - len(row))] for row in rows])
        # Not persistent: they follow from the vocabulary, and the state should only have the published names.
        self.register_buffer("pieces", pieces, persistent=False)
        self.register_buffer("counts", torch.tensor([len(row) for row in rows]), persistent=False)

    def forward(self, questions: Tensor) -> tuple[Tensor, Tensor]:
        """(B, Q) tokens to (B, length) int64 pieces, and a (B, length) bool mask that is false at padding."""
        pieces, counts = self.pieces[questions], self.counts[questions]  # (B, Q, widest), (B, Q)
        mask = torch.arange(pieces.shape[2], device=pieces.device) < counts.unsqueeze(2)
        flat, mask = pieces.flatten(1), mask.flatten(1)  # (B, Q * widest)
        # Each piece's position in its row. The last one, [SEP], is always there; padding and surplus pieces
        # go to an extra column, later cut.
        n_pieces = mask.sum(1, keepdim=True)
        positions = mask.cumsum(1) - 1
        is_last = mask & (positions == n_pieces - 1)
        is_there = mask & (positions < self.length - 1)
        positions = torch.where(is_there, positions, self.length)
        positions = torch.where(is_last, (n_pieces - 1).clamp(max=self.length - 1), positions)
        rows = flat.new_full((len(flat), self.length + 1), PAD).scatter(1, positions, flat)[:, : self.length]
        return rows, torch.arange(self.length, device=rows.device) < n_pieces


class WordPieceModel(ImageSetModel):
    """A transformer over WordPieces and boxes, of one image or several."""

    config: Any
    words: Sequence[str]
    pieces: WordPieces

    def add_set_layers(self) -> None:
        """As in `ImageSetModel`, with the model's own sizes; the model then accepts longer questions."""
        config = self.config
        self.pieces = WordPieces(self.words, max(config.length, LENGTH_OF_SETS))
        self.set_layers = SetLayers(
            config.hidden, heads=config.heads, intermediate=config.intermediate, dropout=config.dropout
        )


def draw_weights(module: nn.Module) -> None:
    """Initialises a layer as BERT's: weights normal with deviation 0.02, biases 0. For `nn.Module.apply`."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)


def _pieces_of(word: str) -> tuple[int, ...]:
    known = known_pieces()
    if word in (_NULL, _UNKNOWN, ""):  # CLEVR's vocabulary has an empty token
        return ()
    if word == _START:
        return known["[CLS]"]
    if word == _END:
        return known["[SEP]"]
    if word not in known:
        raise ConfigError(
            f'lxmert: no WordPieces are known for the word "{word}"{suggestion(word, known)}; '
            "LXMERT reads the words of CLEVR's templates and of this package's phrasings"
        )
    return known[word]
