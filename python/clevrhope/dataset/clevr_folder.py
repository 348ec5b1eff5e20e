"""A CLEVR_v1.0 folder, the published one or any with the same layout: its files, and its questions.

A split's statistics come from `questions/CLEVR_<split>_questions.json` and
`scenes/CLEVR_<split>_scenes.json`. Its images are those that its questions ask about; in the published CLEVR,
these are all images.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from clevrhope._core import Programs, ProgramTokens
from clevrhope.dataset.json_rows import read_list
from clevrhope.dataset.layout import numbered_files
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.dataset.question_kinds import SINGLE
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.errors import DatasetError, shown
from clevrhope.runtime.forms import ANY, INDEX, TEXT, Fields, check_form
from clevrhope.runtime.reading import read_bytes

TYPES = ("size", "color", "material", "shape")
"""The attribute types that CLEVR's scene files have."""

FAMILIES = tuple(
    (file, place)
    for file, n in (
        ("compare_integer.json", 9),
        ("comparison.json", 16),
        ("three_hop.json", 6),
        ("single_and.json", 5),
        ("same_relate.json", 28),
        ("single_or.json", 8),
        ("one_hop.json", 6),
        ("two_hop.json", 6),
        ("zero_hop.json", 6),
    )
    for place in range(n)
)
"""Template file and position in it, by `question_family_index`: CLEVR's files hold only this index."""

_NULL, _START, _END, _UNKNOWN = range(len(SPECIAL_TOKENS))

_WORDS = re.compile(r"[;,]|[^\s;,?.]+")
"""The tokens of a question, as in the public CLEVR code: semicolons and commas, but no final mark."""


def questions_file(folder: Path, split: str) -> Path:
    """The question file of a split."""
    return folder / "questions" / f"CLEVR_{split}_questions.json"


def scenes_file(folder: Path, split: str) -> Path:
    """The scene file of a split."""
    return folder / "scenes" / f"CLEVR_{split}_scenes.json"


def images_folder(folder: Path, split: str) -> Path:
    """The folder of a split's images."""
    return folder / "images" / split


def image_name(index: int, split: str = "train") -> str:
    """The file name of an image in CLEVR."""
    return f"CLEVR_{split}_{index:06d}.png"


def image_indices(folder: Path, split: str) -> list[int]:
    """The indices of the scenes whose images are in the folder, sorted."""
    return sorted(numbered_files(images_folder(folder, split), f"CLEVR_{split}_", ".png"))


def clevr_splits(folder: Path) -> list[str]:
    """The splits with questions and scenes, train first; CLEVR's test was published without scenes."""
    names = [
        path.name.removeprefix("CLEVR_") for path in (folder / "questions").glob("CLEVR_*_questions.json")
    ]
    splits = [name.removesuffix("_questions.json") for name in names]
    there = [split for split in splits if scenes_file(folder, split).is_file()]
    return sorted(there, key=lambda split: (split != "train", split))


def read_clevr_questions(
    folder: Path, split: str, vocab: Vocab, attributes: Mapping[str, Sequence[str]]
) -> QuestionTable:
    """All questions of a split, whose sentences are CLEVR's own.

    A word that is not in the dataset's vocabulary becomes <UNK>.

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
    texts: list[str] = []
    rows, answers, images, families = [], [], [], []
    for n, row in enumerate(read_list(path, "questions")):
        check_form(row, _ROW, path, place=f"questions[{n}]")
        try:
            words = _WORDS.findall(row["question"])
            rows.append([vocab.question_token_to_idx.get(word, _UNKNOWN) for word in words])
            answers.append(vocab.answer_token_to_idx[str(row["answer"])])
            images.append(row["image_index"])
            families.append(row["question_family_index"])
            texts.append(row["question"])
        except KeyError as error:
            raise DatasetError(
                f"{path}: questions[{n}].answer is {shown(row['answer'])}, which is not in the dataset"
            ) from error
    lengths: Ints = np.asarray([len(each) + 2 for each in rows], dtype=np.int32)
    questions: Ints = np.full((len(rows), max(lengths, default=0)), _NULL, np.int32)
    for row_of, tokens in zip(questions, rows, strict=True):
        row_of[: len(tokens) + 2] = [_START, *tokens, _END]
    vocabulary = vocabulary_with(attributes)
    parsed, _ = Programs.from_questions(
        vocabulary, read_bytes(path, "a question file", max_bytes=MAX_QUESTION_BYTES), file=str(path)
    )
    programs: Ints = parsed.to_tokens(ProgramTokens(vocabulary, vocab.programs()), _LONGEST_PROGRAM)
    columns: dict[str, Ints] = {
        "questions": questions,
        "question_lengths": lengths,
        "programs": programs,
        "program_lengths": (programs != _NULL).sum(axis=1).astype(np.int32),
        "answers": np.asarray(answers, dtype=np.int32),
        "image_idxs": np.asarray(images, dtype=np.int32),
        "question_families": np.asarray(families, dtype=np.int32),
    }
    return QuestionTable(
        SINGLE, columns, vocab=vocab, texts=lambda: texts, hop="CLEVR", split=split, pool=split
    )


MAX_QUESTION_BYTES = 1 << 30
"""The most bytes of a split's question file; CLEVR's val has a fifth of that."""

_ROW = Fields({"question": TEXT, "answer": ANY, "image_index": INDEX, "question_family_index": INDEX})

_LONGEST_PROGRAM = 64
"""Tokens, including <START> and <END>: twice the length of CLEVR's longest programs."""
