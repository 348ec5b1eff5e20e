"""The checks of questions, in one pass over all of them: texts, duplicates, balance and arrays.

The native parser, which shares no code with the generator of texts, parses each text back through the
templates. Its readings are compared with the program, family and answer. Arrays that are not part of a
question's meaning (lengths, padding, the order of rows, needed relations, the file's attributes) must fit
the rest of the file: the checks that read questions would not notice a fault in them. Question files in JSON
would show it, but a dataset may have none.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import TextReader, find_windows
from clevrhope.audit.folder import AuditFolder, QuestionFile, SplitFile
from clevrhope.audit.report import Found, Results, where
from clevrhope.dataset.native_reader import (
    NO_SCENE,
    UNDETERMINED,
    WHY,
    Ints,
    question_reader,
    text_reader,
    vocabulary_of,
)
from clevrhope.dataset.question_kinds import NONCE, SETS, SINGLE
from clevrhope.dataset.scene_files import PoolScenes, Rows
from clevrhope.dataset.split_files import SplitArrays, Vocab
from clevrhope.runtime.progress import Advance
from clevrhope.splits.kinds import SPLITS

ROWS_A_BATCH = 50_000

PROBLEMS: Mapping[int, str] = {
    TextReader.UNREAD: "no template gives this text",
    TextReader.OTHER_PROGRAM: "its words do not mean its program",
    TextReader.OTHER_FAMILY: "its words are those of another family",
    TextReader.OTHER_ANSWER: "the answer to what its words mean is another one",
}

UNSEEN = 50
"""Maximum number of scenes of a window that gave no question, and so are in no file."""

TOKENS = ("questions", "programs")

START, END = 1, 2
"""Numbers of <START> and <END> in every vocabulary in CLEVR's form; 0 is padding."""

PREFIXES = (25_000, 200_000)
"""Sizes of the smaller train sets of CLEVR-HOPE, each of which is a prefix of the larger ones."""

RELATION = "relate["
"""Prefix of the functions for which `relation_needed` has a column, in order."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
Digests = npt.NDArray[np.uint64]


def check_text(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Reads every question of every split."""
    vocab, templates = folder.vocab, folder.templates
    reader = text_reader(vocab, templates.files, templates.synonyms)
    columns = ColumnCheck(vocab)
    n_several = n_ambiguous = 0
    for split in [file for file in folder.files if file.kind not in (SETS, NONCE)]:
        with split.open() as arrays:
            pool, text = folder.scenes[arrays.pool], partial(arrays.text, vocab)
            flags, digests = np.zeros(len(arrays), np.uint8), np.zeros(len(arrays), np.uint64)
            families, answers = (int32(arrays.columns[name]) for name in ("question_families", "answers"))
            for first in range(0, len(arrays), ROWS_A_BATCH):
                batch = slice(first, first + ROWS_A_BATCH)
                tokens = {name: int32(arrays.tokens(name, first, ROWS_A_BATCH)) for name in TOKENS}
                # A row without a scene is read without answers; another check reports the missing scene.
                scenes = pool.rows(arrays.columns["image_idxs"][batch])
                texts, programs = tokens.values()
                flags[batch], digests[batch] = reader.read(
                    texts, programs, families[batch], answers[batch], pool.native, scenes
                )
                faults = columns.of_rows(arrays, first, tokens, pool, scenes)
                results["arrays"].add(split.file, faults, range(first, len(arrays)))
                advance(len(scenes))
            n_several += int(np.count_nonzero(flags & TextReader.SEVERAL))
            n_ambiguous += int(np.count_nonzero(flags & TextReader.AMBIGUOUS))
            found = {
                "arrays": _of_file(split, arrays),
                "text": misread(flags, text),
                "duplicates": _duplicates(split, arrays, digests, text),
            }
            if split.kind is SINGLE and not split.is_grouped:
                found["balance"] = _unbalanced(folder, arrays, reader)
            for name, faults in found.items():
                results[name].n_checked += len(arrays)
                results[name].add(split.file, faults)
    if n_several:
        results["text"].notes.append(several_readings(f"{n_several:,} texts", n_ambiguous))
    if not results["balance"].n_checked:
        results["balance"].skip("no split is balanced over windows")


def misread(flags: Any, text: Callable[[int], str], rows: Rows | None = None) -> Iterator[Found]:
    """Texts that the parser flagged (N,), which are those of `rows` (N,), or of rows 0, 1, ..."""
    for flag, problem in PROBLEMS.items():
        yield from where((flags & flag) != 0, problem, text, rows)


