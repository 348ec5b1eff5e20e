"""The rows of a compositional split: the questions for training, early stopping and testing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clevrhope.errors import ConfigError, SplitError, shown
from clevrhope.splits.covr.description import Description, Words
from clevrhope.splits.covr.expression import (
    Both,
    Condition,
    Draw,
    Either,
    Expression,
    NamedPair,
    Not,
    holds,
    leaves,
    parse_expression,
)
from clevrhope.splits.covr.fragments import Flags
from clevrhope.splits.covr.lexical import LexicalDraw, draw_pairs

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Predicate:
    """The property that a split holds out, with the pairs of terms that its draws contain.

    Attributes:
        text: the expression as given.
        expression: the parsed expression.
        draws: the draws that the expression names, by number.
    """

    text: str
    expression: Expression
    draws: Mapping[int, LexicalDraw]

    @property
    def resolved(self) -> str:
        """The expression with its draws replaced by their pairs, which has the same meaning in any folder."""
        return _text(self.expression, self.draws)

    def holds(self, questions: Description) -> Flags:
        """(N,) whether each question has the held-out property."""
        return holds(self.expression, questions, self.draws)

    def check_divides(self, splits: Sequence[Description]) -> None:
        """Raises a SplitError if it holds for no question of these splits, or for all."""
        flags = np.concatenate([self.holds(each) for each in splits])
        if flags.all() or not flags.any():
            how_many = "all questions have" if flags.any() else "no question has"
            raise SplitError(
                f"--covr-split {shown(self.text)}: of {', '.join(each.split for each in splits)}, {how_many} "
                "this property; name one that some have"
            )


def resolved_predicate(text: str, words: Words) -> Predicate:
    """Parses the result of `Predicate.resolved`, or another expression without draws.

    Raises:
        ConfigError: the text is not an expression, or it has a draw, whose pairs depend on train and dev.
    """
    expression = parse_expression(text, words)
    for leaf in leaves(expression):
        if isinstance(leaf, Draw):
            raise ConfigError(
                f"--covr-split {shown(text)}: the pairs of lexical-{leaf.number} are drawn from a train set; "
                "name them, as run.json of a run does: lexical:red+cube"
            )
    return Predicate(text, expression, {})


def _text(expression: Expression, draws: Mapping[int, LexicalDraw]) -> str:
    match expression:
        case Condition(text):
            return text
        case NamedPair((first, second)):
            return f"lexical:{first}+{second}"
        case Draw(number):
            return _text(Either(tuple(map(NamedPair, draws[number].pairs))), draws)
        case Not(inner):
            return f"!{_text(inner, draws)}"
        case Both(parts):
            return f"({' & '.join(_text(part, draws) for part in parts)})"
        case Either(parts):
            return f"({' | '.join(_text(part, draws) for part in parts)})"


@dataclass(frozen=True)
class SelectedRows:
    """Row numbers in the files of the splits, in order.

    Attributes:
        train: rows of the train split, without the property except for the shots.
        iid_size: as many rows of the train split as in `train`, with the property as often as it occurs.
        dev: rows of the dev split without the property, for early stopping.
        test: rows of the test split with the property.
    """

    train: Rows
    iid_size: Rows
    dev: Rows
    test: Rows


def bind_predicate(text: str, *, train: Description, dev: Description) -> Predicate:
    """Parses an expression and draws the pairs that it needs.

    Raises:
        ConfigError: the text is not an expression; says where.
        SplitError: a pair does not occur in train, or a draw finds too few questions.
    """
    expression = parse_expression(text, train.words)
    draws = {}
    for leaf in leaves(expression):
        match leaf:
            case Draw(number) if number not in draws:
                draws[number] = draw_pairs(number, train=train, dev=dev)
            case NamedPair((first, second)) if not train.names_pair((first, second)).any():
                raise SplitError(
                    f"--covr-split {shown(text)}: no question of {train.split} names both {shown(first)} and "
                    f"{shown(second)}; hold out two terms that occur together"
                )
    return Predicate(text, expression, draws)


def select_rows(
    predicate: Predicate, *, train: Description, dev: Description, test: Description, shots: int = 0
) -> SelectedRows:
    """Selects the rows of the split that holds out a predicate.

    The two questions of a pair (rows 2k and 2k + 1) have one text and two answers. If the property depends on
    the answer, only one of them may have it, and the other would then give the answer away. So train and dev
    keep pairs whole: a question is dropped if either question of its pair has the property, and a shot's
    partner without the property is kept with it. Only the last shot may lack its partner, if the partner has
    the property too, because the number of shots is exact. The test rows are exactly those with the property.

    Args:
        predicate: what is held out.
        train: all questions of the train split.
        dev: all questions of the split for early stopping.
        test: all questions of the split to be tested on.
        shots: number of questions with the property that train keeps, the first ones.

    Raises:
        SplitError: a set would be empty, or train has fewer questions with the property than shots.
    """
    in_train, in_dev, in_test = (predicate.holds(each) for each in (train, dev, test))
    kept = _pairs_without(in_train)
    with_property = np.flatnonzero(in_train)
    if len(with_property) < shots:
        raise SplitError(
            f"--covr-split {shown(predicate.text)}: {shots} shots of {len(with_property)} questions of "
            f"{train.split} that it holds out; take fewer shots"
        )
    partners = _partners(with_property[:shots], len(in_train))
    kept[with_property[:shots]] = True
    kept[partners[~in_train[partners]]] = True
    for split, rows, lack in (
        (train.split, in_train, "has it"),
        (train.split, kept, "is left without it"),
        (dev.split, _pairs_without(in_dev), "is left without it"),
        (test.split, in_test, "has it"),
    ):
        if not rows.any():
            raise SplitError(
                f"--covr-split {shown(predicate.text)}: no question of {split} {lack}; "
                "hold out something else"
            )
    chosen = np.flatnonzero(kept)
    return SelectedRows(
        train=chosen,
        iid_size=np.arange(len(chosen)),
        dev=np.flatnonzero(_pairs_without(in_dev)),
        test=np.flatnonzero(in_test),
    )


def _partners(rows: Rows, n_rows: int) -> Rows:
    """The other row of each row's pair; a last row without a partner is its own partner."""
    return np.minimum(rows ^ 1, n_rows - 1)


def _pairs_without(has_property: Flags) -> Flags:
    """(N,) whether a question belongs to a pair in which neither has the property."""
    every = np.arange(len(has_property))
    return ~(has_property | has_property[_partners(every, len(every))])
