"""Finds the questions of a split that mention values of several attribute types together.

"Together" means the same as for a held-out pair: an alternative in the description of some set in the program
has a value of each type (docs/configuration.md, "Strictness"). So "is there a red cube" mentions a color and
a shape together, and "how many red things are left of the cube" does not.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader, AuditScenes, Vocabulary
from clevrhope.dataset.native_reader import vocabulary_of
from clevrhope.dataset.question_kinds import MAX_IMAGES
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.split_files import Value
from clevrhope.dataset.split_files import read_vocab as read_finished_vocab
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import DatasetError, VocabularyError

_NAMED_VALUE = re.compile(r"(filter|verify|offer)_(\w+)\[(.+)\]")


def mentions_together(questions: Path, vocab: Path, types: Sequence[str]) -> npt.NDArray[np.bool_]:
    """(N,) whether each of a split's N questions mentions a value of each of `types` together.

    Every value of these types is read as the first of its type, so that a program mentions a combination of
    such values exactly if it mentions the combination of the first ones.

    Args:
        questions: the split's HDF5 file.
        vocab: the folder's vocab.json.
        types: attribute types, two to four.

    Raises:
        DatasetError: a file is missing or invalid, or a type is not in the vocabulary.
    """
    numbers, vocabulary = read_vocab(vocab), vocabulary_of(read_finished_vocab(vocab))
    known = {kind: values for kind, values in vocabulary.attribute_types if values}
    for kind in types:
        if kind not in known:
            raise DatasetError(f'{vocab}: no attribute type "{kind}"; there are: {", ".join(known)}')
    first = {kind: known[kind][0] for kind in types}

    def alike(token: str) -> str:
        match = _NAMED_VALUE.fullmatch(token)
        return f"{match[1]}_{match[2]}[{first[match[2]]}]" if match and match[2] in first else token

    functions, pair = [alike(token) for token in numbers.programs()], list(first.items())
    try:
        return mentions(
            read_table(questions).programs, numbers, vocabulary, pair, of_sets=False, functions=functions
        )
    except VocabularyError as error:
        raise DatasetError(f"{vocab}: {error}") from error


def mentions(
    programs: Ints,
    vocab: Vocab,
    vocabulary: Vocabulary,
    values: Sequence[Value],
    *,
    of_sets: bool,
    functions: Sequence[str] | None = None,
) -> npt.NDArray[np.bool_]:
    """(N,) whether each of N programs mentions an object that has all of the given values.

    Args:
        programs: (N, P) rows of tokens.
        vocab: the numbers of these tokens.
        vocabulary: the dataset's values.
        values: those of a held-out pair, or the single value of a preliminary sub-dataset.
        of_sets: whether the programs are about sets of images.
        functions: the meanings of the programs' tokens; by default those of `vocab`.
    """
    reader = AuditReader(
        vocabulary,
        question_tokens=vocab.questions(),
        program_tokens=vocab.programs() if functions is None else functions,
        answers=vocab.answers(),
        held_out=list(values),
        words=[],
    )
    no_words, no_scenes = np.zeros_like(programs), AuditScenes.read(vocabulary, [])
    nowhere = np.full((len(programs), MAX_IMAGES), -1, dtype=np.int64)
    if of_sets:
        return reader.read_sets(no_words, programs, no_scenes, nowhere).asked.by_program
    return reader.read(no_words, programs, no_scenes, nowhere[:, 0].copy()).by_program
