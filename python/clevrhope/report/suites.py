"""Results on suites of paired tests: the scores of each run's last weights on the pairs of each split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clevrhope.errors import ClevrhopeError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.collector import Collector
from clevrhope.metrics.results import Part, Scores, SplitScores
from clevrhope.metrics.suites import score_suite
from clevrhope.report.results import Keys, Result, grouped
from clevrhope.report.runs import LAST
from clevrhope.runtime.progress import Progress


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """The scores of a run on the pairs that a suite has on a split."""

    result: Result
    """The run's result on the splits' own questions."""
    suite: str
    split: str
    scored: SplitScores
    """The scores of all runs of the same file, held-out pair and train size."""
    scores: Mapping[Part, Scores]
    """The run's own."""
    notes: tuple[str, ...] = ()
    """What must be said wherever the scores are shown."""

    @property
    def n_missing(self) -> int:
        """Pairs that lack an answer, which are left out."""
        return self.scores[Part()].counts["n_missing"]


def count(scores: Scores) -> int:
    """The number of pairs, originals, groups or questions that scores are of: the first of their counts."""
    return next(iter(scores.counts.values()))


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
            for suite, collected in of_file[0].suites.items():
                try:
                    if isinstance(collected, ClevrhopeError):
                        raise collected
                    found += _of_file(of_file, keys(of_file[0].source.dataset), suite, collected)
                except ClevrhopeError as error:
                    skipped[str(error)] = None
            advance(1)
    return found, tuple(skipped)


def _of_file(
    results: Sequence[Result], key: AnswerKey, suite: str, collected: Collector
) -> list[SuiteResult]:
    """The scores of those runs in a file that have a result."""
    source = results[0].source
    # No intervals, so no draws.
    scores = score_suite(key, suite, source.path, seed=0, bootstrap=0, collected=collected)
    runs = {(each.hop, each.run, each.train_size): each for each in results}
    found = []
    for condition in scores.conditions:
        size = source.train_size if condition.train_size is None else condition.train_size
        for k, name in enumerate(condition.runs):
            run = (name if name is not None else source.run) or ""
            result = runs.get((condition.hop, run, size))
            if result is not None:
                found += [
                    SuiteResult(
                        result,
                        suite,
                        split,
                        scored,
                        {part: each.runs[k] for part, each in scored.parts.items()},
                        scores.notes,
                    )
                    for split, scored in condition.splits.items()
                ]
    return found
