"""Finished question and scene files in, the numbers that datasheet and contact sheet show out.

Everything here is counted in the files of the folder, nothing is taken from the settings that made them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.clevr_json import read_row_lines
from clevrhope.dataset.questions_h5 import Ints, QuestionArrays
from clevrhope.dataset.vocab import Vocab

_INDEX = re.compile(rb'"image_index": ?(\d+)')
_ATTRIBUTE = re.compile(rb'"(?:size|color|material|shape)": ?"([^"]+)"')
_OBJECT = b'"3d_coords"'


@dataclass(frozen=True)
class SceneCounts:
    """What the scenes of a pool show, a row a scene."""

    indices: Ints
    """(S,) scene indices, sorted."""
    n_objects: Ints
    """(S,) objects a scene."""
    values: Mapping[str, Ints]
    """Attribute value -> (S,) objects of a scene that have it."""

    def rows(self, indices: Ints) -> npt.NDArray[np.intp]:
        """The rows of scenes, by index."""
        return np.searchsorted(self.indices, indices)


@dataclass(frozen=True)
class SplitStats:
    """The measured distributions of one split."""

    split: str
    pool: str
    n_questions: int
    n_pictures: int
    answers: Mapping[str, int]
    """Answer -> questions, most frequent first."""
    families: Mapping[int, int]
    """Global index of the family -> questions."""
    words: Mapping[int, int]
    """Words of a question (punctuation apart) -> questions."""
    functions: Mapping[int, int]
    """Functions of a program -> questions."""
    objects: Mapping[int, int]
    """Objects in a picture -> pictures."""
    values: Mapping[str, int]
    """Attribute value -> objects in the split's pictures."""
    questions_a_picture: Mapping[int, int]
    """Questions about a picture -> pictures."""
    majority_of_families: float
    """Share right when each family's questions get that family's most frequent answer."""
    n_relational: int
    """Questions with at least one relation."""
    n_all_needed: int
    """Those of them whose every relation is needed for the answer."""

    @property
    def majority(self) -> tuple[str, float]:
        """The most frequent answer, and its share of the questions."""
        answer, n = next(iter(self.answers.items()), ("", 0))
        return answer, n / max(self.n_questions, 1)


def read_scene_counts(shards: Iterable[Path]) -> SceneCounts:
    """Counts the objects of every scene in a pool's files.

    The rows are searched rather than parsed: a paper-sized pool has gigabytes of them.
    """
    indices: list[int] = []
    n_objects: list[int] = []
    values: dict[str, list[int]] = {}
    for shard in shards:
        for line in read_row_lines(shard):
            match = _INDEX.search(line)
            if match is None:
                continue
            indices.append(int(match[1]))
            n_objects.append(line.count(_OBJECT))
            for name, n in Counter(_ATTRIBUTE.findall(line)).items():
                counts = values.setdefault(name.decode(), [])
                counts.extend([0] * (len(indices) - 1 - len(counts)))
                counts.append(n)
    order = np.argsort(np.asarray(indices, dtype=np.int32), kind="stable")
    return SceneCounts(
        indices=np.asarray(indices, dtype=np.int32)[order],
        n_objects=np.asarray(n_objects, dtype=np.int32)[order],
        values={
            name: np.asarray(counts + [0] * (len(indices) - len(counts)), dtype=np.int32)[order]
            for name, counts in sorted(values.items())
        },
    )


def measure_split(
    split: str, pool: str, rows: QuestionArrays, *, vocab: Vocab, scenes: SceneCounts
) -> SplitStats:
    """Counts what is in one split; `scenes` are those of its pool."""
    pictures, n_asked = np.unique(rows.image_idxs, return_counts=True)
    at = scenes.rows(pictures)
    names = vocab.answers()
    answers = {names[answer]: n for answer, n in _by_frequency(_counted(rows.answers))}
    needed = rows.relation_needed
    relational = (needed >= 0).any(axis=1)
    return SplitStats(
        split=split,
        pool=pool,
        n_questions=len(rows),
        n_pictures=len(pictures),
        answers=answers,
        families=_counted(rows.question_families),
        words=_counted(rows.question_lengths - 2),
        functions=_counted(rows.program_lengths - 2),
        objects=_counted(scenes.n_objects[at]),
        values={name: int(counts[at].sum()) for name, counts in scenes.values.items()},
        questions_a_picture=_counted(n_asked),
        majority_of_families=_majority_of_families(rows),
        n_relational=int(relational.sum()),
        n_all_needed=int((relational & (needed != 0).all(axis=1)).sum()),
    )


def mean(histogram: Mapping[int, int]) -> float:
    """The mean of a histogram; not a number when it is empty."""
    n = sum(histogram.values())
    return sum(value * count for value, count in histogram.items()) / n if n else float("nan")


def percentile(histogram: Mapping[int, int], share: float) -> int:
    """The least value that at least `share` of a histogram does not exceed."""
    goal = share * sum(histogram.values())
    seen = 0
    for value in sorted(histogram):
        seen += histogram[value]
        if seen >= goal:
            return value
    return 0


def total_variation(a: Mapping[int, int], b: Mapping[int, int]) -> float:
    """Half the summed difference of two distributions' shares: 0 when alike, 1 when they share nothing."""
    n_a, n_b = max(sum(a.values()), 1), max(sum(b.values()), 1)
    return sum(abs(a.get(key, 0) / n_a - b.get(key, 0) / n_b) for key in {*a, *b}) / 2


def pictures_shared(used: Sequence[Ints]) -> tuple[int, int]:
    """Of several lists of pictures: how many there are, each once, and how many are in two lists or more."""
    if not used:
        return 0, 0
    _, counts = np.unique(np.concatenate(used), return_counts=True)
    return len(counts), int((counts > 1).sum())


def _counted(values: npt.NDArray[np.generic]) -> dict[int, int]:
    found, counts = np.unique(values, return_counts=True)
    return {int(value): int(count) for value, count in zip(found, counts, strict=True)}


def _by_frequency(counts: Mapping[int, int]) -> list[tuple[int, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _majority_of_families(rows: QuestionArrays) -> float:
    if not len(rows):
        return float("nan")
    pairs = np.stack([rows.question_families, rows.answers], axis=1)
    found, counts = np.unique(pairs, axis=0, return_counts=True)
    best: dict[int, int] = {}
    for (family, _), count in zip(found, counts, strict=True):
        best[int(family)] = max(best.get(int(family), 0), int(count))
    return sum(best.values()) / len(rows)
