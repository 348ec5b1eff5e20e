"""Tensor-NMN's program generator: an LSTM encoder and decoder, with or without attention.

Source: the public code that the CLEVR-HOPE paper followed. The decoder starts from zeros, and with each token
it reads a context, which represents the question. With attention, the context of a step comes from the output
of the previous step, and is zeros at first; without attention, it is always the encoder's last output.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope.models.lstm import Lstm, encode

NULL, START, END = 0, 1, 2
"""Special tokens, the same in all vocabularies."""


class State(NamedTuple):
    """The state that one step of the decoder passes to the next."""

    hidden: Tensor  # (layers, B, H)
    cell: Tensor  # (layers, B, H)
    context: Tensor  # (B, D) what the next step reads about the question


class Written(NamedTuple):
    """Programs predicted by the generator."""

    programs: Tensor  # (B, P) int64: <START>, tokens, <END>, then 0; <END> may be missing
    log_probabilities: Tensor  # (B,) of all predicted tokens, including <END>


class Encoded(NamedTuple):
    """Encoded questions, for the decoder."""

    words: Tensor  # (B, Q, D) output at each word
    mask: Tensor  # (B, Q) bool, true at words, false at padding
    keys: Tensor  # (B, Q, H) the words' part of the attention's hidden layer; (B, 0, 0) without attention
    start: State  # for the first step


class ProgramGenerator(nn.Module):
    """Predicts a program for a question, token by token.

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
        self.classifier = nn.Linear(hidden + (encoded if attention else 0), n_tokens)

    def loss(self, questions: Tensor, lengths: Tensor, programs: Tensor) -> Tensor:
        """Cross-entropy of the true tokens up to <END>, each given the true tokens before it.

        It is summed over the tokens of a program, and averaged over the programs.
        """
        targets = programs[:, 1:]
        scores = self._teach(self._encode(questions, lengths), programs[:, :-1])  # (B, P - 1, T)
        total = F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=NULL, reduction="sum")
        return total / len(programs)

    def write(self, questions: Tensor, lengths: Tensor, longest: int, *, sample: bool) -> Written:
        """Predicts programs of up to `longest` tokens, including <START>.

        Each token after <START> is the most likely one, or is sampled at temperature 1.

        As in `loss`, `lengths` of the questions are on the CPU.
        """
        encoded = self._encode(questions, lengths)
        state, n = encoded.start, len(questions)
        token = questions.new_full((n,), START)
        written = [token]
        total = encoded.words.new_zeros(n)
        going = torch.ones_like(token, dtype=torch.bool)
        for _ in range(longest - 1):
            known, state = self._step(encoded, state, self.tokens(token))
            log_p = F.log_softmax(self.classifier(known).float(), dim=1)  # (B, T)
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
        words, mask, (last, _) = encode(self.encoder, self.words(questions), lengths)
        zeros = words.new_zeros(self.decoder.num_layers, len(words), self.hidden)
        if not self.attention:
            return Encoded(words, mask, words[:, :0, :0], State(zeros, zeros, last[-1]))
        keys = F.linear(words, self.attend.weight[:, self.hidden :])
        return Encoded(words, mask, keys, State(zeros, zeros, torch.zeros_like(words[:, 0])))

    def _teach(self, encoded: Encoded, tokens: Tensor) -> Tensor:
        """Scores (B, P, T) of the token that follows each of the true tokens (B, P)."""
        embedded = self.tokens(tokens)
        if self.attention:
            state, steps = encoded.start, []
            for step in embedded.unbind(1):
                known, state = self._step(encoded, state, step)
                steps.append(known)
            return self.classifier(torch.stack(steps, dim=1))  # type: ignore[no-any-return]
        hidden, cell, context = encoded.start
        contexts = context.unsqueeze(1).expand(-1, tokens.shape[1], -1)
        output, _ = self.decoder(torch.cat([embedded, contexts], dim=2), (hidden, cell))
        return self.classifier(output)  # type: ignore[no-any-return]

    def _step(self, encoded: Encoded, state: State, embedded: Tensor) -> tuple[Tensor, State]:
        """The classifier's input after an embedded token (B, word_size), and the state after it."""
        hidden, cell, context = state
        given = torch.cat([embedded, context], dim=1).unsqueeze(1)
        output, (hidden, cell) = self.decoder(given, (hidden, cell))
        output = output.squeeze(1)  # (B, H)
        if not self.attention:
            return output, State(hidden, cell, context)
        context = self._attended(encoded, output)
        return torch.cat([output, context], dim=1), State(hidden, cell, context)

    def _attended(self, encoded: Encoded, output: Tensor) -> Tensor:
        """The words' outputs (B, D), weighted by attention of the decoder's output (B, H)."""
        query = F.linear(output, self.attend.weight[:, : self.hidden], self.attend.bias)
        scores = self.score(torch.tanh(encoded.keys + query.unsqueeze(1))).squeeze(2)  # (B, Q)
        weights = scores.masked_fill(~encoded.mask, -torch.inf).softmax(1)
        return torch.einsum("bq,bqd->bd", weights, encoded.words)


def _drawn(p: Tensor) -> Tensor:
    """(B,) a token sampled from each row of (B, T) probabilities: the first of exponential waiting times.

    `torch.multinomial` samples one in the same way, but first checks whether the probabilities are valid.
    """
    return (p / torch.empty_like(p).exponential_()).argmax(1)
