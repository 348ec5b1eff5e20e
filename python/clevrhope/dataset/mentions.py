"""A split's programs and attribute types in; which questions mention a value of each together out.

"Together" is meant as for a held-out pair: an alternative of what some set of the program asks its members to
have holds a value of each type (docs/configuration.md, "Strictness"). So of color and shape "is there a red
cube" does and "how many red things are left of the cube" does not.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader, AuditScenes, Vocabulary
from clevrhope.dataset.native_reader import vocabulary_of
from clevrhope.dataset.split_files import SplitArrays, Vocab, read_vocab
from clevrhope.errors import DatasetError, VocabularyError

_ROWS_AT_ONCE = 65_536
_FILTER = re.compile(r"filter_(\w+)\[(.+)\]")


def mentions_together(questions: Path, vocab: Path, types: Sequence[str]) -> npt.NDArray[np.bool_]:
    """(N,) whether each of a split's N questions mentions a value of each of `types` together.

    Args:
        questions: the split's HDF5 file.
        vocab: the folder's vocab.json.
        types: attribute types, two to four.

    Raises:
        DatasetError: a file that is missing or none, or a type that the vocabulary has not.
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
            found.append(reader.read(np.zeros_like(programs), programs, no_scenes, nowhere)[0])
    return np.concatenate(found) if found else np.zeros(0, dtype=np.bool_)


def _reader(words: Vocab, vocabulary: Vocabulary, types: Sequence[str], file: Path) -> AuditReader:
    """Finds one pair of values, to which all values of these types are made alike.

    A program of values that are all alike mentions the one pair exactly where the program mentions any.
    """
    known = {kind: values for kind, values in vocabulary.attribute_types if values}
    for kind in types:
        if kind not in known:
            raise DatasetError(f'{file}: no attribute type "{kind}"; there are: {", ".join(known)}')
    one = {kind: known[kind][0] for kind in types}

    def alike(token: str) -> str:
        match = _FILTER.fullmatch(token)
        return f"filter_{match[1]}[{one[match[1]]}]" if match and match[1] in one else token

    try:
        return AuditReader(
            vocabulary,
            question_tokens=_by_number(words.words),
            program_tokens=[alike(token) for token in _by_number(words.functions)],
            answers=_by_number(words.answers),
            pair=list(one.items()),
            words=[],
        )
    except VocabularyError as error:
        raise DatasetError(f"{file}: {error}") from error


def _by_number(numbers: Mapping[str, int]) -> list[str]:
    names = [""] * (1 + max(numbers.values(), default=-1))
    for name, number in numbers.items():
        names[number] = name
    return names
