"""Questions of the native module in the form of files: columns of tokens and answers, in one vocabulary."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from clevrhope._core import ProgramTokens, QuestionBatch, Vocabulary
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import Vocab, extended_vocab


class Encoder:
    """Encodes questions with a vocabulary: the dataset's, or one that continues its numbers."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        vocab: Vocab,
        answers: Sequence[str],
        *,
        words: Iterable[str] = (),
        functions: Sequence[str] = (),
    ) -> None:
        """Continues a vocabulary.

        Args:
            vocabulary: the values of programs.
            vocab: the numbers that stay.
            answers: the answers of the native module, by its own numbers.
            words: words to be numbered too.
            functions: functions to be numbered too.
        """
        self.tokens = ProgramTokens(vocabulary, vocab.programs()).extended(functions)
        self.vocab = extended_vocab(vocab, words=words, program_tokens=self.tokens.names, answers=answers)
        self.words = self.vocab.questions()
        numbers = self.vocab.answer_token_to_idx
        self.answers: Ints = np.asarray([numbers[text] for text in answers], dtype=np.int32)
        """The number in the vocabulary of each of the native module's answers."""

    def columns(self, batch: QuestionBatch, widths: tuple[int, int]) -> dict[str, Any]:
        """The columns of a question file; `widths` are those of rows of questions and of programs."""
        questions, question_lengths = batch.question_tokens(self.words, widths[0])
        programs, program_lengths = batch.program_tokens(self.tokens, widths[1])
        return {
            "questions": questions,
            "question_lengths": question_lengths,
            "programs": programs,
            "program_lengths": program_lengths,
            **{name: batch.column(name) for name in batch.columns},
            "answers": self.answers[batch.column("answers")],
        }
