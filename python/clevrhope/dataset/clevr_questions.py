"""The questions of a CLEVR folder, encoded with a dataset's vocabulary."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from clevrhope._core import Programs, ProgramTokens
from clevrhope.dataset.clevr_folder import questions_file
from clevrhope.dataset.json_rows import read_list
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.errors import DatasetError, shown
from clevrhope.runtime.forms import ANY, INDEX, TEXT, Fields, check_form
from clevrhope.runtime.reading import read_bytes

_NULL, _START, _END, _UNKNOWN = range(len(SPECIAL_TOKENS))

_WORDS = re.compile(r"[;,]|[^\s;,?.]+")
"""The tokens of a question, as in the public CLEVR code: semicolons and commas, but no final mark."""


class ClevrSplit:
    """The questions of a split, with the same columns as `clevrhope.dataset.split_reader.SplitReader`.

    A word that is not in the dataset's vocabulary becomes <UNK>.
    """

    hop = "CLEVR"

    def __init__(
        self, folder: Path, split: str, vocab: Vocab, attributes: Mapping[str, Sequence[str]]
    ) -> None:
        """Reads all questions.

        Args:
            folder: CLEVR v1.0, or a folder with the same layout.
            split: such as "val".
            vocab: the dataset's vocabulary.
            attributes: the attribute types of the dataset's world, and their values.

        Raises:
            DatasetError: the file is missing, or a question is malformed or has an answer outside `vocab`.
            ProgramError: a program has a function or value that the dataset's world does not have.
        """
        path = questions_file(folder, split)
        self.split = self.pool = split
        questions, answers, images, families = [], [], [], []
        self._sentences: list[str] = []
        for n, row in enumerate(read_list(path, "questions")):
            check_form(row, _ROW, path, place=f"questions[{n}]")
            try:
                words = _WORDS.findall(row["question"])
                questions.append([vocab.question_token_to_idx.get(word, _UNKNOWN) for word in words])
                answers.append(vocab.answer_token_to_idx[str(row["answer"])])
                images.append(row["image_index"])
                families.append(row["question_family_index"])
                self._sentences.append(row["question"])
            except KeyError as error:
                raise DatasetError(
                    f"{path}: questions[{n}].answer is {shown(row['answer'])}, which is not in the dataset"
                ) from error
        self.answers: Ints = np.asarray(answers, dtype=np.int32)
        self.image_idxs: Ints = np.asarray(images, dtype=np.int32)
        self.question_families: Ints = np.asarray(families, dtype=np.int32)
        self.question_lengths: Ints = np.asarray([len(each) + 2 for each in questions], dtype=np.int32)
        self._questions: Ints = np.full(
            (len(questions), max(self.question_lengths, default=0)), _NULL, np.int32
        )
        for row_of, tokens in zip(self._questions, questions, strict=True):
            row_of[: len(tokens) + 2] = [_START, *tokens, _END]
        vocabulary = vocabulary_with(attributes)
        programs, _ = Programs.from_questions(
            vocabulary, read_bytes(path, "a question file", max_bytes=MAX_QUESTION_BYTES), file=str(path)
        )
        tokens_of = ProgramTokens(vocabulary, vocab.programs())
        self._programs: Ints = programs.to_tokens(tokens_of, _LONGEST_PROGRAM)
        self.program_lengths: Ints = (self._programs != _NULL).sum(axis=1).astype(np.int32)

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        return f"<{len(self):,} questions of CLEVR's {self.split}>"

    def sentences(self) -> list[str]:
        """The sentences of all questions."""
        return self._sentences

    def blocks(self) -> Iterator[tuple[int, Ints, Ints]]:
        """All rows in one block: number of the first row, questions (N, Q), programs (N, P)."""
        yield 0, self._questions, self._programs


MAX_QUESTION_BYTES = 1 << 30
"""The most bytes of a split's question file; CLEVR's val has a fifth of that."""

_ROW = Fields({"question": TEXT, "answer": ANY, "image_index": INDEX, "question_family_index": INDEX})

_LONGEST_PROGRAM = 64
"""Tokens, including <START> and <END>: twice the length of CLEVR's longest programs."""
