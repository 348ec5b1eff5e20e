"""The check of the groups of images in minimal and preliminary test sets.

The images of a group show their objects at the same positions, with the same rotations.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from clevrhope.audit.leaks.report import SET_SIZE
from clevrhope.audit.report import Check
from clevrhope.dataset.native_reader import Ints
from clevrhope.dataset.scene_files import PoolScenes, Rows
from clevrhope.dataset.split_files import SplitArrays
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SHARED_PLACES


class GroupCheck:
    """The check of the groups of a sub-dataset's splits."""

    def __init__(
        self, hop: Hop, answers: Mapping[int, str], text: Callable[[Ints], str], check: Check
    ) -> None:
        """`answers` has names by number, and `text` decodes a row; faults are added to `check`."""
        self._hop, self._answers, self._text, self._check = hop, answers, text, check

    def check_places(self, arrays: SplitArrays, pool: PoolScenes, used: Rows) -> None:
        """Checks that a group's images (four for a pair) have one question, and that one shows the pair."""
        holds = pool.holding(self._hop.target)
        sentences = _by_row(arrays, pool, arrays.tokens("questions", 0, len(arrays)))
        others = None
        if pool.name == SHARED_PLACES:  # where a place has a group for each of the other values
            kinds = [kind for kind, _ in pool.types]
            of_pair = [kinds.index(kind) for kind, _ in self._hop.target]
            others = np.delete(pool.first_objects()[used], of_pair, axis=1)
        for group in _by_place(pool, used, others):
            shown = int(holds[group].sum())
            first = int(pool.indices[group[0]])
            if (len(group), shown) != (self._hop.corners, 1):
                what = f"a {self._hop.words}" if self._hop.pair else self._hop.words
                problem = f"not one image in {self._hop.corners} of this group shows {what}"
                self._check.fault(f"scenes/{pool.name}", first, problem, f"{shown} of {len(group)}")
            self._check_one_question("group", [sentences[row] for row in group], pool, first)

    def check_sets(self, arrays: SplitArrays, pool: PoolScenes, used: Rows) -> None:
        """Checks that the images of a counting set have the same question, and the answers 0, 1, ... 5."""
        sentences = _by_row(arrays, pool, arrays.tokens("questions", 0, len(arrays)))
        answers = _by_row(arrays, pool, arrays.columns["answers"])
        wanted = [str(n) for n in range(SET_SIZE)]
        for group in _by_place(pool, used):
            first = int(pool.indices[group[0]])
            numbers = [int(np.frombuffer(answers[row], dtype=np.int32)[0]) for row in group]
            counted = sorted(self._answers.get(number, "?") for number in numbers)
            if counted != wanted:
                problem = f"the images of this set do not have the answers 0 to {SET_SIZE - 1}, each once"
                self._check.fault(f"scenes/{pool.name}", first, problem, ", ".join(counted))
            self._check_one_question("set", [sentences[row] for row in group], pool, first)

    def _check_one_question(self, what: str, rows: Sequence[bytes], pool: PoolScenes, first: int) -> None:
        if len(set(rows)) > 1:
            problem = f"the images of this {what} have different questions"
            texts = [self._text(np.frombuffer(each, dtype=np.int32)) for each in sorted(set(rows))]
            self._check.fault(f"scenes/{pool.name}", first, problem, "; ".join(texts))


def _by_row(arrays: SplitArrays, pool: PoolScenes, column: Ints) -> dict[int, bytes]:
    """Row of a scene in its pool -> the value of a column for the last question about it."""
    rows = pool.rows(arrays.columns["image_idxs"])
    return {row: each.tobytes() for row, each in zip(rows.tolist(), column, strict=True)}


def _by_place(
    pool: PoolScenes, used: Rows, others: npt.NDArray[np.uint8] | None = None
) -> Iterable[list[int]]:
    """The used scenes, grouped by positions and rotations of their objects, and by `others` of the first."""
    groups: dict[tuple[int, bytes], list[int]] = {}
    for k, (row, place) in enumerate(zip(used.tolist(), pool.places[used].tolist(), strict=True)):
        groups.setdefault((place, b"" if others is None else others[k].tobytes()), []).append(row)
    return groups.values()
