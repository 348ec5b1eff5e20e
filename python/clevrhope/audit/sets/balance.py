"""The check that answer frequencies, the source's position and the sizes of sets do not give answers away.

It looks only at cells with enough questions for a difference to be meaningful; a small folder has none.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import SetFile
from clevrhope.audit.report import CheckResult
from clevrhope.dataset.question_kinds import STRUCTURES
from clevrhope.dataset.split_files import SetArrays, Vocab

LEAST_QUESTIONS = 1_000
"""Least number of questions in a cell that is checked."""

MOST_POINTS = 2.0
"""Largest difference, in percentage points, between a share and an even share."""

MOST_RIGHT = 55.0
"""Largest percentage of yes/no questions that the best threshold on a size may answer, unless by chance."""

_DEVIATIONS = 4
"""Standard deviations by which a share may be off, if it is left to chance."""

_OPPOSITES = (("left", "right"), ("behind", "front"))

Column = npt.NDArray[np.integer[Any]]


class BalanceCheck:
    """The check of balance, split by split."""

    def __init__(self, vocab: Vocab, check: CheckResult) -> None:
        self._check, self._names = check, vocab.answer_names
        self._kinds = np.full(1 + max(self._names, default=0), "", dtype=object)
        """By answer, its type: answers of one type are compared with each other."""
        for kind, answers in _types(vocab):
            for answer in answers:
                self._kinds[vocab.answers.get(answer, 0)] = kind
        self._closed = {kind: sorted(answers) for kind, answers in _types(vocab) if kind != "number"}
        """Answers of each type, all of which are to occur; of numbers those that occur are to be even."""

    def check_split(self, split: SetFile, arrays: SetArrays, sizes: Column) -> None:
        """Checks a split of N questions; `sizes` (N, 3) are images, objects in them, and in the source."""
        templates, structures, answers, sources = (
            arrays.columns[name] for name in ("question_families", "structures", "answers", "sources")
        )
        cells = np.stack([templates, structures], axis=1)
        in_range = (templates >= 0) & (templates < len(arrays.templates))
        in_range &= (structures >= 0) & (structures < len(STRUCTURES))
        for template, structure in np.unique(cells[in_range], axis=0).tolist():
            is_of_cell = (templates == template) & (structures == structure)
            name = f"{arrays.templates[template]}, {STRUCTURES[structure]}"
            self._check_answers(split, name, answers[is_of_cell])
        for n in np.unique(sizes[:, 0]).tolist():
            self._check_places(split, n, sources[sizes[:, 0] == n])
        for template in np.unique(templates[in_range]).tolist():
            is_of_template = templates == template
            is_yes = self._yes(answers[is_of_template])
            for what, column in (("objects", 1), ("objects in the source", 2), ("images", 0)):
                if is_yes is not None:
                    name, of_template = arrays.templates[template], sizes[is_of_template, column]
                    self._check_sizes(split, name, what, of_template, is_yes)

    def _check_answers(self, split: SetFile, cell: str, answers: Column) -> None:
        kinds = self._kinds[np.clip(answers, 0, len(self._kinds) - 1)]
        for kind in sorted(set(kinds.tolist()) - {""}):
            found = Counter(self._names[each] for each in answers[kinds == kind].tolist())
            n = found.total()
            if n < LEAST_QUESTIONS:
                continue
            self._check.n_checked += 1
            known = sorted(found) if split.hop.palette else self._closed.get(kind, sorted(found))
            for answer in known:
                points = 100 * (found[answer] / n - 1 / len(known))
                if abs(points) > MOST_POINTS:
                    problem = f"{cell}: {found[answer]} of {n} answers of its type, {points:+.1f} points off"
                    self._check.fault(split.file, None, problem, answer)

    def _check_places(self, split: SetFile, n_images: int, sources: Column) -> None:
        n = len(sources)
        if n < LEAST_QUESTIONS or n_images < 1:
            return
        self._check.n_checked += 1
        even = 1 / n_images
        limit = max(MOST_POINTS, 100 * _DEVIATIONS * (even * (1 - even) / n) ** 0.5)
        for place in range(n_images):
            points = 100 * (float((sources == place).mean()) - even)
            if abs(points) > limit:
                problem = f"sets of {n_images} images: the source is at this place {points:+.1f} points off"
                self._check.fault(split.file, None, problem, place)

    def _check_sizes(
        self, split: SetFile, template: str, what: str, sizes: Column, is_yes: npt.NDArray[np.bool_]
    ) -> None:
        if len(sizes) < LEAST_QUESTIONS:
            return
        self._check.n_checked += 1
        per_cent = best_threshold(sizes, is_yes)
        if per_cent > max(MOST_RIGHT, 50 + 100 * _DEVIATIONS * 0.5 / len(sizes) ** 0.5):
            problem = f"{template}: the number of {what} alone tells yes from no in per cent"
            self._check.fault(split.file, None, problem, round(per_cent, 1))

    def _yes(self, answers: Column) -> npt.NDArray[np.bool_] | None:
        """(N,) whether each answer is yes; None unless all are yes or no."""
        names = np.asarray([self._names.get(each, "") for each in answers.tolist()])
        return names == "yes" if np.isin(names, ("yes", "no")).all() else None


def best_threshold(sizes: Column, is_yes: npt.NDArray[np.bool_]) -> float:
    """Percentage of answers that the best threshold rule gets right: yes from some size on, or up to it."""
    by_size = np.bincount(sizes, weights=np.where(is_yes, 1.0, -1.0))
    below = np.cumsum(np.append(0.0, by_size))  # yes minus no, below each threshold
    right = (below[-1] - 2 * below) / 2  # right answers minus half of all, for yes from a threshold on
    return float(50 + 100 * np.abs(right).max() / len(sizes))


def _types(vocab: Vocab) -> Iterator[tuple[str, list[str]]]:
    """The types of answers, each with its answers."""
    by_kind: dict[str, list[str]] = {}
    for kind, value in vocab.values():
        by_kind.setdefault(kind, []).append(value)
    yield "truth", ["no", "yes"]
    yield "number", [name for name in vocab.answers if name.isdigit()]
    yield from by_kind.items()
    for pair in _OPPOSITES:
        yield " or ".join(pair), [*pair]
