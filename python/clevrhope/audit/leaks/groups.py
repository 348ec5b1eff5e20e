"""The images of minimal and preliminary test sets, group by group, in; groups that are none out.

A group's images show their objects at the same places, turned the same way.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from clevrhope.audit.leaks.report import OF_A_SET, Found, Kind
from clevrhope.dataset.native_reader import Ints
from clevrhope.dataset.scene_files import PoolScenes, Rows
from clevrhope.dataset.split_files import SplitArrays
from clevrhope.splits.hops import Hop


class GroupCheck:
    """Looks at the groups of one sub-dataset's splits."""

    def __init__(
        self, hop: Hop, answers: Mapping[int, str], text: Callable[[Ints], str], found: Found
    ) -> None:
        """`answers` are names by number, `text` gives a row's words; what is wrong goes into `found`."""
        self._hop, self._answers, self._text, self._found = hop, answers, text, found

    def check_places(self, arrays: SplitArrays, pool: PoolScenes, used: Rows) -> None:
        """The images of minimal_ood at one place, four for a pair, are asked one question; one has it."""
        holds = pool.holding(self._hop.target)
        sentences = _by_row(arrays, pool, arrays.tokens("questions", 0, len(arrays)))
        for group in _by_place(pool, used):
            shown = int(holds[group].sum())
            first = int(pool.indices[group[0]])
            if (len(group), shown) != (self._hop.corners, 1):
                what = f"a {self._hop.words}" if self._hop.pair else self._hop.words
                problem = f"not one image in {self._hop.corners} of this place shows {what}"
                self._found.add(Kind.GROUP, f"scenes/{pool.name}", first, problem, f"{shown} of {len(group)}")
            self._check_asked_the_same("place", [sentences[row] for row in group], pool, first)

    def check_sets(self, arrays: SplitArrays, pool: PoolScenes, used: Rows) -> None:
        """The images of a counting set are asked one question, whose answers are 0, 1, ... 5."""
        sentences = _by_row(arrays, pool, arrays.tokens("questions", 0, len(arrays)))
        answers = _by_row(arrays, pool, arrays.columns["answers"])
        wanted = [str(n) for n in range(OF_A_SET)]
        for group in _by_place(pool, used):
            first = int(pool.indices[group[0]])
            numbers = [int(np.frombuffer(answers[row], dtype=np.int32)[0]) for row in group]
            counted = sorted(self._answers.get(number, "?") for number in numbers)
            if counted != wanted:
                problem = f"the images of this set have not each of the answers 0 to {OF_A_SET - 1} once"
                self._found.add(Kind.GROUP, f"scenes/{pool.name}", first, problem, ", ".join(counted))
            self._check_asked_the_same("set", [sentences[row] for row in group], pool, first)

    def _check_asked_the_same(self, what: str, asked: Sequence[bytes], pool: PoolScenes, first: int) -> None:
        if len(set(asked)) > 1:
            problem = f"the images of this {what} are asked different questions"
            texts = [self._text(np.frombuffer(each, dtype=np.int32)) for each in sorted(set(asked))]
            self._found.add(Kind.GROUP, f"scenes/{pool.name}", first, problem, "; ".join(texts))


def _by_row(arrays: SplitArrays, pool: PoolScenes, column: Ints) -> dict[int, bytes]:
    """Place of a scene in its pool -> what a column has of the last question about it."""
    rows = pool.rows(arrays.columns["image_idxs"])
    return {row: each.tobytes() for row, each in zip(rows.tolist(), column, strict=True)}


def _by_place(pool: PoolScenes, used: Rows) -> Iterable[list[int]]:
    """The scenes in use, those with objects at the same places and turned the same way together."""
    groups: dict[int, list[int]] = {}
    for row, place in zip(used.tolist(), pool.places[used].tolist(), strict=True):
        groups.setdefault(place, []).append(row)
    return groups.values()
