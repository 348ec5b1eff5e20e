"""COVR's two baselines of frequent answers, Maj and MajTempl (its table 6)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.integer[Any]]


def source_images(image_idxs: Numbers, sources: Numbers) -> Numbers:
    """(N,) the scene index of each question's source image, from (N, 5) images and (N,) indices into them."""
    images: Numbers = image_idxs[np.arange(len(sources)), sources]
    return images


@dataclass(frozen=True)
class FrequentAnswers:
    """The most frequent answers of a train set.

    Attributes:
        counts: (T, A) how often each answer occurs among the questions of each template.
    """

    counts: npt.NDArray[np.int64]

    @property
    def answer(self) -> int:
        """The most frequent answer over all questions; the first one in a tie."""
        return int(self.counts.sum(axis=0).argmax())

    def maj(self, templates: Numbers) -> npt.NDArray[np.int64]:
        """(N,) Maj's answers to questions with these (N,) templates."""
        return np.full(len(templates), self.answer)

    def maj_templ(self, templates: Numbers, offered: Numbers) -> npt.NDArray[np.int64]:
        """(N,) MajTempl's answers.

        Args:
            templates: (N,) the questions' templates.
            offered: (N, 2) the two answers that a choose question offers, of which MajTempl gives the more
                frequent one; -1 in the rows of other questions. For a template without train questions, it
                gives Maj's answer.
        """
        counts = np.where(self.counts.any(axis=1, keepdims=True), self.counts, self.counts.sum(axis=0))
        of_template = counts.argmax(axis=1)[templates]
        n_first, n_second = (counts[templates, answers] for answers in offered.T)
        chosen = np.where(n_first >= n_second, offered[:, 0], offered[:, 1])
        answers: npt.NDArray[np.int64] = np.where(offered[:, 0] < 0, of_template, chosen)
        return answers


def frequent_answers(
    answers: Numbers, templates: Numbers, *, n_templates: int, n_answers: int
) -> FrequentAnswers:
    """The most frequent answers of N >= 1 train questions."""
    counts = np.zeros((n_templates, n_answers), dtype=np.int64)
    np.add.at(counts, (templates, answers), 1)
    return FrequentAnswers(counts)
