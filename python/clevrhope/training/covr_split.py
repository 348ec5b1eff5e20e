"""The rows that runs on COVR's splits by predicates are trained and tuned on, and what is said of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clevrhope.dataset.contents import find_split
from clevrhope.dataset.covr_description import read_description, rows_sha256
from clevrhope.dataset.layout import Layout
from clevrhope.splits.covr.kinds import COVR_DEV, COVR_TEST, COVR_TRAIN
from clevrhope.splits.covr.selection import Predicate, Rows, SelectedRows, bind_predicate, select_rows
from clevrhope.training.request import TrainRequest


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
