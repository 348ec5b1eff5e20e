"""Levels of difficulty of questions, as levels.toml defines them, and rewards that need no image."""

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from clevrhope._core import AuditScenes
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.dataset.question_kinds import MARKS
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS
from clevrhope.errors import ConfigError, DatasetError, SceneError


class Floor(NamedTuple):
    """The mean reward, from 0 to 1, of marked answers that need no image.

    The most frequent answer is found on the questions that it is measured on. So that few questions do not
    give it away, one question that has it counts as the one that shows it, and is not rewarded.
    """

    yes: float
    """Of always yes."""
    most_frequent: float
    """Of always the most frequent answer."""
    by_function: float
    """Of the most frequent answer to questions with the same last function, such as `query_color`."""
    random: float
    """Of an answer drawn from all that are allowed."""


@cache
def _definition() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "levels.toml").read_text("utf-8"))


def levels_of(table: QuestionTable, n_objects: Ints) -> Ints:
    """(N,) the level of each question of a table, from 1 to 4.

    Args:
        table: the questions.
        n_objects: (N,) number of objects in the question's image, or in all images of its set.

    Raises:
        DatasetError: a question has no program.
    """
    definition = _definition()
    if (table.program_lengths <= len(MARKS)).any():
        raise DatasetError(
            f"{table.hop}/{table.split}: the level of a question depends on its program, and some have none; "
            "leave levels out"
        )
    reached = {"functions": table.program_lengths - len(MARKS), "objects": n_objects}
    thresholds = definition["sets" if table.kind.of_sets else "single"]
    points = sum(reached[name] >= least for name in reached for least in thresholds[name])
    levels: Ints = 1 + np.searchsorted(definition["points"], points, side="right")
    return levels.astype(np.int32)


def read_levels(layout: Layout, table: QuestionTable) -> Ints:
    """(N,) the level of each question of a table; the dataset's scene files give the numbers of objects.

    Raises:
        DatasetError: a scene is missing, or a scene file is damaged.
    """
    vocabulary = vocabulary_with(existing_manifest(layout.manifest).world["attributes"])
    try:
        scenes = AuditScenes.read(vocabulary, layout.scene_files(table.pool))
    except SceneError as error:
        raise DatasetError(str(error)) from error
    missing = np.setdiff1d(table.scenes, scenes.indices)
    if len(missing):
        raise DatasetError(
            f"{layout.scenes(table.pool)}: scene {missing[0]} is missing, and the level depends on "
            "the number of objects; restore the file, or leave levels out"
        )
    in_scene = np.zeros(scenes.indices.max(initial=0) + 2, dtype=np.int32)  # the last is for ABSENT, -1
    in_scene[scenes.indices] = scenes.n_objects
    return levels_of(table, in_scene[table.image_idxs].reshape(len(table), -1).sum(axis=1))


def check_levels(levels: Sequence[int], suite: str | None) -> None:
    """Raises ConfigError for levels of a suite, whose pairs would lose one of their two questions."""
    if suite is not None and levels:
        raise ConfigError(f"levels: the pairs of {suite} have none; leave out suite or levels")


def rows_on(levels: Ints, chosen: Sequence[int], place: str) -> list[int]:
    """The rows of the questions on the chosen levels, in order.

    Args:
        levels: (N,) the level of each question.
        chosen: the levels; at least one.
        place: names the questions in messages.

    Raises:
        ConfigError: no question is on one of them; says on which there are questions.
    """
    there = np.unique(levels).tolist()
    for level in chosen:
        if level not in there:
            raise ConfigError(
                f"{place}: no question is on level {level}; there are questions on level "
                f"{', '.join(map(str, there))}"
            )
    rows: list[int] = np.flatnonzero(np.isin(levels, chosen)).tolist()
    return rows


def floors(table: QuestionTable, levels: Ints) -> dict[int, Floor]:
    """What answers that need no image earn on each level that questions of a table are on.

    Args:
        table: the questions, with a vocabulary.
        levels: (N,) their levels.
    """
    assert table.vocab is not None
    functions = [function.partition("[")[0] for function in table.vocab.programs()]
    number_of = np.array([functions.index(function) for function in functions])
    last = np.concatenate([number_of[programs[:, 1]] for _, _, programs in table.blocks()])
    names = table.vocab.answers()
    n_allowed = sum(name not in SPECIAL_TOKENS for name in names)
    found = {}
    for level in np.unique(levels).tolist():
        answers, asked = table.answers[levels == level], last[levels == level]
        groups, of_group = np.unique(asked, return_inverse=True)
        counts = np.zeros((len(groups), len(names)), dtype=np.int64)
        np.add.at(counts, (of_group, answers), 1)
        found[level] = Floor(
            yes=float(np.mean(answers == names.index("yes"))) if "yes" in names else 0.0,
            most_frequent=float((counts.sum(axis=0).max() - 1) / len(answers)),
            by_function=float((counts.max(axis=1) - 1).sum() / len(answers)),
            random=1 / n_allowed,
        )
    return found
