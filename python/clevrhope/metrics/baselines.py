"""Predictions of simple baselines and of the symbolic oracle, the two ends of every scale.

None of them uses an image or is trained by gradient descent, so none needs torch. The question-only baseline
is one of the trained models (`clevrhope train question_only`).
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.answer_counts import answer_counts, most_frequent
from clevrhope.dataset.contents import (
    choose_suite,
    find_hop,
    hops_in,
    no_suite,
    of_episodes_alone,
    splits_in,
)
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.oracle import execute_programs
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import QuestionTable, open_split, read_table
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_questions import suite_columns
from clevrhope.dataset.vocab import NO_ANSWER, Vocab, read_vocab
from clevrhope.errors import ConfigError, DatasetError, command_line
from clevrhope.metrics.nonce_strategies import ALL, STRATEGIES, play
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.splits.kinds import SPLITS, TRAIN


def baseline(
    folder: Path | str,
    kind: str,
    *,
    hops: Sequence[str] = (),
    size: int | None = None,
    suite: str | None = None,
    progress: Progress | None = None,
) -> Iterator[dict[str, Any]]:
    """Predictions for all test sets of HOPs, or for a suite of paired tests, as rows for `score`.

    Args:
        folder: a dataset that `build` wrote.
        kind: one of `BASELINES`; or one of `nonce_strategies.STRATEGIES`, which answer episodes with nonce
            words in place of the test sets.
        hops: names of HOPs; all if empty.
        size: number of train questions to use, from the first, for kinds that learn; all if not given.
        suite: a suite; both questions of each of its pairs are then answered in place of the test sets.
        progress: shows the test sets; None shows nothing.

    Raises:
        ConfigError: there is no such kind, HOP, size or suite.
        DatasetError: the folder is not a dataset, or a file in it is incomplete.
    """
    known = (*BASELINES, *STRATEGIES)
    if kind not in known:
        there = ", ".join((*known, ALL))
        raise ConfigError(f'--kind: no baseline "{kind}"; there are: {there}')
    layout = Layout(Path(folder))
    if kind in STRATEGIES:
        if hops or suite or size:
            raise ConfigError(f"--kind: {kind} answers episodes; leave out --hop, --suite and --size")
        return (row for row, _, _ in play(layout.root, kind))
    if suite is not None:
        chosen = tuple(place for place in choose_suite(layout, suite, hops) if place[1] != TRAIN.name)
        if not chosen:
            raise no_suite(layout.root, suite)
    else:
        names = [find_hop(layout, name) for name in hops] or hops_in(layout)
        chosen = tuple(
            (hop, split) for hop in names for split in splits_in(layout, hop) if SPLITS[split].is_test_set
        )
    if said := of_episodes_alone(layout):
        raise DatasetError(f"{layout.root}: {said}")
    return _rows(layout, kind, chosen, size, suite, progress or Silent())


def answers_by_family(folder: Path, hop: str, split: str, size: int | None) -> npt.NDArray[np.int16]:
    """(N,) the answers of `majority_by_family` to a split, which knows only the question's family.

    Raises as `baseline` does.
    """
    layout = Layout(folder)
    vocab = read_vocab(layout.vocab)
    rows = open_split(layout, hop, split, vocab=vocab)
    return _majority_by_family(layout, vocab, rows, size).astype(np.int16)


def _rows(
    layout: Layout,
    kind: str,
    chosen: Sequence[tuple[str, str]],
    size: int | None,
    suite: str | None,
    progress: Progress,
) -> Iterator[dict[str, Any]]:
    vocab = read_vocab(layout.vocab)
    with progress.stage("Answering", total=len(chosen), unit="test sets") as advance:
        for hop, split in chosen:
            place, learned = {"hop": hop, "split": split}, {}
            if suite is None:
                reader = open_split(layout, hop, split, vocab=vocab)
            else:
                path, vocab = layout.suite_h5(hop, suite, split), read_vocab(layout.suite_vocab(hop, suite))
                reader = read_table(path, PAIRS, vocab=vocab).check()
                place |= suite_columns(suite, path)
            names = vocab.answers()
            if kind in _LEARN:
                learned["train_size"] = len(_train(layout, vocab, hop, size))
            for k, number in enumerate(BASELINES[kind](layout, vocab, reader, size).tolist()):
                answer = names[number] if number >= 0 else NO_ANSWER
                yield {**place, "question_index": k, "answer": answer, **learned, "model": kind}
            advance(1)


def _train(layout: Layout, vocab: Vocab, hop: str, size: int | None) -> QuestionTable:
    """The first `size` questions of train."""
    path = layout.questions_h5(hop, TRAIN.name)
    if not path.is_file():
        raise DatasetError(f"{path}: no such file, but this baseline learns from it; build train first")
    table = read_table(path, vocab=vocab)
    n = len(table)
    if size is not None and not 1 <= size <= n:
        raise ConfigError(
            f"{path}: it has {n:,} questions, but the first {size:,} were asked for; ask for 1 to "
            f"{n:,}, or add more by "
            + command_line("build", "--hop", hop, "--train-questions", size, "--out", layout.root)
        )
    return table if size is None else table.part(0, size)


def _majority(layout: Layout, vocab: Vocab, reader: QuestionTable, size: int | None) -> Ints:
    """The most frequent answer in train; in a tie, the first in vocab.json."""
    most = int(np.bincount(_train(layout, vocab, reader.hop, size).answers).argmax())
    return _always(reader, most)


def _majority_by_family(layout: Layout, vocab: Vocab, reader: QuestionTable, size: int | None) -> Ints:
    """The most frequent answer of each family; for a family that is not in train, that of all families."""
    train = _train(layout, vocab, reader.hop, size)
    families = reader.question_families
    n_families = int(max(families.max(initial=0), train.question_families.max(initial=0))) + 1
    counts = answer_counts(train.answers, train.question_families, n_families, len(vocab.answers()))
    return most_frequent(counts)[families]


def _always_no(layout: Layout, vocab: Vocab, reader: QuestionTable, size: int | None) -> Ints:
    if "no" not in vocab.answer_token_to_idx:
        raise DatasetError(f'{layout.vocab}: it has no answer "no", so always_no cannot give it')
    return _always(reader, vocab.answer_token_to_idx["no"])


def _coin(layout: Layout, vocab: Vocab, reader: QuestionTable, size: int | None) -> Ints:
    """Yes or no at random, depending only on the dataset's seed, the question's tokens and its image.

    So a question that is in several pairs always gets the same answer.
    """
    seed = str(existing_manifest(layout.manifest).seed).encode()
    sides = [vocab.answer_token_to_idx.get(answer, -1) for answer in ("yes", "no")]
    questions, _ = reader.tokens(0, len(reader))
    said = [
        hashlib.blake2b(question[:n].tobytes() + image.tobytes(), key=seed, digest_size=1).digest()[0] & 1
        for question, n, image in zip(questions, reader.question_lengths, reader.image_idxs, strict=True)
    ]
    return np.asarray(sides, dtype=np.int32)[np.asarray(said, dtype=np.intp)]


def _symbolic(layout: Layout, vocab: Vocab, reader: QuestionTable, size: int | None) -> Ints:
    _, programs = reader.tokens(0, len(reader))
    return execute_programs(programs, reader.image_idxs, layout=layout, pool=reader.pool, vocab=vocab)


def _always(reader: QuestionTable, number: int) -> Ints:
    return np.full(len(reader), number, dtype=np.int32)


_Guess = Callable[[Layout, Vocab, QuestionTable, int | None], Ints]

BASELINES: Mapping[str, _Guess] = {
    "majority": _majority,
    "majority_by_family": _majority_by_family,
    "always_no": _always_no,
    "coin": _coin,
    "symbolic": _symbolic,
}
"""Name -> a function that returns (N,) int32 numbers of answers to the questions of a file. `symbolic`
executes the true programs on the true scenes, and answers all questions correctly."""

_LEARN = ("majority", "majority_by_family")
