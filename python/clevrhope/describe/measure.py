"""Measurements of finished question and scene files, as measured.json has them.

Everything is counted in the files, and nothing is taken from the settings that made them.
"""

import re
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


def _named(families: FamilyNames, index: int) -> tuple[str, int]:
    """Template file without its suffix, and index in it; ("family", index) if it has no name."""
    file, place = families.get(index, ("family", index))
    return file.removesuffix(".json"), place


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
    indices = scenes.indices.astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(scenes.n_objects, dtype=np.int64)])
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
    """The measurements of a split, with the keys that it has in measured.json.

    Args:
        pool: the pool of its images.
        rows: its questions.
        vocab: their vocabulary.
        scenes: the scenes of the pool; None if they are not known, and then nothing is said of objects.
        families: the names of families.

    Raises:
        DatasetError: a question is about an image without a scene.
    """
    images = counted(rows.image_idxs)
    objects, values, pairs, images_with = (
        ({}, {}, {}, {}) if scenes is None else scenes.in_images(np.array([*images], dtype=np.int32))
    )
    names, tokens = vocab.answers(), vocab.programs()
    of_codes = counted(rows.question_families.astype(np.int64) * len(names) + rows.answers)
    of_families: dict[int, dict[str, int]] = {}
    answers: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for family, answer, n in sorted(
        (code // len(names), names[code % len(names)], n) for code, n in of_codes.items()
    ):
        answers[answer] += n
        if family >= 0:  # published files may not say it
            of_families.setdefault(family, {})[answer] = n
            files[_named(families, family)[0]] += n
    has_program = rows.program_lengths > 2  # published files may not say it
    programs = rows.programs[has_program]
    answer_types: Counter[str] = Counter()
    for token, n in counted(programs[:, 1:2]).items():  # the last function is first
        answer_types[answer_type(tokens[token])] += n
    relations = {
        relation: int(np.isin(programs, numbers).any(axis=1).sum())
        for relation, numbers in _grouped(map(relation_of, tokens)).items()
        if relation
    }
    spatial = [number for number, name in enumerate(tokens) if name.startswith("relate[")]
    is_mark = np.array([not _WORD.fullmatch(word) for word in vocab.questions()], dtype=bool)
    # Without <START> and <END>. A damaged row can have more punctuation marks than its length allows.
    n_words = np.maximum(rows.question_lengths - 2 - is_mark[rows.questions].sum(axis=1), 0)
    needed = rows.arrays().get("relation_needed")
    n_all_needed = None
    if needed is not None and len(rows):
        n_all_needed = int(((needed >= 0).any(axis=1) & (needed != 0).all(axis=1)).sum())
    return {
        "pool": pool,
        "questions": len(rows),
        "images": len(images),
        "objects": sum(n_objects * n for n_objects, n in objects.items()),
        "answers": dict(sorted(answers.items(), key=lambda item: (-item[1], item[0]))),
        "answer_types": _sorted(answer_types),
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
        "words": counted(n_words),
        "functions": counted(rows.program_lengths[has_program] - 2),
        "relations": _sorted(relations),
        "relations_a_question": counted(np.isin(programs, spatial).sum(axis=1)),
        "questions_with_all_relations_needed": n_all_needed,
        "objects_an_image": objects,
        "questions_an_image": _sorted(Counter(images.values())),
        "values": {value: n for (_, value), n in values.items()},
        "pairs": [
            {"values": dict(pair), "objects": n, "images": images_with[pair]} for pair, n in pairs.items()
        ],
    }


def _grouped(names: Iterable[str]) -> dict[str, list[int]]:
    """Name -> the places that have it."""
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        found.setdefault(name, []).append(place)
    return found


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
