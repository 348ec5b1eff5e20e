"""Tensor-NMN's program generator: an LSTM encoder and decoder, with or without attention.

Source: sizes and numbers of parameters are those of the public code that the CLEVR-HOPE paper followed. With
attention, the encoder is bidirectional; the mean of its two directions' last states is the decoder's initial
state, a choice of this project that adds no parameters.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope.models.lstm import Lstm

NULL, START, END = 0, 1, 2
"""Special tokens, the same in all vocabularies."""

State = tuple[Tensor, Tensor]
"""Hidden and cell state of an LSTM, (layers, B, H) each."""


class Written(NamedTuple):
    """Programs as the generator wrote them."""

    programs: Tensor  # (B, P) int64: <START>, tokens, <END>, then 0; without <END> where it was never written
    log_probabilities: Tensor  # (B,) of all written tokens, <END> included


class Encoded(NamedTuple):
    """Encoded questions, for the decoder."""

    words: Tensor  # (B, Q, D) state at each word
    mask: Tensor  # (B, Q) bool, true at words, false at padding
    keys: Tensor  # (B, Q, H) the words' part of the attention's hidden layer; (B, 0, 0) without attention
    last: Tensor  # (B, D) state after the last word, each step's context in a decoder without attention
    state: State


class ProgramGenerator(nn.Module):
    """Writes a program for a question, token by token.

    Args:
        n_words: size of the question vocabulary.
        n_tokens: size of the program vocabulary.
        n_layers: layers of the encoder and of the decoder.
        attention: whether the decoder attends to all words at each step, and the encoder is bidirectional.
        word_size: size of the embeddings.
        hidden: H, units of the LSTMs in each direction.
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
        """Mean cross-entropy of the true tokens up to <END>, each given the true tokens before it."""
        targets = programs[:, 1:]
        scores = self._teach(self._encode(questions, lengths), programs[:, :-1])  # (B, P - 1, T)
        return F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=NULL)

    def write(self, questions: Tensor, lengths: Tensor, longest: int, *, sample: bool) -> Written:
        """Writes up to `longest` tokens after <START>, each the likeliest, or drawn at temperature 1.

        As in `loss`, `lengths` of the questions are on the CPU.
        """
        encoded = self._encode(questions, lengths)
        state, n = encoded.state, len(questions)
        token = questions.new_full((n,), START)
        written = [token]
        total = encoded.words.new_zeros(n)
        going = torch.ones_like(token, dtype=torch.bool)
        for _ in range(longest):
            scores, state = self._step(encoded, state, token)
            log_p = F.log_softmax(scores.float(), dim=1)  # (B, T)
            token = _drawn(log_p.exp()) if sample else log_p.argmax(1)
            chosen = log_p.gather(1, token.unsqueeze(1)).squeeze(1)
            total = total + torch.where(going, chosen, 0.0)
            token = torch.where(going, token, NULL)
            written.append(token)
            going = going & (token != END)
            if questions.device.type == "cpu" and not going.any():  # on a GPU this would wait for it
                break
        return Written(torch.stack(written, dim=1), total)

    def _encode(self, questions: Tensor, lengths: Tensor) -> Encoded:
        words, mask, state = self.encoder.encode(self.words(questions), lengths)
        if not self.attention:
            return Encoded(words, mask, words[:, :0, :0], state[0][-1], state)
        # (layers * 2, B, H), the two directions of a layer next to each other
        hidden, cell = (each.view(-1, 2, *each.shape[1:]).mean(1) for each in state)
        keys = F.linear(words, self.attend.weight[:, self.hidden :])
        return Encoded(words, mask, keys, words[:, 0], (hidden, cell))

    def _teach(self, encoded: Encoded, tokens: Tensor) -> Tensor:
        """Scores (B, P, T) of the token after each of the true tokens (B, P)."""
        if self.attention:
            state, steps = encoded.state, []
            for token in tokens.unbind(1):
                scores, state = self._step(encoded, state, token)
                steps.append(scores)
            return torch.stack(steps, dim=1)
        last = encoded.last.unsqueeze(1).expand(-1, tokens.shape[1], -1)
        hidden, _ = self.decoder(torch.cat([self.tokens(tokens), last], dim=2), encoded.state)
        return self.output(hidden)  # type: ignore[no-any-return]

    def _step(self, encoded: Encoded, state: State, token: Tensor) -> tuple[Tensor, State]:
        """Scores (B, T) of the token after a token (B,), and the state after it."""
        context = self._attended(encoded, state[0][-1]) if self.attention else encoded.last
        hidden, state = self.decoder(torch.cat([self.tokens(token), context], dim=1).unsqueeze(1), state)
        hidden = hidden.squeeze(1)
        return self.output(torch.cat([hidden, context], dim=1) if self.attention else hidden), state

    def _attended(self, encoded: Encoded, state: Tensor) -> Tensor:
        """The words' states (B, D), weighted by attention of the decoder's state (B, H)."""
        query = F.linear(state, self.attend.weight[:, : self.hidden], self.attend.bias)
        scores = self.score(torch.tanh(encoded.keys + query.unsqueeze(1))).squeeze(2)  # (B, Q)
        weights = scores.masked_fill(~encoded.mask, -torch.inf).softmax(1)
        return torch.einsum("bq,bqd->bd", weights, encoded.words)


def _drawn(p: Tensor) -> Tensor:
    """(B,) a token drawn from each row of (B, T) probabilities: the first of exponential waiting times.

    `torch.multinomial` draws one the same way, but first reads whether the probabilities are valid.
    """
    return (p / torch.empty_like(p).exponential_()).argmax(1)
