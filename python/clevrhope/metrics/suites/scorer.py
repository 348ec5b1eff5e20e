"""Scores predictions about the pairs of a suite against the right answers of a folder."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from clevrhope.dataset.contents import no_suite
from clevrhope.dataset.question_kinds import TIERS
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ConfigError, PredictionsError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.collector import (
    EXAMPLES,
    NOT_GIVEN,
    AnswerNumbers,
    Collector,
    check_draws,
    checked_names,
    collect,
    files_of,
    notes_of,
    runs_of,
    train_sizes,
)
from clevrhope.metrics.measures import REPLIES, formulas
from clevrhope.metrics.pairs import AnswerKind, AnswerSet, Pairs, score_pairs
from clevrhope.metrics.results import Condition, Part, Results, Scored, SplitScores
from clevrhope.metrics.rows import Target
from clevrhope.metrics.shares import score_flags
from clevrhope.metrics.suites.questions import CELL, N_CELLS, Chosen, constants, parts_of_pairs, traits
from clevrhope.metrics.suites.shared_originals import crossings, groups
from clevrhope.metrics.test_sets import DEFAULT_BOOTSTRAP
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.settings import suggestion

TIER_CHOICES = (*TIERS, "both")
"""The tiers whose pairs can be scored."""

YES_NO = Part("replies", "yes or no")
"""The answers to all questions for yes or no, on both sides of the pairs."""


def score_suite(
    folder: Path | str | AnswerKey,
    suite: str,
    predictions: Path | str | Sequence[Path | str],
    *,
    seed: int,
    bootstrap: int = DEFAULT_BOOTSTRAP,
    tier: str = "both",
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
    several partners), and "replies" (to questions for yes or no).

    Args:
        folder: a dataset in which `clevrhope suite` made the suite, or its answer key, so that many files can
            be scored with one reading.
        suite: its name.
        predictions: one or more files, JSON lines or Parquet, as docs/predictions.md describes them.
        seed: seed of the bootstrap, 0 or more; the same seed gives the same intervals.
        bootstrap: number of bootstrap samples; 0 for no intervals.
        tier: one of `TIER_CHOICES`.
        hops: the HOPs to score, by default all that have the suite; predictions about others are ignored.
        progress: shows the progress of the scoring.
        collected: what the files hold about the suite, if they were read already.

    Raises:
        ConfigError: no HOP has the suite, a named HOP lacks it, or there is no such tier.
        PredictionsError: predictions cannot be read or are repeated, or have an unknown question, HOP, split
            or answer, counted by kind; or no pair has both answers.
        DatasetError: the folder is not a dataset, or a file in it is incomplete.
    """
    progress = progress or Silent()
    check_draws(bootstrap, seed)
    if tier not in TIER_CHOICES:
        raise ConfigError(f'--tier: no tier "{tier}"; there are: {", ".join(TIER_CHOICES)}')
    key = folder if isinstance(folder, AnswerKey) else AnswerKey(folder)
    wanted = None if hops is None else checked_names("--hop: no HOP", hops, tuple(key.splits))
    there = _hops_with(key, suite, wanted)
    files = files_of(predictions)
    what = ", ".join(map(str, files))
    if collected is None:
        collector = collect(files, key, wanted, suite=suite, partial=True, progress=progress)
    else:
        collector = collected
        collector.finish(partial=True, what=what)
    answered = [hop for hop in there if any(target.hop == hop for target in collector.given)]
    conditions: list[Condition] = []
    missing: list[str] = []
    with progress.stage("Scoring", total=len(answered), unit="HOPs") as advance:
        for hop in answered:
            scorer = _Scorer(key, suite, tier, collector.given, missing, bootstrap=bootstrap, seed=seed)
            conditions += [scorer.condition(hop, size) for size in train_sizes(collector.given, hop)]
            key.forget(hop)
            advance(1)
    _check_scored(conditions, suite, tier, missing, what, collector.other_suites)
    notes = (*notes_of(files), *notes_of(files, suite=suite))
    return Results(
        folder=key.folder,
        bootstrap=bootstrap,
        seed=seed,
        conditions=tuple(conditions),
        n_predictions=collector.n_predictions,
        n_left_aside=collector.n_left_aside,
        n_of_suites=collector.n_of_suites,
        hops_missing=tuple(hop for hop in there if hop not in answered),
        missing=tuple(missing),
        # A note about a suite begins with the notes about its splits.
        notes=tuple(dict.fromkeys(part for note in notes for part in note.split("; "))),
        suite=suite,
        tier=tier,
    )


def _hops_with(key: AnswerKey, suite: str, wanted: Sequence[str] | None) -> list[str]:
    """The wanted HOPs that have a suite.

    Raises:
        ConfigError: a wanted HOP does not have it, or no HOP does.
    """
    found = [hop for hop in wanted or key.splits if key.suite_splits(hop, suite)]
    without = [hop for hop in wanted or () if hop not in found]
    if without or not found:
        raise no_suite(key.folder, suite, without[0] if without else None)
    return found


