"""Scores predictions about suites of paired tests made by `clevrhope suite`."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.contents import no_suite
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.errors import PredictionsError, command_line
from clevrhope.metrics import measures
from clevrhope.metrics.answer_key import AnswerKey, drawn_images
from clevrhope.metrics.collector import EXAMPLES, NOT_GIVEN, AnswerNumbers, Collector, collect, runs_of
from clevrhope.metrics.pairs import AnswerSet, pair_flags, reply_flags, score_groups
from clevrhope.metrics.predictions import notes_of
from clevrhope.metrics.results import Condition, Part, Results, Scored, SplitScores
from clevrhope.metrics.rows import Target
from clevrhope.metrics.scoring import (
    DEFAULT_BOOTSTRAP,
    check_draws,
    checked_hops,
    conditions_of,
    files_of,
)
from clevrhope.metrics.shares import Flags, score_flags
from clevrhope.metrics.suite_groups import (
    CONNECTIVE,
    connectives,
    coverage,
    crossings,
    groupings,
    groups,
    known_without_images,
    traits,
)
from clevrhope.runtime.progress import Progress

YES_NO = Part("replies", "yes or no")
"""The answers to all questions for yes or no, on both sides of the pairs."""


def score_suite(
    folder: Path | str | AnswerKey,
    suite: str,
    predictions: Path | str | Sequence[Path | str],
    *,
    seed: int,
    bootstrap: int = DEFAULT_BOOTSTRAP,
    hops: Iterable[str] | None = None,
    progress: Progress | None = None,
    collected: Collector | None = None,
) -> Results:
    """The scores of each model in the predictions on the pairs of a suite.

    The answers to a pair come from rows about the suite, whose `question_index` is the row in the suite's
    file. If the answer to a question of the dataset is missing there, it is taken from the row about that
    question in its split, with the same run and train size. Pairs that lack an answer are left out, and
    counted.

    The groups of a split's scores are all pairs and the parts "test", "type", "tier" and "asks" (what the
    partner asks for), "step" (of the ontology tests, by their direction), the cells of each test where a pair
    of values is held out, "crossings" (tests that have a control), "groups" (tests in which an original has
    several partners), and "replies" (to questions for yes or no). Of CARETS's tests, "paper's test",
    "choices", "connective" and "coverage" are its tables 8 to 12, 4, 3 and 13 to 17.

    Args:
        folder: a dataset in which `clevrhope suite` made the suite, or its answer key, so that many files can
            be scored with one reading.
        suite: its name.
        predictions: one or more files, JSON lines or Parquet, as docs/predictions.md describes them.
        seed: seed of the bootstrap, 0 or more; the same seed gives the same intervals.
        bootstrap: number of bootstrap samples; 0 for no intervals.
        hops: the HOPs to score, by default all that have the suite; predictions about others are ignored.
        progress: shows the progress of the scoring.
        collected: what the files hold about the suite, if they were read already.

    Raises:
        ConfigError: no HOP has the suite, or a named HOP lacks it.
        PredictionsError: predictions cannot be read or are repeated, or have an unknown question, HOP, split
            or answer, counted by kind; or no pair has both answers.
        DatasetError: the folder is not a dataset, or a file in it is incomplete.
    """
    check_draws(bootstrap, seed)
    key = folder if isinstance(folder, AnswerKey) else AnswerKey.of_suite(folder, suite)
    wanted = checked_hops(key, hops)
    made = [hop for hop in wanted or key.splits if key.suite_splits(hop, suite)]
    lacking = [hop for hop in wanted or () if hop not in made]
    if lacking or not made:
        raise no_suite(key.folder, suite, lacking[0] if lacking else None)
    files = files_of(predictions)
    what = ", ".join(map(str, files))
    if collected is None:
        collected = collect(files, key, wanted, suite=suite, partial=True, progress=progress)
    else:
        collected.finish(partial=True, what=what)
    answered = [hop for hop in made if any(target.hop == hop for target in collected.given)]
    scorer = _Scorer(key, suite, collected.given, bootstrap=bootstrap, seed=seed)
    conditions = conditions_of(key, collected, answered, scorer.condition, progress)
    splits = [split for condition in conditions for split in condition.splits.values()]
    if not any(split.mean.counts["n_pairs"] for split in splits):
        named = f" ({'; '.join(scorer.missing)})" if scorer.missing else ""
        if collected.other_suites:
            named += f", while there are predictions about {', '.join(sorted(collected.other_suites))}"
        raise PredictionsError(
            f'{what}: no pair of the suite "{suite}" has answers to both of its questions{named}; a run '
            f"answers them with {command_line('evaluate', 'RUN', '--suite', suite)}"
        )
    notes = (*notes_of(files), *notes_of(files, suite=suite))
    return Results(
        folder=key.folder,
        bootstrap=bootstrap,
        seed=seed,
        conditions=tuple(conditions),
        n_predictions=collected.n_predictions,
        n_left_aside=collected.n_left_aside,
        n_of_suites=collected.n_of_suites,
        hops_missing=tuple(hop for hop in made if hop not in answered),
        missing=tuple(scorer.missing),
        # A note about a suite begins with the notes about its splits.
        notes=tuple(dict.fromkeys(part for note in notes for part in note.split("; "))),
        kind=PAIRS.name,
        suite=suite,
    )


class _Scorer:
    """Scores conditions of one suite, and names the first pairs that lack an answer in `missing`."""

    def __init__(
        self, key: AnswerKey, suite: str, given: Mapping[Target, AnswerNumbers], **draws: int
    ) -> None:
        self._key, self._suite, self._given = key, suite, given
        self._answers = AnswerSet.from_numbers(key.answers, key.functions)
        self._draws: dict[str, Any] = draws
        self.missing: list[str] = []

    def condition(self, hop: str, size: int | None) -> Condition:
        """The scores of all runs of a HOP and train size."""
        runs, splits = runs_of(self._given, hop, size), {}
        for split in self._key.suite_splits(hop, self._suite):
            pairs = self._key.pairs(hop, self._suite, split)
            targets = [Target(hop, split, run, size, self._suite) for run in runs]
            given = np.stack([answers_to_pairs(self._given, target, pairs) for target in targets])  # (R, 2K)
            if len(pairs):
                for target, of_run in zip(targets, given, strict=True):
                    self._note_missing(target, pairs, of_run)
                splits[split] = self._scored(pairs, given, runs)
        return Condition(hop, size, runs=tuple(runs), splits=splits)

    def _scored(self, pairs: QuestionTable, given: AnswerNumbers, runs: Sequence[str | None]) -> SplitScores:
        """The scores of R runs on K pairs of one split, from (R, 2K) answers."""
        measured = self._key.measured_tests(pairs.hop, pairs.suite, pairs.split)
        functions = self._key.suite_functions(pairs.hop, pairs.suite)
        by_name = groupings(pairs, self._answers, functions)
        part_of = {by: numbers for by, (numbers, _) in by_name.items()}
        flags = pair_flags(pairs, given, self._answers)
        scored = score_groups(flags, measures.PAIRS, drawn_images(pairs)[::2], part_of, **self._draws)
        parts = {Part(): scored[""][0]}
        for by, (_, part_named) in by_name.items():
            for number, scores in scored[by].items():
                if (part := part_named(number)) is not None:
                    parts[part] = scores
        controls = {}
        for name, control, scores in crossings(pairs, given, self._answers, **self._draws):
            parts[Part("crossings", name)] = scores
            controls[name] = control
        for name, scores in groups(pairs, given, self._answers, **self._draws):
            parts[Part("groups", name)] = scores
        replies = reply_flags(pairs.answers, given, self._answers)
        parts[YES_NO] = _replies(replies)
        for name, scores in connectives(pairs, flags, replies, functions, **self._draws):
            parts[Part(CONNECTIVE, name)] = scores
        parts |= coverage(pairs, flags, [run or "no run" for run in runs])
        constants, words = known_without_images(pairs, self._answers, measured)
        return SplitScores(
            parts=parts,
            n=len(pairs) // 2,
            n_missing=parts[Part()].mean.counts["n_missing"],
            constants=constants,
            words=words,
            traits=traits(pairs, self._answers),
            controls=controls,
        )

    def _note_missing(self, target: Target, pairs: QuestionTable, given: AnswerNumbers) -> None:
        """Notes a run's first incomplete pairs from its 2K answers."""
        lacks = given.reshape(-1, 2) == NOT_GIVEN  # (K, 2)
        for place in islice(np.flatnonzero(lacks.any(axis=1)), EXAMPLES - len(self.missing)):
            side = int(lacks[place].argmax())
            pair, own = (int(column[2 * place + side]) for column in (pairs.pair_idxs, pairs.orig_idxs))
            question = f"{2 * pair + side} of the suite" if own < 0 else f"{own} of the split"
            self.missing.append(f"{target}: pair {pair} lacks an answer to question {question}")


def answers_to_pairs(
    given: Mapping[Target, AnswerNumbers], target: Target, pairs: QuestionTable
) -> AnswerNumbers:
    """(2K,) a run's answers to the questions of a suite's file; NOT_GIVEN where one is missing.

    Answers missing from the rows about the suite are taken from the rows about its split.
    """
    places = pairs.orig_idxs
    of_suite = given.get(target, np.full(len(places), NOT_GIVEN, dtype=np.int16))
    of_split = given.get(target._replace(suite=None))
    if of_split is None:
        return of_suite
    own: AnswerNumbers = np.where(places >= 0, of_split[places], NOT_GIVEN).astype(np.int16)
    return np.where(of_suite == NOT_GIVEN, own, of_suite)


def _replies(flags: Mapping[str, Flags]) -> Scored:
    """The replies of R runs to all questions for yes or no, from flags (R, 2K)."""
    asked = flags["asked"]
    whole = np.zeros(asked.shape[1], dtype=np.int32)
    return score_flags(flags, measures.REPLIES, {"": whole}, whole, counts={"n": asked})[""][0].scored()
