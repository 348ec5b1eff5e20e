"""COVR's two baselines of frequent answers, Maj and MajTempl (its table 6)."""

from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.integer[Any]]


def answer_counts(answers: Numbers, templates: Numbers, *, n_templates: int, n_answers: int) -> Numbers:
    """(T, A) how often each answer occurs among the train questions of each template."""
    counts = np.zeros((n_templates, n_answers), dtype=np.int64)
    np.add.at(counts, (templates, answers), 1)
    return counts


def maj(counts: Numbers) -> int:
    """Maj's answer to every question: the most frequent one in train; the first one in a tie."""
    return int(counts.sum(axis=0).argmax())


def maj_templ(counts: Numbers, templates: Numbers, offered: Numbers) -> Numbers:
    """(N,) MajTempl's answers.

    Args:
        counts: those of `answer_counts`.
        templates: (N,) the questions' templates.
        offered: (N, 2) the two answers that a choose question offers, of which MajTempl gives the more
            frequent one; -1 in the rows of other questions. For a template without train questions, it gives
            Maj's answer.
    """
    counts = np.where(counts.any(axis=1, keepdims=True), counts, counts.sum(axis=0))
    of_template = counts.argmax(axis=1)[templates]
    n_first, n_second = (counts[templates, answers] for answers in offered.T)
    chosen = np.where(n_first >= n_second, offered[:, 0], offered[:, 1])
    answers: Numbers = np.where(offered[:, 0] < 0, of_template, chosen)
    return answers
