"""What a run learns from: a train set, without questions of some types or what a split of COVR holds out.

Runs on train sets without some types are instances of a model that differ in what they have not seen.
Source: Rosenberg et al., "Are VQA Systems RAD?", section 4.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.augmented_h5 import n_augmented, read_fingerprint, suite_of_split
from clevrhope.dataset.contents import find_split, no_train_set
from clevrhope.dataset.covr_description import read_description, rows_sha256
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.split_reader import SplitReader, open_split
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import ConfigError
from clevrhope.runtime.settings import check_known
from clevrhope.splits.covr.kinds import COVR_DEV, COVR_TEST, COVR_TRAIN
from clevrhope.splits.covr.selection import Predicate, Rows, SelectedRows, bind_predicate, select_rows
from clevrhope.splits.kinds import TRAIN
from clevrhope.training.order import derived_seed
from clevrhope.training.request import TrainRequest

_QUERY = "query_"
"""A question whose program ends with query_color is of the type color; any other, of its last function's."""

_END = 1
"""Where the last function of a program is in its row: programs are in prefix order, after <START>."""


def open_train_set(
    layout: Layout, hop: str, split: str, size: int
) -> tuple[SplitReader, Vocab, Mapping[str, str]]:
    """A train set of a name that `check_train_split` knows.

    Returns:
        Its first `size` questions, with those that a suite added to them; their vocabulary; and what run.json
        says of the set, which is nothing of train itself.

    Raises:
        ConfigError: it is not in the folder, and the message has the command that makes it; or it is smaller.
        DatasetError: a damaged file.
    """
    suite = suite_of_split(split)
    find_split(layout, hop, split if suite is None else TRAIN.name)
    if suite is None:
        vocab = read_vocab(layout.vocab_of(split))
        binding = {} if split == TRAIN.name else {"split": split}
        return open_split(layout, hop, split, limit=size, vocab=vocab), vocab, binding
    h5 = layout.suite_h5(hop, suite, split)
    if not h5.exists():
        raise no_train_set(layout, hop, suite)
    vocab = read_vocab(layout.suite_vocab(hop, suite))
    # The message of train itself names the number of its own questions.
    open_split(layout, hop, TRAIN.name, limit=size, vocab=vocab)
    binding = {"split": split, "suite_fingerprint": read_fingerprint(h5)}
    return SplitReader(h5, limit=n_augmented(size), vocab=vocab), vocab, binding


def kept_rows(
    programs: Ints, drops: Mapping[str, float], *, seed: int, vocab: Vocab
) -> npt.NDArray[np.int64]:
    """The rows of a train set that stay, in their order.

    A row's draw follows from the seed and the row's place alone. So the rows that stay of a smaller train set
    are the first ones of those of a larger set, and what a smaller share drops, a larger one drops too.

    Args:
        programs: (N, P) tokens.
        drops: type -> share of its questions to drop.
        seed: of the run.
        vocab: whose numbers the programs have.

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
    """What a run holds out, and the rows that follow from it.

    Attributes:
        predicate: of the questions that are held out.
        rows: of the three splits.
        n_train: the number of questions that the rows of train were chosen from.
        n_held_out: the number of these that have the property.
        shots: the number of these that are trained on all the same.
        is_iid: whether the run has questions with the property among as many as the other one has.
    """

    predicate: Predicate
    rows: SelectedRows
    n_train: int
    n_held_out: int
    shots: int
    is_iid: bool

    @property
    def train(self) -> Rows:
        """The rows of covr_train that are trained on."""
        return self.rows.iid_size if self.is_iid else self.rows.train

    @property
    def dev(self) -> Rows | None:
        """The rows of covr_dev that weights are chosen by: those without the property; None for all."""
        return None if self.is_iid else self.rows.dev

    def about(self) -> dict[str, Any]:
        """What run.json says of it; rows of predictions repeat a part."""
        return {
            "role": "iid_size" if self.is_iid else "split",
            "given": self.predicate.text,
            "predicate": self.predicate.resolved,
            "shots": self.shots,
            "rows": len(self.train),
        }

    def sentences(self) -> Iterator[str]:
        """What is said before the run: the drawn pairs with their shares, and how many questions are left."""
        for number, draw in sorted(self.predicate.draws.items()):
            pairs = zip(draw.pairs, draw.shares, strict=True)
            drawn = ", ".join(f"{first}+{second} ({share:.1%})" for (first, second), share in pairs)
            yield f"lexical-{number}: {drawn} of {COVR_TRAIN}; together {draw.share:.1%}"
        yield (
            f"{self.n_held_out:,} of {self.n_train:,} questions of {COVR_TRAIN} have {self.predicate.text}; "
            f"as the two questions of a pair go together, {len(self.rows.train):,} are left with "
            f"{self.shots:,} shots" + (", and the run is on the first so many of all" if self.is_iid else "")
        )


def choose_covr_split(layout: Layout, request: TrainRequest) -> CovrSplit | None:
    """What a request holds out of covr_train; None if it holds nothing out.

    Raises:
        ConfigError: the predicate is none, or a split is not there.
        SplitError: the predicate leaves a set empty, names a pair that does not occur, or has too few shots.
    """
    text = request.covr_split or request.iid_size_of
    if text is None:
        return None
    names = [find_split(layout, request.hop, name) for name in (COVR_TRAIN, COVR_DEV, COVR_TEST)]
    limits = (request.size, None, None)
    train, dev, test = (
        read_description(layout.covr_h5(request.hop, name), limit=limit)
        for name, limit in zip(names, limits, strict=True)
    )
    predicate = bind_predicate(text, train=train, dev=dev)
    shots = request.shots or 0
    rows = select_rows(predicate, train=train, dev=dev, test=test, shots=shots)
    n_held_out = int(predicate.holds(train).sum())
    return CovrSplit(predicate, rows, len(train), n_held_out, shots, request.iid_size_of is not None)


def covr_binding(layout: Layout, request: TrainRequest, split: CovrSplit | None) -> Mapping[str, Any]:
    """What binds a run on sets of images: its questions, and what it holds out of them; nothing of others."""
    if not request.is_of_sets:
        return {}
    sha256 = rows_sha256(layout.covr_h5(request.hop, request.split), request.size)
    return {"train_sha256": sha256, **({"covr": split.about()} if split else {})}