class _Scorer:
    """Scores conditions of one suite, and names the first pairs that lack an answer in `missing`."""

    def __init__(
        self,
        key: AnswerKey,
        suite: str,
        tier: str,
        given: Mapping[Target, AnswerNumbers],
        missing: list[str],
        *,
        bootstrap: int,
        seed: int,
    ) -> None:
        self._key, self._suite, self._given, self._missing = key, suite, given, missing
        self._tiers = TIERS if tier == "both" else (tier,)
        self._answers = AnswerSet.from_numbers(key.answers)
        self._draws = {"bootstrap": bootstrap, "seed": seed}

    def condition(self, hop: str, size: int | None) -> Condition:
        """The scores of all runs of a HOP and train size."""
        runs = runs_of(self._given, hop, size)
        splits = {}
        for split in self._key.suite_splits(hop, self._suite):
            file = self._key.pairs(hop, self._suite, split)
            chosen = np.isin(file.tier[::2], [TIERS.index(tier) for tier in self._tiers])
            if chosen.any():
                targets = [Target(hop, split, run, size, self._suite) for run in runs]
                splits[split] = self._scored(file, targets, chosen)
        return Condition(hop, size, tuple(runs), splits)

    def _scored(self, file: QuestionTable, targets: Sequence[Target], chosen: Chosen) -> SplitScores:
        """The scores on one split over the chosen (K,) pairs; each target stands for a run."""
        given = np.stack([answers_to_pairs(self._given, target, file) for target in targets])  # (R, 2K)
        for target, row in zip(targets, given, strict=True):
            self._note_missing(target, file, row, chosen)
        functions = self._key.suite_functions(file.hop, file.suite)
        names, part_of = parts_of_pairs(file, chosen, self._answers, functions)
        rows = file
        pairs = Pairs(
            originals=rows.answers[::2][chosen],
            partners=rows.answers[1::2][chosen],
            relations=rows.relation[::2][chosen],
            values=rows.value[::2][chosen],
            images=rows.image_idxs[::2][chosen],
            parts={by: part[chosen] for by, part in part_of.items()},
        )
        originals, partners = given[:, ::2][:, chosen], given[:, 1::2][:, chosen]
        found = score_pairs(pairs, originals, partners, self._answers, **self._draws)
        parts = {Part(): found[""][0]}
        for by, of_parts in names.items():
            for number, scored in found[by].items():
                if by == CELL:
                    test, cell = divmod(number, N_CELLS)
                    parts[Part("test", file.tests[test], f"{cell:02b}")] = scored
                elif number < len(of_parts):
                    parts[Part(by, of_parts[number])] = scored
        controls = {}
        for name, control, scored in crossings(file, given, chosen, self._answers, **self._draws):
            parts[Part("crossings", name)] = scored
            controls[name] = control
        for name, scored in groups(file, given, chosen, self._answers, **self._draws):
            parts[Part("groups", name)] = scored
        parts[YES_NO] = _replies(rows.answers, given, np.repeat(chosen, 2), self._answers)
        return SplitScores(
            parts=parts,
            n=int(chosen.sum()),
            n_missing=parts[Part()].mean.counts["n_missing"],
            constants=constants(file, chosen, self._answers),
            traits=traits(file, chosen, self._answers),
            controls=controls,
        )

    def _note_missing(
        self, target: Target, file: QuestionTable, given: AnswerNumbers, chosen: Chosen
    ) -> None:
        """Notes a run's first incomplete pairs from its 2K answers."""
        lacks = given.reshape(-1, 2) == NOT_GIVEN  # (K, 2)
        for pair in islice(np.flatnonzero(lacks.any(axis=1) & chosen), EXAMPLES - len(self._missing)):
            row = 2 * int(pair) + int(lacks[pair].argmax())
            own = int(file.orig_idxs[row])
            place = f"question {row} of the suite" if own < 0 else f"question {own} of the split"
            self._missing.append(f"{target}: pair {pair} lacks an answer to {place}")


def answers_to_pairs(
    given: Mapping[Target, AnswerNumbers], target: Target, file: QuestionTable
) -> AnswerNumbers:
    """(2K,) a run's answers to the questions of a suite's file; NOT_GIVEN where one is missing.

    Answers missing from the rows about the suite are taken from the rows about its split.
    """
    places = file.orig_idxs
    of_suite = given.get(target, np.full(len(places), NOT_GIVEN, dtype=np.int16))
    of_split = given.get(target._replace(suite=None))
    if of_split is None:
        return of_suite
    own: AnswerNumbers = np.where(places >= 0, of_split[places], NOT_GIVEN).astype(np.int16)
    return np.where(of_suite == NOT_GIVEN, own, of_suite)


def _replies(right: Ints, given: AnswerNumbers, chosen: Chosen, answers: AnswerSet) -> Scored:
    """The replies of R runs, from (R, 2K) answers, to those (2K,) questions to which yes or no is right."""
    asked = chosen & (given != NOT_GIVEN) & (answers.kind(right) == AnswerKind.YES_NO)
    yes, no = asked & (given == answers.yes), asked & (given == answers.no)
    flags = {
        "asked": asked,
        "yes": yes,
        "no": no,
        "other": asked & ~yes & ~no,
        "right_yes": asked & (right == answers.yes),
    }
    whole = np.zeros(len(right), dtype=np.int32)
    return score_flags(flags, formulas(REPLIES), {"": whole}, whole, counts={"n": asked})[""][0].scored()


def _check_scored(
    conditions: Sequence[Condition],
    suite: str,
    tier: str,
    missing: Sequence[str],
    what: str,
    others: Iterable[str],
) -> None:
    """Checks that there is something to score; `others` are the other suites that the predictions mention.

    Raises:
        ConfigError: the suite has no pair of the tier.
        PredictionsError: no pair has answers to both questions.
    """
    splits = [split for each in conditions for split in each.splits.values()]
    if conditions and not splits:
        raise ConfigError(f'--tier: the suite "{suite}" has no pair of tier "{tier}"')
    if not any(split.mean.counts["n_pairs"] for split in splits):
        named = f" ({'; '.join(missing)})" if missing else ""
        if others:
            names = sorted(others)
            named += f", while there are predictions about {', '.join(names)}{suggestion(suite, names)}"
        raise PredictionsError(
            f'{what}: no pair of the suite "{suite}" has answers to both of its questions{named}; a run '
            f"answers them with clevrhope evaluate RUN --suite {suite}"
        )
