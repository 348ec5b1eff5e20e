"""Results on suites of paired tests: the scores of each run's last weights on the pairs of each split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clevrhope.errors import ClevrhopeError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.pairs import CrossingScores, PairScores, ValueScores
from clevrhope.metrics.suites import Constant, SuitePart, SuiteSplitScores, score_suite
from clevrhope.report.results import Result
from clevrhope.report.runs import LAST
from clevrhope.runtime.progress import Progress, Silent


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """The scores of a run on the pairs that a suite has on a split.

    Attributes:
        result: The run's result on the splits' own questions.
        suite: The suite.
        split: The split.
        n_missing: Number of pairs that lack an answer, which are left out.
        tests: Test -> scores of its pairs.
        cells: Cell -> scores of its pairs, see `SuiteSplitScores`; empty where no pair is held out.
        crossings: Test with a control -> its scores beside those of the control.
        groups: Test with a partner for every value of a type -> how often one of them gets yes.
        constants: Test of yes/no partners -> what a constant answer to them scores.
        beyond: Tests with words or functions that the dataset's questions do not have.
        same_programs: Tests whose pairs have the same program on both sides.
        notes: What has to be said wherever the scores are shown.
    """

    result: Result
    suite: str
    split: str
    n_missing: int
    tests: Mapping[str, PairScores]
    cells: Mapping[str, PairScores]
    crossings: Mapping[str, CrossingScores] = field(default_factory=dict)
    groups: Mapping[str, ValueScores] = field(default_factory=dict)
    constants: Mapping[str, Constant] = field(default_factory=dict)
    beyond: tuple[str, ...] = ()
    same_programs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def measure_suites(
    results: Sequence[Result], *, progress: Progress | None = None
) -> tuple[list[SuiteResult], tuple[str, ...]]:
    """The scores of all runs on the suites that their files name, and a sentence for each that has none."""
    files: dict[tuple[Path, str], list[Result]] = {}
    for each in results:
        if each.suites and each.checkpoint == LAST:
            files.setdefault((each.source.path, each.model), []).append(each)
    if not files:
        return [], ()
    keys: dict[Path, AnswerKey] = {}
    found: list[SuiteResult] = []
    skipped = []
    with (progress or Silent()).stage("Scoring paired tests", total=len(files), unit="files") as advance:
        for of_file in files.values():
            for suite in of_file[0].suites:
                try:
                    place = of_file[0].source.dataset.resolve()
                    if place not in keys:
                        keys[place] = AnswerKey(of_file[0].source.dataset)
                    found += _of_file(of_file, keys[place], suite)
                except ClevrhopeError as error:
                    skipped.append(str(error))
            advance(1)
    return found, tuple(dict.fromkeys(skipped))


def _of_file(results: Sequence[Result], key: AnswerKey, suite: str) -> list[SuiteResult]:
    """The scores of all runs in a file that have a result."""
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
                    _result(result, suite, split, scored, k, scores.notes)
                    for split, scored in condition.splits.items()
                ]
    return found


def _result(
    result: Result, suite: str, split: str, scored: SuiteSplitScores, run: int, notes: tuple[str, ...]
) -> SuiteResult:
    """The scores of one of a condition's runs, by its place among them."""

    def of_run(parts: Sequence[SuitePart]) -> dict[str, PairScores]:
        return {part.name: part.runs[run] for part in parts}

    return SuiteResult(
        result=result,
        suite=suite,
        split=split,
        n_missing=scored.overall.runs[run].n_missing,
        tests=of_run(scored.parts["test"]),
        cells=of_run(scored.parts.get("cell", ())),
        crossings={each.name: each.runs[run] for each in scored.crossings},
        groups={each.name: each.runs[run] for each in scored.groups},
        constants=scored.constants,
        beyond=scored.beyond,
        same_programs=scored.same_programs,
        notes=notes,
    )
