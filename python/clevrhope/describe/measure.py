"""Measurements of finished question and scene files, which datasheets and statistics show.

Everything is counted in the files, and nothing is taken from the settings that made them. Questions are
counted in blocks and scenes one by one, so that a split of the paper's size needs no more memory than a small
one.
"""

import re
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import pi, sqrt
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditScenes
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import DatasetError, SceneError

Value: TypeAlias = tuple[str, str]
"""Attribute type and value: ("shape", "cube")."""

Pair: TypeAlias = tuple[Value, Value]
"""Two values of two attributes, sorted."""

_Key = TypeVar("_Key", bound=Hashable)

_WORD = re.compile(r"[^\s;,?.]+")
_SCENES_A_BLOCK = 16_384


@dataclass(frozen=True)
class SceneCounts:
    """The content of a pool's S scenes, with O objects in total."""

    indices: Ints
    """(S,) scene indices, sorted."""
    starts: npt.NDArray[np.int64]
    """(S + 1,): the objects of scene s are `looks[starts[s]:starts[s + 1]]`."""
    looks: Ints
    """(O,) number of each object's combination of values."""
    combinations: Sequence[tuple[Value, ...]]
    """Combinations of values, each sorted by type, by number."""

    @property
    def n_objects(self) -> Ints:
        """(S,) number of objects in each scene."""
        return np.diff(self.starts).astype(np.int32)

    def rows(self, indices: Ints) -> npt.NDArray[np.intp]:
        """The rows (N,) of scenes by index (N,)."""
        return np.searchsorted(self.indices, indices)

    def in_images(
        self, images: Ints
    ) -> tuple[dict[int, int], dict[Value, int], dict[Pair, int], dict[Pair, int]]:
        """Counts the content of images (N,), given by unique index.

        Returns:
            `objects`, `values` with their attributes, `pairs` and `images_with`, as in `SplitStats`.

        Raises:
            DatasetError: an image has no scene.
        """
        at = self.rows(images)
        known = at < len(self.indices)
        known[known] = self.indices[at[known]] == images[known]
        if not known.all():
            raise DatasetError(f"no scene has index {images[~known][0]}, though questions ask about it")
        chosen = np.zeros(len(self.indices), dtype=bool)
        chosen[at] = True
        n_objects = self.n_objects
        found = np.bincount(self.looks[np.repeat(chosen, n_objects)], minlength=len(self.combinations))
        values: Counter[Value] = Counter()
        pairs: Counter[Pair] = Counter()
        for combination, n in zip(self.combinations, found.tolist(), strict=True):
            if not n:
                continue
            for value in combination:
                values[value] += n
            for pair in combinations(combination, 2):
                pairs[pair] += n
        images_with = self._images_with(sorted(pairs), np.flatnonzero(chosen))
        return _counted(n_objects[chosen]), _sorted(values), _sorted(pairs), images_with

    def _images_with(self, pairs: Sequence[Pair], rows: npt.NDArray[np.intp]) -> dict[Pair, int]:
        has = np.array(
            [[set(pair) <= set(look) for pair in pairs] for look in self.combinations], dtype=np.float32
        ).reshape(len(self.combinations), len(pairs))
        n_images = np.zeros(len(pairs), dtype=np.int64)
        for begin in range(0, len(rows), _SCENES_A_BLOCK):
            block = rows[begin : begin + _SCENES_A_BLOCK]
            shown = np.zeros((len(block), len(self.combinations)), dtype=np.float32)
            lengths, places = _object_places(self.starts, block)
            shown[np.repeat(np.arange(len(block)), lengths), self.looks[places]] = 1
            n_images += (shown @ has > 0).sum(axis=0)
        return {pair: int(n) for pair, n in zip(pairs, n_images, strict=True)}


