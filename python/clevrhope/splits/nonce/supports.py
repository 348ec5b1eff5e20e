"""Supports: one object an image, from which the meanings of an episode's words follow.

A slot of a support shows an object of one kind, (i, j) for a_i and b_j, in the condition `unseen`, and of
one kind in `seen`. Only swapped slots differ: a_0 b_1 and a_1 b_0 exchange their values of B. In both
conditions each word is said equally often, and with equally many different partners.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from clevrhope.errors import SplitError
from clevrhope.splits.nonce.draws import Draws
from clevrhope.splits.nonce.queries import Cell

UNSEEN, SEEN = CONDITIONS = ("unseen", "seen")
"""Whether a support shows the kind that is asked about; their places in arrays are 0 and 1."""


class Slot(NamedTuple):
    """A place of a support, with the kind that its image shows in either condition."""

    unseen: Cell
    seen: Cell

    @property
    def is_swapped(self) -> bool:
        """Whether the conditions differ in this slot."""
        return self.unseen != self.seen


_SWAPPED = (Slot((0, 1), (0, 0)), Slot((1, 0), (1, 1)))


@lru_cache(8)
def support_slots(n_b: int, *, told: bool) -> tuple[Slot, ...]:
    """The slots of a support on a grid of 3 values of A and `n_b` of B, the swapped ones first.

    On 3 x 3, each kind of a condition has a slot; if types are not told, four kinds have two, because no
    seven objects can tell them. On 3 x 2, each kind has two.
    """
    asked = ((0, 0), (0, 1), (1, 0), (1, 1))
    shared = tuple(Slot(cell, cell) for cell in product(range(3), range(n_b)) if cell not in asked)
    if n_b == 2:
        return (*_SWAPPED, *shared) * 2
    return (*_SWAPPED, *shared, *(() if told else (slot for slot in shared if slot.seen != (2, 2))))


def support_width(n_b: Iterable[int], *, told: bool) -> int:
    """The number of slots of the longest support on grids with these numbers of values of B."""
    return max(len(support_slots(n, told=told)) for n in n_b)


@lru_cache(8)
def class_patterns(slots: tuple[Slot, ...]) -> tuple[tuple[int, ...], ...]:
    """All ways to give slots one of two classes, such that no word's slots are of one class in a condition.

    With values by these classes, no word's images share a value of an unnamed attribute.
    """
    words = [
        [slot for slot, kinds in enumerate(slots) if kinds[condition][side] == value]
        for condition, side in product((0, 1), (0, 1))
        for value in sorted({kinds[condition][side] for kinds in slots})
    ]
    return tuple(
        pattern
        for pattern in product((0, 1), repeat=len(slots))
        if all(len({pattern[slot] for slot in of_word}) == 2 for of_word in words)
    )


def ordered_slots(slots: Sequence[Slot], draws: Draws, *, first: int) -> tuple[Slot, ...]:
    """Slots in drawn order, of whose swapped ones one with a_0 (`first` 0) or with a_1 (1) is the first."""
    order = draws.shuffled(slots)
    places = [place for place, slot in enumerate(order) if slot.is_swapped]
    if order[places[0]].unseen[0] != first:
        for place in places:
            order[place] = _SWAPPED[1 - order[place].unseen[0]]
    return tuple(order)


def unnamed_values(
    slots: tuple[Slot, ...], n_values: int, draws: Draws, *, told: bool, kind: str
) -> list[int]:
    """A value of an unnamed attribute for each slot, the same in both conditions.

    An episode that says which words are for which attribute (`told`) rules out that a word means an unnamed
    value, so each is drawn freely. Otherwise no word's images share a value: one half of the values goes to
    one class of slots, the other half to the other.

    Raises:
        SplitError: no such values exist.
    """
    if told:
        return [draws.below(n_values) for _ in slots]
    patterns = class_patterns(tuple(sorted(slots)))
    if n_values < 2 or not patterns:
        raise SplitError(
            f"{kind} has {n_values} value{'s' * (n_values != 1)}, but words whose types are to be found need "
            "images that differ in every unnamed attribute; add values or tell types"
        )
    values = draws.shuffled(range(n_values))
    halves = values[: n_values // 2], values[n_values // 2 :]
    classes = dict(zip(sorted(range(len(slots)), key=slots.__getitem__), draws.choice(patterns), strict=True))
    return [draws.choice(halves[classes[slot]]) for slot in range(len(slots))]


def n_assignments(
    objects: Sequence[Sequence[int]], mentions: Sequence[Sequence[int]], types: Sequence[int | None]
) -> int:
    """How many injective assignments of words to values make every statement of a support true.

    Args:
        objects: (K, T) the value of each attribute type of each support object.
        mentions: for each object, the numbers of the words that its statement says are true of it.
        types: for each word, the type of the values that it can mean; None for a value of any type.
    """
    meanings = []
    for word, kind in enumerate(types):
        said_of = [{*enumerate(each)} for each, said in zip(objects, mentions, strict=True) if word in said]
        shared = set.intersection(*said_of)
        meanings.append({each for each in shared if kind in (None, each[0])})
    return _n_injective(meanings, frozenset())


def _n_injective(meanings: Sequence[set[tuple[int, int]]], taken: frozenset[tuple[int, int]]) -> int:
    if not meanings:
        return 1
    return sum(_n_injective(meanings[1:], taken | {each}) for each in meanings[0] - taken)
