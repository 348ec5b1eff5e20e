"""Pairs of questions made by hand or at random, for the tests of their scores."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.metrics.pairs import AnswerSet, Relation

NUMBERS = {"<UNK>": 3, "0": 4, "1": 5, "2": 6, "blue": 7, "no": 8, "red": 9, "yes": 10, "cube": 11}
FUNCTIONS = ("scene", "filter_color[blue]", "filter_color[red]", "filter_shape[cube]")
ANSWERS = AnswerSet.from_numbers(NUMBERS, FUNCTIONS)
NO, YES = NUMBERS["no"], NUMBERS["yes"]
MISSING, UNREAD = -1, -2
BY_TEXT = {**NUMBERS, "missing": MISSING, "unread": UNREAD}


def ints(values: npt.ArrayLike) -> npt.NDArray[np.int32]:
    return np.asarray(values, dtype=np.int32)


def numbers(texts: Sequence[str]) -> npt.NDArray[np.int32]:
    return ints([BY_TEXT[text] for text in texts])


def sides(original: npt.ArrayLike, partner: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """(R, 2K) from (R, K) or (K,) of the originals and of the partners."""
    first, second = np.atleast_2d(ints(original)), np.atleast_2d(ints(partner))
    return np.stack([first, second], axis=2).reshape(len(first), -1)


def make_pairs(
    originals: npt.ArrayLike,
    relation: Relation | npt.NDArray[np.int8],
    *,
    values: npt.ArrayLike | None = None,
    pairs_per_image: int = 1,
) -> QuestionTable:
    """Pairs with the right answers that follow from those to the originals."""
    first = ints(originals)
    n = len(first)
    asked = ints(np.zeros(n) if values is None else values)
    relations = np.broadcast_to(np.asarray(relation, dtype=np.int8), n)
    implied = [
        first,
        np.where(first == NO, YES, NO),
        np.where(first == asked, YES, NO),
        np.where(first == NUMBERS["0"], NO, YES),
    ]
    columns = {
        "answers": sides(first, np.choose(relations, implied))[0],
        "relation": np.repeat(relations, 2),
        "value": np.repeat(asked, 2),
        "image_idxs": ints(np.arange(2 * n) // (2 * pairs_per_image)),
    }
    return QuestionTable(PAIRS, columns)


def coins(n: int, seed: int) -> npt.NDArray[np.int32]:
    """(n,) yes or no, of a fair coin."""
    return ints(np.where(np.random.default_rng(seed).random(n) < 0.5, NO, YES))
