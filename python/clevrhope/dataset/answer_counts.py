"""The most frequent answers of train questions, by group, and COVR's baselines Maj and MajTempl (table 6)."""

import numpy as np

from clevrhope.dataset.question_kinds import Numbers
from clevrhope.dataset.questions_h5 import Ints


def answer_counts(answers: Numbers, groups: Numbers, n_groups: int, n_answers: int) -> Numbers:
    """(G, A) how often each answer occurs among the questions of each group."""
    counts = np.zeros((n_groups, n_answers), dtype=np.int64)
    np.add.at(counts, (groups, answers), 1)
    return counts


def most_frequent(counts: Numbers) -> Ints:
    """(G,) the most frequent answer of each group, the first one in a tie; of no questions, that of all."""
    most: Ints = np.where(counts.any(axis=1), counts.argmax(axis=1), counts.sum(axis=0).argmax())
    return most.astype(np.int32)


def maj(counts: Numbers) -> int:
    """Maj's answer to every question: the most frequent one in train; the first one in a tie."""
    return int(counts.sum(axis=0).argmax())


def maj_templ(counts: Numbers, templates: Numbers, offered: Numbers) -> Numbers:
    """(N,) MajTempl's answers.

    Args:
        counts: (T, A) those of `answer_counts`, by template.
        templates: (N,) the questions' templates.
        offered: (N, 2) the two answers that a choose question offers, of which MajTempl gives the more
            frequent one; -1 in the rows of other questions. For a template without train questions, it gives
            Maj's answer.
    """
    of_template = most_frequent(counts)[templates]
    counts = np.where(counts.any(axis=1, keepdims=True), counts, counts.sum(axis=0))
    n_first, n_second = (counts[templates, answers] for answers in offered.T)
    chosen = np.where(n_first >= n_second, offered[:, 0], offered[:, 1])
    answers: Numbers = np.where(offered[:, 0] < 0, of_template, chosen)
    return answers
