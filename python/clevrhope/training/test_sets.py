"""The questions that a run is tested on, in the tokens and answers of its model's own vocabulary.

Test sets from other templates, such as CLOSURE's, have the same functions and answers and mostly the same
words, but other indices.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import QuestionTable, open_split
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_questions import open_suite
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab, read_vocab
from clevrhope.errors import DatasetError
from clevrhope.training.predictions import Part

SKIPPED = "blur, fill and crop were left out, since features of scenes do not depend on pixels"
"""The note about visual tests that a model with features of scenes cannot answer."""

_PADDING, _UNKNOWN = SPECIAL_TOKENS.index("<NULL>"), SPECIAL_TOKENS.index("<UNK>")
_MISSING = -1


@dataclass(frozen=True)
class PartQuestions:
    """The questions of a part, in the indices of the model's vocabulary.

    Attributes:
        reader: the questions.
        rows: their rows in the file of the split or suite.
        unknown_words: words that the model reads as <UNK>.
        n_skipped: number of questions that are left out, as the model's features are of scenes.
    """

    reader: QuestionTable
    rows: Sequence[int]
    unknown_words: tuple[str, ...]
    n_skipped: int


def open_part(layout: Layout, hop: str, part: Part, *, here: Vocab, of_scenes: bool) -> PartQuestions:
    """Opens the questions of a part for a model with the vocabulary `here`, and features of scenes or not."""
    n_skipped = 0
    if part.suite:
        there = read_vocab(layout.suite_vocab(hop, part.suite))
        reader, of_file, n_skipped = open_suite(
            layout, hop, part.suite, part.split, vocab=there, without_pixel_edits=of_scenes
        )
        rows: Sequence[int] = of_file.tolist()
        place = layout.suite_h5(hop, part.suite, part.split)
    else:
        there = read_vocab(layout.vocab_of(part.split))
        reader = open_split(layout, hop, part.split, vocab=there)
        rows = range(len(reader))
        place = layout.questions_h5(hop, part.split)
    if there == here:
        return PartQuestions(reader, rows, (), n_skipped)
    mapped, unknown = map_vocab(reader, there=there, here=here, place=str(place), may_lack=bool(part.suite))
    return PartQuestions(mapped, rows, unknown, n_skipped)


def unknown_words(sets: Iterable[PartQuestions]) -> tuple[str, ...]:
    """The words of several sets that the model reads as <UNK>, sorted."""
    return tuple(sorted({word for each in sets for word in each.unknown_words}))


def note_column(of_features: str | None, sets: Sequence[PartQuestions]) -> dict[str, str]:
    """The column `note` of predictions about these questions; no column if there is nothing to note."""
    words = unknown_words(sets)
    unknown = f"{len(words)} words of the questions were read as <UNK>: {', '.join(words)}" if words else ""
    skipped = SKIPPED if any(each.n_skipped for each in sets) else ""
    note = "; ".join(filter(None, (of_features, unknown, skipped)))
    return {"note": note} if note else {}


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
