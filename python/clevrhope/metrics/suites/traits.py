"""Properties of a suite's tests that affect how to read their scores; they depend only on the questions."""

from collections.abc import Iterator, Mapping

import numpy as np

from clevrhope.dataset.pairs_h5 import TIERS, PairFile
from clevrhope.metrics.pairs import AnswerSet
from clevrhope.metrics.pairs.relations import Flags
from clevrhope.metrics.suites.results import Constant


def constants(file: PairFile, chosen: Flags, answers: AnswerSet) -> Mapping[str, Constant]:
    """For each test with only yes/no partners, the constant answer that is right most often about them.

    Args:
        file: the K pairs of a suite on a split.
        chosen: (K,) the pairs that are scored.
        answers: the vocabulary.
    """
    found = {}
    right = file.rows.answers[1::2]
    for test, pairs in _pairs_by_test(file, chosen):
        n_yes, n_no = (int((right[pairs] == each).sum()) for each in (answers.yes, answers.no))
        n = int(pairs.sum())
        if n_yes + n_no == n:
            answer, n_right = max(("yes", n_yes), ("no", n_no), key=lambda each: each[1])
            found[test] = Constant(answer, 100 * n_right / n)
    return found


def entailments(file: PairFile, chosen: Flags, answers: AnswerSet) -> tuple[str, ...]:
    """The tests in which yes is the right answer to every question; takes the arguments of `constants`."""
    return _tests_of(file, chosen, (file.rows.answers.reshape(-1, 2) == answers.yes).all(axis=1))


def beyond(file: PairFile, chosen: Flags) -> tuple[str, ...]:
    """The tests whose pairs all use words or functions that the dataset lacks."""
    return _tests_of(file, chosen, file.rows.tier[::2] == TIERS.index("beyond"))


def same_programs(file: PairFile, chosen: Flags) -> tuple[str, ...]:
    """The tests in which both questions of every pair have the same program and the same image."""
    programs, images = file.rows.programs, file.rows.image_idxs
    same = (programs[::2] == programs[1::2]).all(axis=1) & (images[::2] == images[1::2])
    return _tests_of(file, chosen, same)


def _tests_of(file: PairFile, chosen: Flags, having: Flags) -> tuple[str, ...]:
    """The tests whose chosen pairs all have the flag `having`; flags are (K,)."""
    return tuple(test for test, pairs in _pairs_by_test(file, chosen) if having[pairs].all())


def _pairs_by_test(file: PairFile, chosen: Flags) -> Iterator[tuple[str, Flags]]:
    """Each test that has chosen pairs, with the (K,) flags of these pairs."""
    tests = file.rows.test[::2]
    for number, name in enumerate(file.tests):
        pairs: Flags = chosen & (tests == number)
        if pairs.any():
            yield name, np.asarray(pairs)
