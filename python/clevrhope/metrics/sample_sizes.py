"""How many questions of a split an interval of a given width needs.

Questions about one image are correlated, so more are needed than if they were independent. How many times
more, the design effect, depends on the model. Here it is that of a text baseline, which gives each question
the most frequent answer of its family in the split: its mistakes are as correlated as the answers of one
image are. Source: Kish, "Survey Sampling" (1965), section 8.2.
"""

from collections.abc import Sequence
from math import ceil, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.question_kinds import kind_of
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ConfigError
from clevrhope.metrics.answer_key import AnswerKey, drawn_images

_Z = 1.959963984540054
"""The normal deviate of a two-sided interval at 95%."""


class SampleSize(NamedTuple):
    """The questions of a split that are asked."""

    n: int
    of: int
    """All that there are."""
    half_width: float
    """What n of them give, in percentage points, at an accuracy of 50%."""
    design_effect: float


def sample_sizes(
    folder: Path | str, chosen: Sequence[tuple[str, str]], half_width: float
) -> dict[tuple[str, str], SampleSize]:
    """How many questions of each (HOP, split) give an interval at 95% of a half-width, at an accuracy of 50%.

    Args:
        folder: a dataset that `build` wrote.
        chosen: the splits.
        half_width: in percentage points, above 0 and at most 50.

    Raises:
        ConfigError: the half-width is out of range.
        DatasetError: a file of questions is missing or incomplete.
    """
    if not 0 < half_width <= 50:
        raise ConfigError(f"--half-width: {half_width:g} should be a number of points above 0 and at most 50")
    kinds = {kind_of(split).name: kind_of(split) for _, split in chosen}
    keys = {name: AnswerKey(folder, kind) for name, kind in kinds.items()}
    sizes = {}
    for hop, split in chosen:
        key = keys[kind_of(split).name]
        table = key.test_set(hop, split)
        units = drawn_images(table) // key.images_of_a_unit(table.pool, split)
        effect = design_effect(_guessed_right(table.question_families, table.answers), units)
        n = min(ceil(effect * (50 * _Z / half_width) ** 2), len(table))
        sizes[hop, split] = SampleSize(n, len(table), 50 * _Z * sqrt(effect / n), effect)
    return sizes


def design_effect(is_right: npt.NDArray[np.bool_], units: Ints) -> float:
    """How many times larger the variance of an accuracy is than with independent questions; at least 1.

    Args:
        is_right: (N,) whether each question is answered right.
        units: (N,) the images that they are about, or the sets of images that are drawn together.
    """
    errors = is_right - is_right.mean()
    _, at = np.unique(units, return_inverse=True)
    independent = float(np.square(errors).sum())
    clustered = float(np.square(np.bincount(at, weights=errors)).sum())
    return max(1.0, clustered / independent) if independent else 1.0


def _guessed_right(families: Ints, answers: Ints) -> npt.NDArray[np.bool_]:
    """(N,) whether the most frequent answer of each question's family is right."""
    names, at = np.unique(families, return_inverse=True)
    counts = np.zeros((len(names), int(answers.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(counts, (at, answers), 1)
    guessed_right: npt.NDArray[np.bool_] = counts.argmax(axis=1)[at] == answers
    return guessed_right
