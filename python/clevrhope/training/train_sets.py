"""The questions that a run trains on: a train set, less questions of some types or what covr_train holds out.

Runs without some types of questions give instances of a model that differ in what they have not seen.
Source: Rosenberg et al., "Are VQA Systems RAD?", section 4.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.contents import find_split, no_train_set
from clevrhope.dataset.covr_questions import read_description, rows_sha256
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import ADDED, PAIRS, QUESTIONS, Numbers
from clevrhope.dataset.question_table import QuestionTable, open_split, padded, read_table
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_questions import n_augmented, suite_of_split
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import ConfigError
from clevrhope.runtime.atomic import record
from clevrhope.runtime.settings import check_known
from clevrhope.splits.covr.kinds import COVR_DEV, COVR_TEST, COVR_TRAIN
from clevrhope.splits.covr.selection import Predicate, Rows, bind_predicate, select_rows
from clevrhope.splits.kinds import TRAIN
from clevrhope.training.order import derived_seed
from clevrhope.training.request import TrainRequest

_QUERY = "query_"
"""The type of a question is the last function of its program, without this prefix: query_color is color."""

_END = 1
"""The column of a program's last function: programs are in prefix order, after <START>."""


def open_train_set(
    layout: Layout, hop: str, split: str, size: int
) -> tuple[QuestionTable, Vocab, Mapping[str, str]]:
    """Opens a train set whose name passed `check_train_split`.

    Returns:
        Its first `size` questions, with those that a suite added to them, or behind them their paraphrases;
        their vocabulary; and what run.json says of the set, which is nothing for train itself.

    Raises:
        ConfigError: it is smaller, or not in the folder; the message has the command that makes it.
        DatasetError: a damaged file.
    """
    suite = suite_of_split(split)
    find_split(layout, hop, split if suite is None else TRAIN.name)
    if suite is None:
        vocab = read_vocab(layout.vocab_of(split))
        binding = {} if split == TRAIN.name else {"split": split}
        return open_split(layout, hop, split, limit=size, vocab=vocab), vocab, binding
    h5, paraphrases = (layout.suite_h5(hop, suite, name) for name in (split, TRAIN.name))
    if not (h5.exists() or paraphrases.exists()):
        raise no_train_set(layout, hop, suite)
    vocab = read_vocab(layout.suite_vocab(hop, suite))
    own = open_split(layout, hop, TRAIN.name, limit=size, vocab=vocab)  # checks that train has as many
    if paraphrases.exists():
        pairs = read_table(paraphrases, PAIRS, vocab=vocab).check()
        added = pairs.take(1 + 2 * np.flatnonzero(pairs.orig_idxs[::2] < size))
        table = joined_tables([own, added], own.pool, np.concatenate([own.image_idxs, added.image_idxs]))
        return table, vocab, {"split": split, "suite_fingerprint": record(paraphrases).sha256}
    table = read_table(h5, ADDED, limit=n_augmented(size), vocab=vocab).check()
    binding = {"split": split, "suite_fingerprint": table.fingerprint}
    return table, vocab, binding


def joined_tables(parts: Sequence[QuestionTable], pool: str, images: Numbers) -> QuestionTable:
    """The questions of all parts, with these images of a pool; token rows are padded to the longest."""
    sentences = [part.sentences for part in parts]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name, column in QUESTIONS.items()
        if not column.row and name != "image_idxs"
    }
    columns["image_idxs"] = images
    columns |= {name: padded([getattr(part, name) for part in parts]) for name in ("questions", "programs")}
    return QuestionTable(
        parts[0].kind,
        columns,
        texts=lambda: [sentence for of_part in sentences for sentence in of_part()],
        pool=pool,
    )


