"""Pairs of questions made by hand or at random, for the tests of their scores."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clevrhope.metrics.pairs import AnswerSet, Pairs, Relation

NUMBERS = {"<UNK>": 3, "0": 4, "1": 5, "2": 6, "blue": 7, "no": 8, "red": 9, "yes": 10, "cube": 11}
ANSWERS = AnswerSet.from_numbers(NUMBERS)
NO, YES = NUMBERS["no"], NUMBERS["yes"]
MISSING, UNREAD = -1, -2
BY_TEXT = {**NUMBERS, "missing": MISSING, "unread": UNREAD}


def ints(values: npt.ArrayLike) -> npt.NDArray[np.int32]:
    return np.asarray(values, dtype=np.int32)


def numbers(texts: Sequence[str]) -> npt.NDArray[np.int32]:
    return ints([BY_TEXT[text] for text in texts])


def make_pairs(
    originals: npt.ArrayLike,
    relation: Relation,
    *,
    values: npt.ArrayLike | None = None,
    pairs_per_image: int = 1,
    **parts: npt.NDArray[np.int32],
) -> Pairs:
    """Pairs of one relation with the right answers that follow from those to the originals."""
    first = ints(originals)
    n = len(first)
    asked = ints(np.zeros(n) if values is None else values)
    implied = {
        Relation.SAME: first,
        Relation.FLIP: np.where(first == NO, YES, NO),
        Relation.IS: np.where(first == asked, YES, NO),
        Relation.POSITIVE: np.where(first == NUMBERS["0"], NO, YES),
    }
    return Pairs(
        originals=first,
        partners=ints(implied[relation]),
        relations=np.full(n, relation, dtype=np.int8),
        values=asked,
        images=ints(np.arange(n) // pairs_per_image),
        parts=parts,
    )


def coins(n: int, seed: int) -> npt.NDArray[np.int32]:
    """(n,) yes or no, of a fair coin."""
    return ints(np.where(np.random.default_rng(seed).random(n) < 0.5, NO, YES))
