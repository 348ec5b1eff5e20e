"""Which questions of a suite's pairs and of its splits each run answers correctly, for comparing runs."""

from dataclasses import dataclass

import numpy as np

from clevrhope.dataset.question_kinds import TIERS
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.collector import NOT_GIVEN, Collector
from clevrhope.metrics.pairs.relations import Flags
from clevrhope.metrics.rows import Target
from clevrhope.metrics.suites.scorer import answers_to_pairs


@dataclass(frozen=True)
class SplitRights:
    """Whether a run answers each of the N questions of a split correctly."""

    target: Target
    images: Ints
    """(N,) the number of each question's image."""
    answered: Flags
    """(N,)"""
    right: Flags
    """(N,) false where there is no answer."""


@dataclass(frozen=True)
class PairRights:
    """Whether a run answers each question of the K pairs of a suite on a split correctly."""

    target: Target
    tests: tuple[str, ...]
    """Names of the tests by number."""
    test: Ints
    """(K,)"""
    is_in: Flags
    """(K,) the pairs of tier "in", which use only the dataset's own words and functions."""
    images: Ints
    """(K,)"""
    answered: Flags
    """(K,) both questions have an answer."""
    original: Flags
    """(K,) the original is right; like `partner`, false where the pair lacks an answer."""
    partner: Flags
    """(K,)"""

    def __len__(self) -> int:
        return len(self.test)


def rights(key: AnswerKey, suite: str, collector: Collector) -> tuple[list[SplitRights], list[PairRights]]:
    """What all runs answer correctly, on the splits that have pairs of a suite and on these pairs.

    Raises:
        PredictionsError: as for `score_suite`, except that no pair needs both answers.
        DatasetError: a file of the dataset is incomplete.
    """
    collector.finish(partial=True, what=suite)
    splits, pairs = [], []
    for target in dict.fromkeys(each._replace(suite=None) for each in collector.given):
        if target.split not in key.suite_splits(target.hop, suite):
            continue
        if target in collector.given:
            test_set, given = key.test_set(target.hop, target.split), collector.given[target]
            splits.append(SplitRights(target, test_set.images, given != NOT_GIVEN, given == test_set.answers))
        file = key.pairs(target.hop, suite, target.split)
        of_suite = target._replace(suite=suite)
        both = answers_to_pairs(collector.given, of_suite, file).reshape(-1, 2)  # (K, 2)
        answered = (both != NOT_GIVEN).all(axis=1)
        right = (both == file.answers.reshape(-1, 2)) & answered[:, np.newaxis]
        pairs.append(
            PairRights(
                target=of_suite,
                tests=file.tests,
                test=file.test[::2].astype(np.int32),
                is_in=file.tier[::2] == TIERS.index("in"),
                images=file.image_idxs[::2],
                answered=answered,
                original=right[:, 0],
                partner=right[:, 1],
            )
        )
    return splits, pairs
