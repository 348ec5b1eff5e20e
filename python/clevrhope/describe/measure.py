"""Measurements of finished question and scene files, as measured.json has them.

Everything is counted in the files, and nothing is taken from the settings that made them. Questions are
counted in blocks and scenes one by one, so that a split of the paper's size needs no more memory than a small
one.
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditScenes
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import DatasetError, SceneError
from clevrhope.scenes.descriptions import ObjectPart

Value: TypeAlias = tuple[str, str]
"""Attribute type and value: ("shape", "cube")."""

FamilyNames: TypeAlias = Mapping[int, tuple[str, int]]
"""`question_family_index` -> template file and index in it."""

Pair: TypeAlias = tuple[Value, Value]
"""Two values of two attributes, sorted."""

_WORD = re.compile(r"[^\s;,?.]+")


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

    def shows(self, description: Iterable[ObjectPart]) -> npt.NDArray[np.bool_]:
        """(S,) whether each scene shows what all parts of a description say."""
        found = np.ones(len(self.indices), dtype=bool)
        for part in description:
            fits = np.array([part.values <= {*look} for look in self.combinations], dtype=bool)
            n_before = np.concatenate([[0], np.cumsum(fits[self.looks])])
            n = n_before[self.starts[1:]] - n_before[self.starts[:-1]]
            found &= (part.least <= n) & (n <= part.most)
        return found

    def in_images(
        self, images: Ints
    ) -> tuple[dict[int, int], dict[Value, int], dict[Pair, int], dict[Pair, int]]:
        """Counts the content of images (N,), given by unique index.

        Returns:
            Number of objects -> images, then the objects with each value and with both of each pair, and the
            images that show such an object.

        Raises:
            DatasetError: an image has no scene.
        """
        is_known = np.isin(images, self.indices)
        if not is_known.all():
            raise DatasetError(f"no scene has index {images[~is_known][0]}, though questions ask about it")
        lengths, places = _object_places(self.starts, self.rows(images))
        looks = self.looks[places]
        image_of = np.repeat(np.arange(len(images)), lengths)  # of each of these objects
        values: Counter[Value] = Counter()
        pairs: Counter[Pair] = Counter()
        for number, n in counted(looks).items():
            values.update(dict.fromkeys(self.combinations[number], n))
            pairs.update(dict.fromkeys(combinations(self.combinations[number], 2), n))
        images_with = {}
        for pair in pairs:
            has_pair = np.array([set(pair) <= set(look) for look in self.combinations])
            images_with[pair] = len(np.unique(image_of[has_pair[looks]]))
        return counted(lengths), _sorted(values), _sorted(pairs), images_with


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
        answers = vocab.answers()
        tokens = vocab.programs()
        both = rows.question_families.astype(np.int64) * len(answers) + rows.answers
        for code, n in counted(both).items():
            self._answers[code // len(answers), answers[code % len(answers)]] += n
        has_program = rows.program_lengths > 2  # published files may not say it
        for token, n in counted(rows.programs[has_program, 1]).items():  # the last function is first
            self._answer_types[answer_type(tokens[token])] += n
        is_mark = np.array([not _WORD.fullmatch(word) for word in vocab.questions()])
        n_marks = is_mark[rows.questions].sum(axis=1)
        # Without <START> and <END>. A damaged row can have more punctuation marks than its length allows.
        self._words.update(counted(np.maximum(rows.question_lengths - 2 - n_marks, 0)))
        self._functions.update(counted(rows.program_lengths[has_program] - 2))
        relations = sorted({relation for name in tokens if (relation := relation_of(name))})
        flags = np.array(
            [
                sum(1 << k for k, relation in enumerate(relations) if relation == relation_of(t))
                for t in tokens
            ],
            dtype=np.int64,
        )
        programs = rows.programs[has_program]
        named = np.bitwise_or.reduce(flags[programs], axis=1)
        for k, relation in enumerate(relations if has_program.any() else ()):
            self._relations[relation] += int((named >> k & 1).sum())
        is_spatial = np.array([name.startswith("relate[") for name in tokens])
        self._relations_a_question.update(counted(is_spatial[programs].sum(axis=1)))
        self._images.update(counted(rows.image_idxs))
        needed = rows.arrays().get("relation_needed")
        if needed is None:
            return
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

    def measured(self, pool: str, scenes: SceneCounts | None, families: FamilyNames) -> dict[str, Any]:
        """The measurements of the questions so far, with the keys of a split in measured.json.

        Args:
            pool: the pool of their images.
            scenes: the scenes of the pool; None if they are not known, and then nothing is said of objects.
            families: the names of families.

        Raises:
            DatasetError: a question is about an image without a scene.
        """
        objects, values, pairs, images_with = (
            ({}, {}, {}, {})
            if scenes is None
            else scenes.in_images(np.array(sorted(self._images), dtype=np.int32))
        )
        of_families: dict[int, dict[str, int]] = {}
        answers: Counter[str] = Counter()
        files: dict[str, int] = {}
        for (family, answer), n in sorted(self._answers.items()):
            answers[answer] += n
            if family < 0:
                continue  # published files may not say it
            of_families.setdefault(family, {})[answer] = n
            file = _named(families, family)[0]
            files[file] = files.get(file, 0) + n
        return {
            "pool": pool,
            "questions": self._answers.total(),
            "images": len(self._images),
            "objects": sum(n_objects * n for n_objects, n in objects.items()),
            "answers": dict(sorted(answers.items(), key=lambda item: (-item[1], item[0]))),
            "answer_types": _sorted(self._answer_types),
            "files": files,
            "families": [
                {
                    "question_family_index": index,
                    "file": _named(families, index)[0],
                    "place": _named(families, index)[1],
                    "questions": sum(of_family.values()),
                    "answers": of_family,
                }
                for index, of_family in of_families.items()
            ],
            "words": _sorted(self._words),
            "functions": _sorted(self._functions),
            "relations": _sorted(self._relations),
            "relations_a_question": _sorted(self._relations_a_question),
            "questions_with_all_relations_needed": self._n_all_needed,
            "objects_an_image": objects,
            "questions_an_image": _sorted(Counter(self._images.values())),
            "values": {value: n for (_, value), n in values.items()},
            "pairs": [
                {"values": dict(pair), "objects": n, "images": images_with[pair]} for pair, n in pairs.items()
            ],
        }


def _named(families: FamilyNames, index: int) -> tuple[str, int]:
    """Template file without its suffix, and index in it; ("family", index) if it has no name."""
    file, place = families.get(index, ("family", index))
    return file.removesuffix(".json"), place


def count_objects(scenes: Iterable[tuple[int, Iterable[Iterable[Value]]]]) -> SceneCounts:
    """Counts scenes that come one by one, each as its index and the attributes and values of its objects."""
    indices = array("i")
    starts = array("q", [0])
    looks = array("i")
    numbers: dict[tuple[Value, ...], int] = {}
    for index, objects in scenes:
        indices.append(index)
        looks.extend(numbers.setdefault(tuple(sorted(look)), len(numbers)) for look in objects)
        starts.append(len(looks))
    return _sorted_scenes(np.array(indices), np.array(starts), np.array(looks), list(numbers))


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
    pool: str, rows: QuestionTable, *, vocab: Vocab, scenes: SceneCounts | None, families: FamilyNames
) -> dict[str, Any]:
    """The measurements of a split; `scenes` are those of its pool, if they are known."""
    tally = QuestionTally()
    tally.add_arrays(rows, vocab)
    return tally.measured(pool, scenes, families)


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


def counted(numbers: npt.NDArray[np.integer[Any]]) -> dict[int, int]:
    """The number of occurrences of each integer that occurs, in ascending order."""
    values, counts = np.unique(numbers, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _sorted(counts: Mapping[Any, int]) -> dict[Any, int]:
    return {key: counts[key] for key in sorted(counts) if counts[key]}
