"""Finds the questions of a split that mention values of several attribute types together.

"Together" means the same as for a held-out pair: an alternative in the description of some set in the program
has a value of each type (docs/configuration.md, "Strictness"). So "is there a red cube" mentions a color and
a shape together, and "how many red things are left of the cube" does not.
"""

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader, AuditScenes, AuditSetReader, Vocabulary
from clevrhope.dataset.native_reader import vocabulary_of
from clevrhope.dataset.question_kinds import MAX_IMAGES
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.split_files import SplitArrays, Value, Vocab, read_vocab
from clevrhope.dataset.vocab import Vocab as Numbers
from clevrhope.dataset.vocab import by_number
from clevrhope.errors import DatasetError, VocabularyError

_ROWS_AT_ONCE = 65_536
_NAMED_VALUE = re.compile(r"(filter|verify|offer)_(\w+)\[(.+)\]")


def mentions_together(questions: Path, vocab: Path, types: Sequence[str]) -> npt.NDArray[np.bool_]:
    """(N,) whether each of a split's N questions mentions a value of each of `types` together.

    Args:
        questions: the split's HDF5 file.
        vocab: the folder's vocab.json.
        types: attribute types, two to four.

    Raises:
        DatasetError: a file is missing or invalid, or a type is not in the vocabulary.
    """
    words = read_vocab(vocab)
    vocabulary = vocabulary_of(words)
    reader = _reader(words, vocabulary, types, vocab)
    no_scenes = AuditScenes.read(vocabulary, [])
    found = []
    with closing(SplitArrays(questions)) as arrays:
        for first in range(0, len(arrays), _ROWS_AT_ONCE):
            programs = arrays.tokens("programs", first, _ROWS_AT_ONCE)
            nowhere = np.full(len(programs), -1, dtype=np.int64)
            found.append(reader.read(np.zeros_like(programs), programs, no_scenes, nowhere).by_program)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.bool_)


def mentions(
    programs: Ints, vocab: Numbers, vocabulary: Vocabulary, values: Sequence[Value], *, of_sets: bool
) -> npt.NDArray[np.bool_]:
    """(N,) whether each of N programs mentions an object that has all of the given values.

    Args:
        programs: (N, P) rows of tokens.
        vocab: the numbers of these tokens.
        vocabulary: the dataset's values.
        values: those of a held-out pair, or the single value of a preliminary sub-dataset.
        of_sets: whether the programs are about sets of images.
    """
    kind = AuditSetReader if of_sets else AuditReader
    reader = kind(
        vocabulary,
        question_tokens=vocab.questions(),
        program_tokens=vocab.programs(),
        answers=vocab.answers(),
        held_out=list(values),
        words=[],
    )
    shape = (len(programs), MAX_IMAGES) if of_sets else (len(programs),)
    nowhere = np.full(shape, -1, dtype=np.int64)
    found = reader.read(np.zeros_like(programs), programs, AuditScenes.read(vocabulary, []), nowhere)
    return found.by_program


def _reader(words: Vocab, vocabulary: Vocabulary, types: Sequence[str], file: Path) -> AuditReader:
    """A reader that looks for one combination, and treats every value of these types as the one in it.

    For this reader, a program mentions the combination exactly if it mentions any combination of these types.
    """
    known = {kind: values for kind, values in vocabulary.attribute_types if values}
    for kind in types:
        if kind not in known:
            raise DatasetError(f'{file}: no attribute type "{kind}"; there are: {", ".join(known)}')
    one = {kind: known[kind][0] for kind in types}

    def alike(token: str) -> str:
        match = _NAMED_VALUE.fullmatch(token)
        return f"{match[1]}_{match[2]}[{one[match[2]]}]" if match and match[2] in one else token

    try:
        return AuditReader(
            vocabulary,
            question_tokens=by_number(words.words),
            program_tokens=[alike(token) for token in by_number(words.functions)],
            answers=by_number(words.answers),
            held_out=list(one.items()),
            words=[],
        )
    except VocabularyError as error:
        raise DatasetError(f"{file}: {error}") from error
