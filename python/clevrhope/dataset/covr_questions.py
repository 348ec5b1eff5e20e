"""Questions about sets of images: their description, the digest of a train set, and offered answers."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import SETS, Numbers
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.questions_h5 import COLUMN_CHUNK_ROWS
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.programs.gaps import CONVERSE
from clevrhope.splits.covr.description import Description, Words

_DIGESTED = ("questions", "programs", "answers", "image_idxs")
"""The inputs that a model gets for a question, and the answer that it learns."""


def words_of(vocab: Vocab, attributes: Mapping[str, Sequence[str]]) -> Words:
    """The names that predicates may use, of a vocabulary and the lists of a file."""
    return Words(vocab.programs(), vocab.answers(), attributes["templates"], attributes["term_names"])


def description_of(table: QuestionTable, vocab: Vocab, *, limit: int | None = None) -> Description:
    """What predicates read of a table's questions, or of the first `limit`."""
    rows = slice(limit)
    return Description(
        table.split,
        words_of(vocab, table.attributes),
        programs=table.programs[rows],
        answers=table.answers[rows],
        templates=table.question_families[rows],
        terms=table.terms[rows],
        in_program_split=table.properties[rows, table.property_names.index("program")] == 1,
    )


def read_description(layout: Layout, hop: str, split: str, *, limit: int | None = None) -> Description:
    """Reads what predicates need of a split's questions, or of the first `limit`.

    Raises:
        DatasetError: a file is missing, or does not hold questions about sets of images.
    """
    vocab = read_vocab(layout.covr_vocab)
    return description_of(read_table(layout.questions_h5(hop, split), SETS, vocab=vocab), vocab, limit=limit)


def rows_sha256(path: Path, n_rows: int) -> str:
    """SHA-256 of a split's first questions; it stays the same for these when the file grows.

    Raises:
        DatasetError: as for `read_description`.
    """
    digest, left = hashlib.sha256(), n_rows
    for block in read_table(path, SETS).parts(COLUMN_CHUNK_ROWS):
        for name in _DIGESTED:
            column = np.ascontiguousarray(getattr(block, name)[:left])
            digest.update(column.astype(np.dtype("<i4")).tobytes())
        left -= len(block)
        if left <= 0:
            break
    return digest.hexdigest()


def offered_answers(programs: Numbers, functions: Sequence[str], answers: Mapping[str, int]) -> Numbers:
    """The two answers that choice questions offer, (N, 2); -1 in the rows of other questions.

    Args:
        programs: (N, P) rows of tokens.
        functions: the names of tokens by number, such as `choose_color[red]`, `option_color[blue]`.
        answers: the numbers of answers by their text.
    """
    first, second = (np.full(len(functions), -1) for _ in range(2))
    for token, name in enumerate(functions):
        function, _, value = name.removesuffix("]").partition("[")
        if function == "choose_relation":
            first[token], second[token] = answers[value], answers[CONVERSE[value]]
        elif function.startswith("choose_"):
            first[token] = answers[value]
        elif function.startswith("option_"):
            second[token] = answers[value]
    offered: Numbers = np.stack([first[programs].max(axis=1), second[programs].max(axis=1)], axis=1)
    return offered