@dataclass(frozen=True)
class SplitStats:
    """The measured distributions of one split."""

    split: str
    pool: str
    n_questions: int
    n_images: int
    answers_of_families: Mapping[int, Mapping[str, int]]
    """Global index of the family -> answer -> questions."""
    answer_types: Mapping[str, int]
    """Answer type ("yes/no", "count", or an attribute) -> questions."""
    words: Mapping[int, int]
    """Number of words of a question, without punctuation -> questions."""
    functions: Mapping[int, int]
    """Number of functions in a program -> questions."""
    relations: Mapping[str, int]
    """Relation ("left", or "same color") -> questions that name it."""
    relations_a_question: Mapping[int, int]
    """Number of spatial relations that a question names -> questions."""
    objects: Mapping[int, int]
    """Number of objects in an image -> images."""
    values: Mapping[str, int]
    """Attribute value -> objects in the split's images."""
    pairs: Mapping[Pair, int]
    """Two values of two attributes -> objects in the split's images that have both."""
    images_with: Mapping[Pair, int]
    """Two values of two attributes -> images with an object that has both."""
    questions_an_image: Mapping[int, int]
    """Number of questions about an image -> images."""
    n_all_needed: int | None
    """Questions with relations that are all needed for the answer; None if no file says."""

    @property
    def answers(self) -> dict[str, int]:
        """Answer -> questions, most frequent first."""
        answers: Counter[str] = Counter()
        for each in self.answers_of_families.values():
            answers.update(each)
        return dict(sorted(answers.items(), key=lambda item: (-item[1], item[0])))

    @property
    def families(self) -> dict[int, int]:
        """Global index of the family -> questions."""
        return {family: sum(answers.values()) for family, answers in self.answers_of_families.items()}

    @property
    def n_objects(self) -> int:
        """Number of objects in all images of the split."""
        return sum(n_objects * n for n_objects, n in self.objects.items())

    @property
    def n_relational(self) -> int:
        """Number of questions with at least one spatial relation."""
        return sum(n for relations, n in self.relations_a_question.items() if relations)

    @property
    def all_needed(self) -> float:
        """Share of the questions with relations in which all of them are needed; nan if unknown."""
        if self.n_all_needed is None or not self.n_relational:
            return float("nan")
        return self.n_all_needed / self.n_relational

    @property
    def majority(self) -> tuple[str, float]:
        """The most frequent answer, and its share of the questions."""
        answer, n = next(iter(self.answers.items()), ("", 0))
        return answer, n / max(self.n_questions, 1)

    @property
    def majority_of_families(self) -> float:
        """Accuracy of guessing each family's most frequent answer."""
        return self.guessed_from(self)

    def guessed_from(self, other: "SplitStats", *, by_family: bool = True) -> float:
        """Accuracy of guessing the most frequent answers of another split, such as train; nan if empty.

        With `by_family`, families that the other split lacks get its overall most frequent answer.
        """
        if not self.n_questions:
            return float("nan")
        of_all = other.majority[0]
        right = 0
        for family, answers in self.answers_of_families.items():
            seen = other.answers_of_families.get(family, {}) if by_family else {}
            guess = min(seen, key=lambda answer: (-seen[answer], answer)) if seen else of_all
            right += answers.get(guess, 0)
        return right / self.n_questions


