"""Maps a split with another vocabulary to the tokens and answers of a model's own.

Test sets from other templates, such as CLOSURE's, have the same functions and answers and mostly the same
words, but other indices.
"""

from collections.abc import Mapping

import numpy as np

from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.errors import DatasetError

_PADDING, _UNKNOWN = SPECIAL_TOKENS.index("<NULL>"), SPECIAL_TOKENS.index("<UNK>")
_MISSING = -1


def map_vocab(
    rows: QuestionTable, *, there: Vocab, here: Vocab, place: str, may_lack: bool = False
) -> tuple[QuestionTable, tuple[str, ...]]:
    """A split in the indices of the model's vocabulary `here`; words that it lacks become <UNK>.

    Args:
        rows: the questions, in the indices of `there`.
        there: the dataset's vocabulary.
        here: the model's vocabulary.
        place: names the split in messages.
        may_lack: whether the model's vocabulary may lack answers and functions. Such an answer becomes <UNK>,
            which no model gives. A program with such a function becomes the equivalent in CLEVR's functions,
            if the split has one; otherwise it becomes empty, and models that read programs have no answer.

    Returns:
        The questions, whose sentences keep all words, and the words that became <UNK>, sorted.

    Raises:
        DatasetError: the model's vocabulary lacks an answer or a function, and may not.
    """
    words = _table(there.questions(), here.question_token_to_idx)
    unknown = [word for word in np.unique(rows.questions).tolist() if words[word] == _MISSING]
    program_tokens = _table(there.programs(), here.program_token_to_idx)
    functions = program_tokens[rows.programs]
    answers = _table(there.answers(), here.answer_token_to_idx)[rows.answers]
    if not may_lack:
        _check_known(functions, rows.programs, there.programs(), "function", place)
        _check_known(answers, rows.answers, there.answers(), "answer", place)
    program_lengths = rows.program_lengths
    if rows.kind is PAIRS:
        functions, program_lengths = _with_equivalents(functions, rows, program_tokens)
    lacks_function = (functions == _MISSING).any(axis=1)
    mapped = rows.with_columns(
        questions=np.where(words == _MISSING, _UNKNOWN, words).astype(np.int32)[rows.questions],
        programs=np.where(lacks_function[:, np.newaxis], _PADDING, functions).astype(np.int32),
        program_lengths=program_lengths,
        answers=np.where(answers == _MISSING, _UNKNOWN, answers).astype(np.int32),
    )
    return mapped, tuple(sorted(there.questions()[word] for word in unknown))


def _with_equivalents(functions: Ints, rows: QuestionTable, program_tokens: Ints) -> tuple[Ints, Ints]:
    """(N, P) programs, of which those with a missing function become their equivalents, and (N,) lengths."""
    equivalents = program_tokens[rows.clevr_programs]
    has_one = (rows.clevr_programs != _PADDING).any(axis=1)
    replaced = (functions == _MISSING).any(axis=1) & has_one
    n_more = equivalents.shape[1] - functions.shape[1]
    functions = np.pad(functions, ((0, 0), (0, max(n_more, 0))), constant_values=_PADDING)
    equivalents = np.pad(equivalents, ((0, 0), (0, max(-n_more, 0))), constant_values=_PADDING)
    lengths = np.where(replaced, np.count_nonzero(equivalents != _PADDING, axis=1), rows.program_lengths)
    return np.where(replaced[:, np.newaxis], equivalents, functions), lengths.astype(np.int32)


def _table(names: list[str], indices: Mapping[str, int]) -> Ints:
    return np.asarray([indices.get(name, _MISSING) for name in names], dtype=np.int32)


def _check_known(mapped: Ints, tokens: Ints, names: list[str], what: str, place: str) -> None:
    """Checks that the model's vocabulary has all `tokens`, which are indices into `names`."""
    if (mapped == _MISSING).any():
        name = names[int(tokens[mapped == _MISSING].flat[0])]
        raise DatasetError(
            f'{place}: the {what} "{name}" is in it, which the model does not know; evaluate on a dataset of '
            "the same world"
        )
