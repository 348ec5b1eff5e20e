"""Results on suites of paired tests: the scores of each run's last weights on the pairs of each split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clevrhope.errors import ClevrhopeError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.pairs import CrossingScores, Measure, PairScores, ValueScores
from clevrhope.metrics.suites import SuiteSplitScores, score_suite
from clevrhope.metrics.suites.questions import Replies
from clevrhope.metrics.suites.tables import CROSSING_MEASURES, GROUP_MEASURES, MEASURES, REPLY_MEASURES
from clevrhope.report.results import Keys, Result, grouped
from clevrhope.report.runs import LAST
from clevrhope.runtime.progress import Progress

Scores = PairScores | CrossingScores | ValueScores | Replies


class Part(NamedTuple):
    """What scores are about."""

    by: str
    """A breakdown of `SuiteSplitScores`, "crossings", "groups" or "replies"; "" for all pairs."""
    name: str
    cell: str = ""
    """One of a test's cells; "" for all of them."""


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """The scores of a run on the pairs that a suite has on a split."""

    result: Result
    """The run's result on the splits' own questions."""
    suite: str
    split: str
    scored: SuiteSplitScores
    """The scores of all runs of the same file, held-out pair and train size."""
    scores: Mapping[Part, Scores]
    """The run's own."""
    notes: tuple[str, ...] = ()
    """What must be said wherever the scores are shown."""

    @property
    def n_missing(self) -> int:
        """Pairs that lack an answer, which are left out."""
        overall = self.scores[ALL_PAIRS]
        return overall.n_missing if isinstance(overall, PairScores) else 0


ALL_PAIRS, REPLIES = Part("", "all pairs"), Part("replies", "yes or no")

MEASURES_OF: Mapping[type[Scores], Mapping[str, str]] = {
    PairScores: MEASURES,
    CrossingScores: CROSSING_MEASURES,
    ValueScores: GROUP_MEASURES,
    Replies: REPLY_MEASURES,
}
"""Kind of scores -> heading -> field."""


def percent(scores: Scores, field: str) -> float | None:
    """A measure of scores by the name of its field; None if it is not defined."""
    found: Measure | float | None = getattr(scores, field)
    return found.value if isinstance(found, Measure) else found


def count(scores: Scores) -> int:
    """The number of pairs, originals or questions that scores are of."""
    match scores:
        case PairScores(n_pairs=n) | CrossingScores(n_originals=n) | ValueScores(n_groups=n) | Replies(n=n):
            return n


def measure_suites(
    results: Sequence[Result], *, progress: Progress, keys: Keys
) -> tuple[list[SuiteResult], tuple[str, ...]]:
    """The scores of all runs on the suites that their files name, and a sentence for each that has none."""
    own = [each for each in results if each.suites and each.checkpoint == LAST]
    files = grouped(own, lambda each: (each.source.path, each.model))
    if not files:
        return [], ()
    found: list[SuiteResult] = []
    skipped: dict[str, None] = {}
    with progress.stage("Scoring paired tests", total=len(files), unit="files") as advance:
        for of_file in files.values():
            for suite in of_file[0].suites:
                try:
                    found += _of_file(of_file, keys(of_file[0].source.dataset), suite)
                except ClevrhopeError as error:
                    skipped[str(error)] = None
            advance(1)
    return found, tuple(skipped)


def _of_file(results: Sequence[Result], key: AnswerKey, suite: str) -> list[SuiteResult]:
    """The scores of those runs in a file that have a result."""
    source = results[0].source
    scores = score_suite(key, suite, source.path, seed=0, bootstrap=0)  # no intervals, so no draws
    runs = {(each.hop, each.run, each.train_size): each for each in results}
    found = []
    for condition in scores.conditions:
        size = source.train_size if condition.train_size is None else condition.train_size
        for k, name in enumerate(condition.runs):
            run = (name if name is not None else source.run) or ""
            result = runs.get((condition.hop, run, size))
            if result is not None:
                found += [
                    SuiteResult(result, suite, split, scored, _of_run(scored, k), scores.notes)
                    for split, scored in condition.splits.items()
                ]
    return found


def _of_run(scored: SuiteSplitScores, run: int) -> dict[Part, Scores]:
    """The scores of one of a condition's runs, by its place among them."""
    found: dict[Part, Scores] = {ALL_PAIRS: scored.overall.runs[run]}
    for by, parts in scored.parts.items():
        found |= {Part(by, part.name): part.runs[run] for part in parts}
    for test, cells in scored.cells.items():
        found |= {Part("test", test, cell.name): cell.runs[run] for cell in cells}
    found |= {Part("crossings", each.name): each.runs[run] for each in scored.crossings}
    found |= {Part("groups", each.name): each.runs[run] for each in scored.groups}
    found[REPLIES] = scored.replies[run]
    return found
