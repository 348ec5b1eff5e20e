"""Which questions of a suite's pairs and of its splits each run answers correctly, for comparing runs."""

from dataclasses import dataclass

from clevrhope.dataset.question_table import QuestionTable
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.collector import NOT_GIVEN, AnswerNumbers, Collector
from clevrhope.metrics.pairs.relations import Flags
from clevrhope.metrics.rows import Target
from clevrhope.metrics.suites.scorer import answers_to_pairs


@dataclass(frozen=True)
class Rights:
    """Whether a run answers each of N questions correctly, of a split or of the pairs of a suite on it."""

    target: Target
    questions: QuestionTable
    answered: Flags
    """(N,); of pairs, whether both questions have an answer."""
    right: Flags
    """(N,) false where there is no answer."""


def rights(key: AnswerKey, suite: str, collector: Collector) -> tuple[list[Rights], list[Rights]]:
    """What all runs answer correctly, on the splits that have pairs of a suite and on these pairs.

    Raises:
        PredictionsError: as for `score_suite`, except that no pair needs both answers.
        DatasetError: a file of the dataset is incomplete.
    """
    collector.finish(partial=True, what=suite)
    splits, of_suite = [], []
    for target in dict.fromkeys(target._replace(suite=None) for target in collector.given):
        hop, split, *_ = target
        if split not in key.suite_splits(hop, suite):
            continue
        if target in collector.given:
            splits.append(_rights(target, key.test_set(hop, split), collector.given[target]))
        pairs = key.pairs(hop, suite, split)
        given = answers_to_pairs(collector.given, target._replace(suite=suite), pairs)
        of_suite.append(_rights(target._replace(suite=suite), pairs, given))
    return splits, of_suite


def _rights(target: Target, questions: QuestionTable, given: AnswerNumbers) -> Rights:
    answered = given != NOT_GIVEN
    if target.suite is not None:
        answered = answered.reshape(-1, 2).all(axis=1).repeat(2)
    return Rights(target, questions, answered, answered & (given == questions.answers))