def kept_rows(
    programs: Ints, drops: Mapping[str, float], *, seed: int, vocab: Vocab
) -> npt.NDArray[np.int64]:
    """The rows of a train set that stay when a share of each type of questions is dropped, in order.

    A row's random number depends on the seed and the row's index alone. So a smaller train set keeps the
    first of the rows that a larger one keeps, and a larger share drops all that a smaller one drops.

    Args:
        programs: (N, P) tokens.
        drops: type -> share of its questions to drop.
        seed: the run's seed.
        vocab: the programs' vocabulary.

    Raises:
        ConfigError: no question is of a type, or none stays.
    """
    ends = programs[:, _END]
    types = np.asarray([name.removeprefix(_QUERY) for name in vocab.programs()])[ends]
    there = sorted(set(types.tolist()))
    draws = np.random.PCG64(derived_seed(seed, "drop-type")).random_raw(len(programs)) / 2.0**64
    stays = np.ones(len(programs), dtype=bool)
    check_known(drops, there, "--drop-type: no question of the train set is of the type")
    for name, share in drops.items():
        stays &= (types != name) | (draws >= share)
    if not stays.any():
        raise ConfigError("--drop-type: no question of the train set is left; drop less")
    return np.flatnonzero(stays)


@dataclass(frozen=True)
class CovrSplit:
    """The part of the questions about sets of images that a run uses.

    Attributes:
        train: the rows of covr_train that it trains on; None for all.
        dev: the rows of covr_dev that weights are chosen by; None for all.
        binding: what run.json says of the questions; rows of predictions repeat a part.
        sentences: what is said before the run.
    """

    train: Rows | None = None
    dev: Rows | None = None
    binding: Mapping[str, Any] = field(default_factory=dict)
    sentences: Sequence[str] = ()


def choose_covr_split(layout: Layout, request: TrainRequest) -> CovrSplit:
    """The part of covr_train and covr_dev that a request uses; all is None or empty for runs on other splits.

    Raises:
        ConfigError: the predicate is not one, or a split does not exist.
        SplitError: the predicate leaves a set empty, names a pair that does not occur, or has too few shots.
    """
    if not request.is_of_sets:
        return CovrSplit()
    binding = {"train_sha256": rows_sha256(layout.questions_h5(request.hop, request.split), request.size)}
    text = request.covr_split or request.iid_size_of
    if text is None:
        return CovrSplit(binding=binding)
    hop = request.hop
    names = [find_split(layout, hop, name) for name in (COVR_DEV, COVR_TEST)]
    train = read_description(layout, hop, COVR_TRAIN, limit=request.size)
    dev, test = (read_description(layout, hop, name) for name in names)
    predicate = bind_predicate(text, train=train, dev=dev)
    shots, is_iid = request.shots or 0, request.iid_size_of is not None
    rows = select_rows(predicate, train=train, dev=dev, test=test, shots=shots)
    n_held_out = int(predicate.holds(train).sum())
    used = rows.iid_size if is_iid else rows.train
    covr = {
        "role": "iid_size" if is_iid else "split",
        "given": predicate.text,
        "predicate": predicate.resolved,
        "shots": shots,
        "rows": len(used),
    }
    summary = (
        f"{n_held_out:,} of {len(train):,} questions of {COVR_TRAIN} have {predicate.text}; "
        f"as the two questions of a pair go together, {len(rows.train):,} are left with "
        f"{shots:,} shots" + (", and the run is on the first so many of all" if is_iid else "")
    )
    return CovrSplit(
        train=used,
        dev=None if is_iid else rows.dev,
        binding={**binding, "covr": covr},
        sentences=(*_drawn_pairs(predicate), summary),
    )


def _drawn_pairs(predicate: Predicate) -> Iterator[str]:
    """A sentence for each lexical term of a predicate: the pairs that it drew, with their shares."""
    for number, draw in sorted(predicate.draws.items()):
        pairs = zip(draw.pairs, draw.shares, strict=True)
        drawn = ", ".join(f"{first}+{second} ({share:.1%})" for (first, second), share in pairs)
        yield f"lexical-{number}: {drawn} of {COVR_TRAIN}; together {draw.share:.1%}"
