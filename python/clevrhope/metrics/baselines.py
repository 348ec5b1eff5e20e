"""Predictions of simple baselines and of the symbolic oracle: the ends of every scale.

None of them looks at an image or is trained by gradients, so none needs torch. The question-only baseline is
one of the trained models (`clevrhope train question_only`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.contents import find_hop, hops_in, splits_in
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.oracle import run_programs
from clevrhope.dataset.questions_h5 import Ints, check_numbers, read_columns
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.splits.kinds import TRAIN


def baseline(
    folder: Path | str, kind: str, *, hops: Sequence[str] = (), size: int | None = None
) -> Iterator[dict[str, Any]]:
    """Predictions for all test sets of HOPs, as rows in `score`'s columns.

    Args:
        folder: a dataset that `build` wrote.
        kind: one of `BASELINES`.
        hops: names of HOPs; all if empty.
        size: the first so many questions of train, for kinds that learn; all if not given.

    Raises:
        ConfigError: there is no such kind, HOP or size.
        DatasetError: the folder is not a dataset, or a file of it is not whole.
    """
    if kind not in BASELINES:
        raise ConfigError(f'--kind: no baseline "{kind}"; there are: {", ".join(BASELINES)}')
    layout = Layout(Path(folder))
    vocab = read_vocab(layout.vocab)
    names = [find_hop(layout, name) for name in hops] or hops_in(layout)
    return _rows(layout, vocab, kind, names, size)


def train_accuracy_floor(folder: Path, hop: str, split: str, size: int | None) -> float:
    """Accuracy in per cent of `majority_by_family` on a split: what the family of a question alone gives.

    Errors as `baseline`.
    """
    layout = Layout(folder)
    answers = read_columns(layout.questions_h5(hop, split), ("answers",))["answers"]
    given = _majority_by_family(layout, read_vocab(layout.vocab), hop, split, size)
    return 100 * float((given == answers).mean())


def _rows(
    layout: Layout, vocab: Vocab, kind: str, hops: Sequence[str], size: int | None
) -> Iterator[dict[str, Any]]:
    names = vocab.answers()
    for hop in hops:
        learned: dict[str, Any] = {}
        if kind in _LEARN:
            learned["train_size"] = len(_train(layout, vocab, hop, size)["answers"])
        for split in splits_in(layout, hop):
            if split == TRAIN.name:
                continue
            for k, number in enumerate(BASELINES[kind](layout, vocab, hop, split, size).tolist()):
                row = {"hop": hop, "split": split, "question_index": k, "answer": names[number]}
                yield row | learned | {"model": kind}


def _train(layout: Layout, vocab: Vocab, hop: str, size: int | None) -> Mapping[str, Ints]:
    """Answers and families of the first so many questions of train."""
    path = layout.questions_h5(hop, TRAIN.name)
    if not path.is_file():
        raise DatasetError(f"{path}: no such file, but this baseline learns from it; build train first")
    columns = read_columns(path, ("answers", "question_families"))
    check_numbers(path, "answers", columns["answers"], len(vocab.answers()))
    n = len(columns["answers"])
    if size is not None and not 1 <= size <= n:
        raise ConfigError(f"{path}: it has {n:,} questions, but the first {size:,} were asked for")
    return {name: column[:size] for name, column in columns.items()}


def _majority(layout: Layout, vocab: Vocab, hop: str, split: str, size: int | None) -> Ints:
    """The most frequent answer of train; of several, the first in vocab.json."""
    most = int(np.bincount(_train(layout, vocab, hop, size)["answers"]).argmax())
    return _always(layout, hop, split, most)


def _majority_by_family(layout: Layout, vocab: Vocab, hop: str, split: str, size: int | None) -> Ints:
    """The most frequent answer of each family; for a family that is not in train, of all."""
    train = _train(layout, vocab, hop, size)
    families = read_columns(layout.questions_h5(hop, split), ("question_families",))["question_families"]
    n_families = int(max(families.max(initial=0), train["question_families"].max(initial=0))) + 1
    counts = np.zeros((n_families, len(vocab.answers())), dtype=np.int64)
    np.add.at(counts, (train["question_families"], train["answers"]), 1)
    most = np.where(counts.any(axis=1), counts.argmax(axis=1), counts.sum(axis=0).argmax())
    found: Ints = most[families].astype(np.int32)
    return found


def _always_no(layout: Layout, vocab: Vocab, hop: str, split: str, size: int | None) -> Ints:
    if "no" not in vocab.answer_token_to_idx:
        raise DatasetError(f'{layout.vocab}: it has no answer "no", so always_no cannot give it')
    return _always(layout, hop, split, vocab.answer_token_to_idx["no"])


def _always(layout: Layout, hop: str, split: str, number: int) -> Ints:
    n = len(read_columns(layout.questions_h5(hop, split), ("answers",))["answers"])
    return np.full(n, number, dtype=np.int32)


_Guess = Callable[[Layout, Vocab, str, str, int | None], Ints]

BASELINES: Mapping[str, _Guess] = {
    "majority": _majority,
    "majority_by_family": _majority_by_family,
    "always_no": _always_no,
    "symbolic": lambda layout, vocab, hop, split, size: run_programs(layout, vocab, hop, split),
}
"""Name -> a function that gives (N,) int32 numbers of answers to a split's questions. `symbolic` runs the
true programs on the true scenes, and is right about all of them."""

_LEARN = ("majority", "majority_by_family")
