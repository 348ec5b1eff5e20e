"""Questions in, programs out: an encoder and a decoder of LSTMs, with attention or without.

Source: the public code that the CLEVR-HOPE paper followed, by sizes and numbers of parameters. The encoder
with attention is bidirectional; how its two directions' last states become the decoder's first one has no
parameters, and is a choice here: their mean.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from clevrhope.models.lstm import Lstm

NULL, START, END = 0, 1, 2
"""Special tokens, as all vocabularies have them."""

State = tuple[Tensor, Tensor]
"""Hidden and cell state of an LSTM, (layers, B, H) each."""


class Written(NamedTuple):
    """Programs that the generator wrote."""

    programs: Tensor  # (B, P) int64: <START>, tokens, <END>, then 0; without <END> where it never came
    log_probabilities: Tensor  # (B,) of all tokens that it chose, <END> included


class Encoded(NamedTuple):
    """Questions as the decoder reads them."""

    words: Tensor  # (B, Q, D) state at each word
    mask: Tensor  # (B, Q) bool: there is a word
    keys: Tensor  # (B, Q, H) the words' part of the attention's hidden layer; (B, 0, 0) without attention
    last: Tensor  # (B, D) after the last word; what a decoder without attention is given at each step
    state: State


class ProgramGenerator(nn.Module):
    """Writes a program for a question, token by token.

    Args:
        n_words: of the vocabulary of questions.
        n_tokens: of the vocabulary of programs.
        n_layers: of encoder and decoder.
        attention: whether the decoder looks at all words anew at each step, and the encoder reads both ways.
        word_size: of embeddings.
        hidden: H, units of the LSTMs, of each direction.
    """

    def __init__(
        self,
        n_words: int,
        n_tokens: int,
        *,
        n_layers: int,
        attention: bool,
        word_size: int = 300,
        hidden: int = 256,
    ) -> None:
        super().__init__()
        self.attention, self.hidden = attention, hidden
        encoded = 2 * hidden if attention else hidden
        self.words = nn.Embedding(n_words, word_size)
        self.encoder = Lstm(word_size, hidden, n_layers, batch_first=True, bidirectional=attention)
        self.tokens = nn.Embedding(n_tokens, word_size)
        self.decoder = Lstm(word_size + encoded, hidden, n_layers, batch_first=True)
        if attention:
            self.attend = nn.Linear(encoded + hidden, hidden)
            self.score = nn.Linear(hidden, 1, bias=False)
        self.output = nn.Linear(hidden + (encoded if attention else 0), n_tokens)

    def loss(self, questions: Tensor, lengths: Tensor, programs: Tensor) -> Tensor:
        """Mean cross-entropy of the true tokens up to <END>, each given the true ones before it.

        What stands behind <END> is not learned.
        """
        targets = programs[:, 1:]
        scores = self._teach(self._encode(questions, lengths), programs[:, :-1])  # (B, P - 1, T)
        return F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=NULL)

    def write(self, questions: Tensor, lengths: Tensor, longest: int, *, sample: bool) -> Written:
        """Programs of up to `longest` tokens and <START>: each the likeliest, or drawn at temperature 1."""
        encoded = self._encode(questions, lengths)
        state, n = encoded.state, len(questions)
        token = questions.new_full((n,), START)
        written = [token]
        total = encoded.words.new_zeros(n)
        going = torch.ones_like(token, dtype=torch.bool)
        for _ in range(longest):
            scores, state = self._step(encoded, state, token)
            log_p = F.log_softmax(scores.float(), dim=1)  # (B, T)
            token = torch.multinomial(log_p.exp(), 1).squeeze(1) if sample else log_p.argmax(1)
            chosen = log_p.gather(1, token.unsqueeze(1)).squeeze(1)
            total = total + torch.where(going, chosen, 0.0)
            token = torch.where(going, token, NULL)
            written.append(token)
            going = going & (token != END)
            if not questions.is_cuda and not going.any():  # on a GPU, asking would wait for it
                break
        return Written(torch.stack(written, dim=1), total)

    def _encode(self, questions: Tensor, lengths: Tensor) -> Encoded:
        packed = pack_padded_sequence(
            self.words(questions), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        output, (hidden, cell) = self.encoder(packed)
        words, _ = pad_packed_sequence(output, batch_first=True, total_length=questions.shape[1])
        mask = torch.arange(questions.shape[1], device=questions.device) < lengths.unsqueeze(1)
        if not self.attention:
            return Encoded(words, mask, words[:, :0, :0], hidden[-1], (hidden, cell))
        # (layers * 2, B, H), the two directions of a layer side by side
        hidden, cell = (each.unflatten(0, (-1, 2)).mean(1) for each in (hidden, cell))
        keys = F.linear(words, self.attend.weight[:, self.hidden :])
        return Encoded(words, mask, keys, words[:, 0], (hidden, cell))

    def _teach(self, encoded: Encoded, tokens: Tensor) -> Tensor:
        """Scores (B, P, T) of what follows each of the true tokens (B, P)."""
        if self.attention:
            state, made = encoded.state, []
            for token in tokens.unbind(1):
                scores, state = self._step(encoded, state, token)
                made.append(scores)
            return torch.stack(made, dim=1)
        last = encoded.last.unsqueeze(1).expand(-1, tokens.shape[1], -1)
        hidden, _ = self.decoder(torch.cat([self.tokens(tokens), last], dim=2), encoded.state)
        return self.output(hidden)  # type: ignore[no-any-return]

    def _step(self, encoded: Encoded, state: State, token: Tensor) -> tuple[Tensor, State]:
        """Scores (B, T) of what follows a token (B,), and the state after it."""
        context = self._context(encoded, state[0][-1]) if self.attention else encoded.last
        hidden, state = self.decoder(torch.cat([self.tokens(token), context], dim=1).unsqueeze(1), state)
        hidden = hidden.squeeze(1)
        return self.output(torch.cat([hidden, context], dim=1) if self.attention else hidden), state

    def _context(self, encoded: Encoded, query: Tensor) -> Tensor:
        """What the decoder's state (B, H) draws from the words, (B, D)."""
        asked = F.linear(query, self.attend.weight[:, : self.hidden], self.attend.bias)
        scores = self.score(torch.tanh(encoded.keys + asked.unsqueeze(1))).squeeze(2)  # (B, Q)
        weights = scores.masked_fill(~encoded.mask, -torch.inf).softmax(1)
        return torch.einsum("bq,bqd->bd", weights, encoded.words)