class QuestionTally:
    """Counts the properties of questions, which are added one by one or in blocks of arrays."""

    def __init__(self) -> None:
        self._answers: Counter[tuple[int, str]] = Counter()
        self._answer_types: Counter[str] = Counter()
        self._words: Counter[int] = Counter()
        self._functions: Counter[int] = Counter()
        self._relations: Counter[str] = Counter()
        self._relations_a_question: Counter[int] = Counter()
        self._images: Counter[int] = Counter()
        self._n_all_needed: int | None = None

    def add_arrays(self, rows: QuestionTable, vocab: Vocab) -> None:
        """Counts questions from a dataset's HDF5 files."""
        if not len(rows):
            return
        answers, tokens, words = vocab.answers(), vocab.programs(), vocab.questions()
        both = rows.question_families.astype(np.int64) * len(answers) + rows.answers
        for code, n in _counted(both).items():
            self._answers[code // len(answers), answers[code % len(answers)]] += n
        for token, n in _counted(rows.programs[:, 1]).items():  # in prefix order the last function is first
            self._answer_types[answer_type(tokens[token])] += n
        is_mark = np.array([not _WORD.fullmatch(word) for word in words])
        n_marks = is_mark[rows.questions].sum(axis=1)
        # Without <START> and <END>. A damaged row can have more punctuation marks than its length allows.
        self._words.update(_counted(np.maximum(rows.question_lengths - 2 - n_marks, 0)))
        self._functions.update(_counted(rows.program_lengths - 2))
        relations = sorted({relation for name in tokens if (relation := relation_of(name))})
        flags = np.array(
            [
                sum(1 << k for k, relation in enumerate(relations) if relation == relation_of(t))
                for t in tokens
            ],
            dtype=np.int64,
        )
        named = np.bitwise_or.reduce(flags[rows.programs], axis=1)
        for k, relation in enumerate(relations):
            self._relations[relation] += int((named >> k & 1).sum())
        is_spatial = np.array([name.startswith("relate[") for name in tokens])
        self._relations_a_question.update(_counted(is_spatial[rows.programs].sum(axis=1)))
        self._images.update(_counted(rows.image_idxs))
        needed = rows.relation_needed
        relational = (needed >= 0).any(axis=1)
        n_all_needed = int((relational & (needed != 0).all(axis=1)).sum())
        self._n_all_needed = (self._n_all_needed or 0) + n_all_needed

    def add(self, row: Mapping[str, Any]) -> None:
        """Counts a question in the format of CLEVR's question files, whose form was checked before."""
        program = [(step.get("function") or step["type"], *step["value_inputs"]) for step in row["program"]]
        names = [f"{step[0]}[{step[1]}]" if len(step) > 1 else step[0] for step in program]
        self._answers[int(row["question_family_index"]), str(row["answer"])] += 1
        self._answer_types[answer_type(names[-1])] += 1
        self._words[len(_WORD.findall(row["question"]))] += 1
        self._functions[len(names)] += 1
        self._relations.update({relation for name in names if (relation := relation_of(name))})
        self._relations_a_question[sum(name.startswith("relate[") for name in names)] += 1
        self._images[int(row["image_index"])] += 1

    def stats(self, split: str, pool: str, scenes: SceneCounts) -> SplitStats:
        """The statistics of the questions so far; `scenes` are those of the pool.

        Raises:
            DatasetError: a question is about an image without a scene.
        """
        objects, values, pairs, images_with = scenes.in_images(np.array(sorted(self._images), dtype=np.int32))
        families: dict[int, dict[str, int]] = {}
        for (family, answer), n in sorted(self._answers.items()):
            families.setdefault(family, {})[answer] = n
        return SplitStats(
            split=split,
            pool=pool,
            n_questions=sum(self._answers.values()),
            n_images=len(self._images),
            answers_of_families=families,
            answer_types=_sorted(self._answer_types),
            words=_sorted(self._words),
            functions=_sorted(self._functions),
            relations=_sorted(self._relations),
            relations_a_question=_sorted(self._relations_a_question),
            objects=objects,
            values={value: n for (_, value), n in values.items()},
            pairs=pairs,
            images_with=images_with,
            questions_an_image=_sorted(Counter(self._images.values())),
            n_all_needed=self._n_all_needed,
        )


class SceneTally:
    """Counts the content of scenes, which are added one by one."""

    def __init__(self) -> None:
        self._indices = array("i")
        self._starts = array("q", [0])
        self._looks = array("i")
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._combinations: list[tuple[Value, ...]] = []

    def add(self, index: int, objects: Iterable[tuple[tuple[str, str], ...]]) -> None:
        """Counts a scene; an object is given by its attributes and values, always in the same order."""
        self._indices.append(index)
        for look in objects:
            number = self._numbers.get(look)
            if number is None:
                number = self._numbers[look] = len(self._combinations)
                self._combinations.append(tuple(sorted(look)))
            self._looks.append(number)
        self._starts.append(len(self._looks))

    def counts(self) -> SceneCounts:
        """The counts of the scenes so far, sorted by index."""
        indices = np.array(self._indices, dtype=np.int32)
        starts = np.array(self._starts, dtype=np.int64)
        looks = np.array(self._looks, dtype=np.int32)
        return _sorted_scenes(indices, starts, looks, self._combinations)


def read_scene_counts(shards: Sequence[Path], attributes: Mapping[str, Sequence[str]]) -> SceneCounts:
    """Counts the objects of every scene in a pool's files, on all cores.

    `attributes` are the world's attributes with their values, as in the manifest.

    Raises:
        DatasetError: a file is missing or cut off, or a scene has values that are not in the world.
    """
    vocabulary = vocabulary_with(attributes)
    try:
        scenes = AuditScenes.read(vocabulary, list(shards))
    except SceneError as error:
        raise DatasetError(str(error)) from error
    return count_scenes(scenes, vocabulary.attribute_types)


def count_scenes(scenes: AuditScenes, types: Sequence[tuple[str, Sequence[str]]]) -> SceneCounts:
    """Counts scenes that have been read; `types` are attributes with their values by number."""
    sizes = [len(values) for _, values in types]
    codes = np.ravel_multi_index(tuple(scenes.attributes.T.astype(np.int64)), sizes)
    used, looks = np.unique(codes, return_inverse=True)
    combined = np.stack(np.unravel_index(used, sizes), axis=1).tolist()
    named = [
        tuple(sorted((kind, values[number]) for (kind, values), number in zip(types, numbers, strict=True)))
        for numbers in combined
    ]
    starts = np.concatenate([[0], np.cumsum(scenes.n_objects, dtype=np.int64)])
    return _sorted_scenes(scenes.indices.astype(np.int32), starts, looks, named)


def _sorted_scenes(
    indices: Ints, starts: npt.NDArray[np.int64], looks: npt.NDArray[Any], named: Sequence[tuple[Value, ...]]
) -> SceneCounts:
    order = np.argsort(indices, kind="stable")
    lengths, places = _object_places(starts, order)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return SceneCounts(indices[order], ends, looks[places].astype(np.int32), tuple(named))


def _object_places(
    starts: npt.NDArray[np.int64], rows: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number of objects in each of the scenes, and the indices of all their objects, scene by scene."""
    lengths = starts[rows + 1] - starts[rows]
    ends = np.cumsum(lengths)
    return lengths, np.arange(int(lengths.sum())) + np.repeat(starts[rows] - ends + lengths, lengths)


def measure_split(
    split: str, pool: str, rows: QuestionTable, *, vocab: Vocab, scenes: SceneCounts
) -> SplitStats:
    """The statistics of a split; `scenes` are those of its pool."""
    tally = QuestionTally()
    tally.add_arrays(rows, vocab)
    return tally.stats(split, pool, scenes)


_YES_NO = frozenset({"exist", "count_is", "and", "or", "not"})


def answer_type(last_function: str) -> str:
    """The answer type of a program's last function: "yes/no", "count", or the queried attribute."""
    name = last_function.partition("[")[0]
    if name.startswith("query_"):
        return name.removeprefix("query_")
    if name in _YES_NO or name.startswith(("equal_", "less_", "greater_", "verify_")):
        return "yes/no"
    return name


def relation_of(function: str) -> str:
    """The relation of `relate[left]` ("left") or `same_color` ("same color"); "" for other functions."""
    if function.startswith("relate["):
        return function[len("relate[") : -1]
    return function.replace("_", " ") if function.startswith("same_") else ""


def total_variation(a: Mapping[_Key, int], b: Mapping[_Key, int]) -> float:
    """Half the sum of the differences between two distributions' shares: 0 if alike, 1 if disjoint.

    Returns nan if one of them is empty.
    """
    n_a, n_b = sum(a.values()), sum(b.values())
    if not n_a or not n_b:
        return float("nan")
    # In whole numbers, because a sum of floats would depend on the order of a set.
    return sum(abs(a.get(key, 0) * n_b - b.get(key, 0) * n_a) for key in {*a, *b}) / (2 * n_a * n_b)


def total_variation_by_chance(a: Mapping[_Key, int], b: Mapping[_Key, int]) -> float:
    """The approximate total variation between two samples of these sizes from one distribution.

    That distribution is the two samples pooled. The difference of a share is taken as normal, with a mean
    absolute value of at most twice the share. Draws are assumed to be independent, so the result is a
    yardstick for small splits, not a test.
    """
    n_a, n_b = sum(a.values()), sum(b.values())
    if not n_a or not n_b:
        return float("nan")
    shares = [(a.get(key, 0) + b.get(key, 0)) / (n_a + n_b) for key in {*a, *b}]
    spread = 1 / n_a + 1 / n_b
    return sum(min(2 * p, sqrt(2 / pi * p * (1 - p) * spread)) for p in sorted(shares)) / 2


def images_shared(used: Sequence[Ints]) -> tuple[int, int]:
    """The number of distinct images in the lists, and of those that are in two lists or more."""
    if not used:
        return 0, 0
    _, counts = np.unique(np.concatenate(used), return_counts=True)
    return len(counts), int((counts > 1).sum())


def _counted(values: npt.NDArray[Any]) -> dict[int, int]:
    """The number of occurrences of each non-negative integer that occurs."""
    counts = np.bincount(values)
    return {value: n for value, n in enumerate(counts.tolist()) if n}


def _sorted(counts: Mapping[Any, int]) -> dict[Any, int]:
    return {key: counts[key] for key in sorted(counts) if counts[key]}