def several_readings(what: str, n_ambiguous: int) -> str:
    """The note about texts with several readings, of which some have different answers."""
    return f"{what} have several readings; for {n_ambiguous:,} of them the readings have different answers"


def _duplicates(
    split: SplitFile, arrays: SplitArrays, digests: Digests, text: Callable[[int], str]
) -> Iterator[Found]:
    """Texts and families that an image has twice, and images whose questions are not consecutive."""
    images = arrays.columns["image_idxs"].astype(np.uint64)
    yield from same_texts(images, digests, text)
    if split.is_grouped or split.kind is not SINGLE:
        return
    families = arrays.columns["question_families"].astype(np.uint64)
    for k in _seen_before((families << np.uint64(40)) ^ images):
        yield k, f"a second question of its family on image {images[k]}", families[k]
    begins = np.flatnonzero(np.diff(images, prepend=~images[:1]) != 0)
    for place in _seen_before(images[begins]):
        k = int(begins[place])
        yield k, "an image's questions are not consecutive", images[k]


def text_digests(rows: Ints) -> Digests:
    """(N,) a digest of each row of tokens (N, W)."""
    with np.errstate(over="ignore"):
        weights = np.cumprod(np.full(rows.shape[1], _MIX, dtype=np.uint64))
        return np.asarray(((rows.astype(np.uint64) + _MIX) * weights).sum(axis=1, dtype=np.uint64))


def same_texts(images: Digests, digests: Digests, text: Callable[[int], str]) -> Iterator[Found]:
    """Texts that an image has twice; `digests` (N,) are theirs."""
    for k in _seen_before(digests ^ (images * _MIX)):
        yield k, f"the same text again on image {images[k]}", partial(text, k)


def _unbalanced(folder: AuditFolder, arrays: SplitArrays, reader: TextReader) -> Iterator[Found]:
    """The first answer that no way to lay the windows allows."""
    families, answers, images = (
        int32(arrays.columns[name]) for name in ("question_families", "answers", "image_idxs")
    )
    window = int(folder.manifest.questions["window"])
    _, broken = find_windows(
        families, answers, images, reader.answers_by_family, window=window, unseen=UNSEEN
    )
    if broken is not None:
        family, answer = int(families[broken]), folder.vocab.answer(answers[broken])
        problem = f"family {family} has this answer too often, however its split is divided into windows"
        yield broken, problem, answer


def _seen_before(keys: Digests) -> Iterator[int]:
    """Indices of the keys that also occur earlier, ascending."""
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    yield from np.sort(order[again + 1]).tolist()


def int32(numbers: npt.NDArray[Any]) -> Ints:
    """Numbers as native readers take them."""
    return np.ascontiguousarray(numbers, dtype=np.int32)


class ColumnCheck:
    """The check of the arrays of questions about single images, batch by batch."""

    def __init__(self, vocab: Vocab) -> None:
        """Takes the files' vocabulary."""
        # Which relations are needed does not depend on the held-out pair.
        self._reader = question_reader(vocab, (), {}, vocabulary_of(vocab))
        self._relates = [number for name, number in vocab.functions.items() if name.startswith(RELATION)]

    def of_rows(
        self, arrays: SplitArrays, first: int, tokens: Mapping[str, Ints], pool: PoolScenes, scenes: Rows
    ) -> Iterator[Found]:
        """Faults of rows of `questions` (N, Q) and `programs` (N, P), which are row `first` on of the file.

        `scenes` (N,) are the rows of their scenes in `pool`.
        """
        programs, n = tokens["programs"], len(scenes)
        for name, rows in tokens.items():
            yield from of_tokens(name, rows, arrays.columns[f"{name[:-1]}_lengths"][first : first + n])
        if "relation_needed" not in arrays.kind.columns:
            return
        needed = arrays.tokens("relation_needed", first, n)
        n_relations = np.isin(programs, self._relates).sum(axis=1)
        has = np.arange(needed.shape[1]) < n_relations[:, None]  # (N, R)
        malformed = np.where(has, (needed != 0) & (needed != 1), needed != -1).any(axis=1)
        found = self._reader.relations_needed(programs, pool.native, scenes, needed.shape[1])
        wrong = ~malformed & (found != UNDETERMINED).all(axis=1) & (found != needed).any(axis=1)
        for flags, problem, wanted in (
            (malformed, "relation_needed is not 0 or 1 for each of {} relations, then -1", n_relations),
            (wrong, "relation_needed is not {}, by the program without each relation", found),
        ):
            for k in np.flatnonzero(flags).tolist():
                yield k, problem.format(wanted[k].tolist()), needed[k].tolist()


