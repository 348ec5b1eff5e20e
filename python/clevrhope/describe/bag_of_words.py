"""How often the words of questions give their answers away, whatever their order and without an image."""

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.questions_h5 import Ints

Floats = npt.NDArray[np.float64]

MOST_WORDS = 4_000
"""The most words of a fit, whose time grows with their cube; templates have about a hundred."""

_PENALTY = 1.0
"""Of the squared weights, in a loss that is summed over the questions."""

_STEPS = 8
"""Newton's method converges in fewer."""

_TIE = 1e-6
"""A score that is not above this is no reason to answer yes."""


def n_right(questions: Ints, is_yes: npt.NDArray[np.bool_], images: Ints) -> int | None:
    """The number of yes/no questions that a logistic regression on counts of words answers.

    It is trained on the questions about one half of the images (every other image, by number) and tested on
    those about the other half, both ways. None if there is only one image, or more than `MOST_WORDS` words.

    Args:
        questions: (N, W) the numbers of the words, in any order.
        is_yes: (N,) the right answers.
        images: (N,) the questions' images.
    """
    _, ranks = np.unique(images, return_inverse=True)
    halves = ranks % 2
    if len(np.unique(halves)) < 2 or len(np.unique(questions)) > MOST_WORDS:
        return None
    counts = _counts(questions)  # (N, V)
    found = 0
    for half in (0, 1):
        trained, tested = halves == half, halves != half
        weights = _fit(counts[trained], is_yes[trained])
        found += int(((counts[tested] @ weights > _TIE) == is_yes[tested]).sum())
    return found


def _counts(questions: Ints) -> Floats:
    """(N, V) the number of each word in each question, and a column of ones."""
    known, places = np.unique(questions, return_inverse=True)
    places = places.reshape(questions.shape)
    counts = np.zeros((len(questions), len(known) + 1))
    np.add.at(counts, (np.arange(len(questions))[:, None], places), 1)
    counts[:, -1] = 1
    return counts


def _fit(counts: Floats, is_yes: npt.NDArray[np.bool_]) -> Floats:
    """(V,) the weights of a logistic regression with a ridge penalty, by Newton's method."""
    weights = np.zeros(counts.shape[1])
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-np.clip(counts @ weights, -30, 30)))
        slope = counts.T @ (is_yes - chances) - _PENALTY * weights
        curvature = (counts.T * (chances * (1 - chances))) @ counts + _PENALTY * np.eye(len(weights))
        weights = weights + np.linalg.solve(curvature, slope)
    return weights
