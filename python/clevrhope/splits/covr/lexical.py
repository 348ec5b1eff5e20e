"""Lexical splits: pairs of terms are drawn until enough questions name both terms of one of them."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from clevrhope.errors import SplitError
from clevrhope.splits.covr.description import Description, TermPair

SHARE = 0.15
"""The least share of train's questions to hold out. COVR draws 65 pairs of hundreds of words, which hold out
16%; here there are few words, and one or two pairs suffice."""

LEAST_ALONE = 50
"""In train, the least number of questions with each term of a pair but not the other, so that each can be
learned. The number is COVR's."""

LEAST_TOGETHER = 15
"""In dev, the least number of questions with both terms, so that they can be scored. The number is COVR's."""


@dataclass(frozen=True)
class LexicalDraw:
    """The pairs of one draw.

    Attributes:
        number: the number of the draw.
        pairs: in the order in which they were drawn.
        shares: for each pair, the share of train's questions that name both terms.
        share: the share of train's questions that name both terms of any pair.
    """

    number: int
    pairs: tuple[TermPair, ...]
    shares: tuple[float, ...]
    share: float


def draw_pairs(number: int, *, train: Description, dev: Description) -> LexicalDraw:
    """Draws pairs until at least 15% of train's questions name both terms of one.

    The order in which pairs are drawn depends only on the draw's number and the terms: more questions change
    a draw only if they change which pairs are frequent enough.

    Raises:
        SplitError: all pairs that are frequent enough hold out too few questions together.
    """
    held_out = np.zeros(len(train), dtype=bool)
    pairs, shares = [], []
    for pair in sorted(_frequent_pairs(train, dev), key=lambda pair: _rank(number, pair)):
        names_both = train.names_pair(pair)
        held_out |= names_both
        pairs.append(pair)
        shares.append(float(names_both.mean()))
        if held_out.mean() >= SHARE:
            return LexicalDraw(number, tuple(pairs), tuple(shares), float(held_out.mean()))
    frequent = (
        f"are named {LEAST_TOGETHER} times by {dev.split}, and each without the other {LEAST_ALONE} times by "
        f"{train.split}"
    )
    if not pairs:
        raise SplitError(f"lexical-{number}: no two terms {frequent}; a lexical split needs more questions")
    raise SplitError(
        f"lexical-{number}: a draw holds out {SHARE:.0%} of {train.split}, but the pairs that {frequent} "
        f"({len(pairs)}) hold out {held_out.mean():.1%}"
    )


def _rank(number: int, pair: TermPair) -> bytes:
    """The rank of a pair in the order of a draw."""
    return hashlib.sha256(f"clevrhope COVR lexical {number} {pair[0]}+{pair[1]}".encode()).digest()


def _frequent_pairs(train: Description, dev: Description) -> Iterator[TermPair]:
    """The pairs that train names and that may be drawn."""
    names = sorted(train.words.terms)
    in_train, in_dev = (_together(each, names) for each in (train, dev))
    for i, j in combinations(range(len(names)), 2):
        alone = min(in_train[i, i], in_train[j, j]) - in_train[i, j]
        if in_train[i, j] > 0 and alone >= LEAST_ALONE and in_dev[i, j] >= LEAST_TOGETHER:
            yield names[i], names[j]


def _together(questions: Description, names: Sequence[str]) -> npt.NDArray[np.int64]:
    """(T, T) the number of questions that name two of T terms together; on the diagonal, those naming one."""
    named = np.stack([questions.names_term(name) for name in names])  # (T, N)
    return np.stack([(named & row).sum(axis=1) for row in named])