def _of_file(file: QuestionFile[SplitArrays], arrays: SplitArrays) -> Iterator[Found]:
    """Faults of a file's attributes and of its numbers."""
    wanted: dict[str, object] = {"hop": file.hop.name, "split": file.name}
    if file.kind is SINGLE:
        is_train = SPLITS[file.name].role == "train"
        wanted["prefixes"] = [n for n in PREFIXES if n < len(arrays)] if is_train else []
    yield from of_attributes(arrays, wanted)
    yield from of_ranges(arrays)


def of_attributes(arrays: SplitArrays, wanted: Mapping[str, object]) -> Iterator[Found]:
    """Faults of a file whose attributes are to have these values."""
    for name, value in wanted.items():
        stored = np.asarray(arrays.attributes.get(name, [])).tolist()
        if stored != value:
            yield None, f"attribute {name} is not {value}", stored


def of_ranges(arrays: SplitArrays) -> Iterator[Found]:
    """Faults of numbers that are not in the range that the kind's row gives, or not the row's own."""
    for name, column in arrays.kind.columns.items():
        if column.row or column.check or name not in arrays.columns:
            continue  # other checks read rows of tokens and images
        limit = len(arrays.attributes.get(column.names, ())) if column.names else column.limit
        numbers = arrays.columns[name]
        is_wrong = (numbers < column.least) | (numbers >= limit)
        yield from where(is_wrong, f"{name} is not one of {column.least} to {limit - 1}", numbers)
    if arrays.kind in (SINGLE, SETS):
        numbers = arrays.columns["orig_idxs"]
        yield from where(numbers != np.arange(len(numbers)), "orig_idxs is not the row's number", numbers)


def of_vocabulary(vocab: Vocab, dataset: Vocab) -> Iterator[Found]:
    """Faults of a vocabulary that is to have all tokens of the dataset's, with the same numbers."""
    for part in ("words", "functions", "answers"):
        numbers: Mapping[str, int] = getattr(vocab, part)
        for token, number in getattr(dataset, part).items():
            if numbers.get(token) != number:
                yield None, f"{part}: {token} is not {number}, as in vocab.json", numbers.get(token)
        if len(set(numbers.values())) != len(numbers):
            yield None, "two tokens share a number", part


def wrong_answers(given: Ints, stored: npt.NDArray[Any], names: Mapping[int, str]) -> Iterator[Found]:
    """Faults of answers in a file (N,), where programs give others (N,), or codes in place of answers.

    `names` are those of answers by number.
    """
    for k in np.flatnonzero((given != stored) & (given != NO_SCENE)).tolist():
        answer, wanted = int(given[k]), int(stored[k])
        problem = f"its program gives {names.get(answer)}, not the answer"
        if answer in WHY:
            problem = f"its program has no answer ({WHY[answer]})"
        yield k, problem, names.get(wanted, wanted)


def of_tokens(name: str, rows: Ints, lengths: npt.NDArray[Any]) -> Iterator[Found]:
    """Faults of rows of tokens (N, W) with these lengths (N,)."""
    ends, broken, padded = ends_of(rows)
    yield from where(broken, f"{name}: not of the form <START> tokens <END>", rows)
    yield from where(~broken & padded, f"{name}: tokens after <END>", rows)
    other_length = ~broken & (lengths != ends + 1)
    yield from where(other_length, f"{name[:-1]}_lengths is not where <END> is", lengths)


def ends_of(
    rows: Ints,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For token rows (N, W), each (N,): where <END> is, if the row is malformed, if tokens follow <END>."""
    ends = (rows == END).argmax(axis=1)
    places = np.arange(rows.shape[1], dtype=np.int16)  # 16 bits, because this takes most of the time
    after_end = places > ends[:, None].astype(np.int16)  # (N, W)
    filled = rows != 0
    broken = (rows[:, 0] != START) | (rows[np.arange(len(rows)), ends] != END)
    broken |= (rows[:, 1:] == START).any(axis=1) | ~(filled | after_end).all(axis=1)
    return ends, broken, (filled & after_end).any(axis=1)
