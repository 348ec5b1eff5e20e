"""Scores predictions about the pairs of a suite against the right answers of a folder."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from clevrhope.dataset.contents import no_suite
from clevrhope.dataset.pairs_h5 import TIERS, PairFile
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ConfigError, PredictionsError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.collector import EXAMPLES, NOT_GIVEN, AnswerNumbers, Collector
from clevrhope.metrics.pairs import AnswerSet, PairGroup, Pairs, score_pairs
from clevrhope.metrics.pairs.relations import Answers, Flags
from clevrhope.metrics.rows import Target
from clevrhope.metrics.scorer import (
    DEFAULT_BOOTSTRAP,
    check_draws,
    checked_names,
    collect,
    files_of,
    notes_of,
    runs_in_order,
    train_sizes,
)
from clevrhope.metrics.suites.questions import ASKS, STEPS, asked_for, replies, steps
from clevrhope.metrics.suites.results import SuiteCondition, SuitePart, SuiteScores, SuiteSplitScores
from clevrhope.metrics.suites.shared_originals import crossings, groups
from clevrhope.metrics.suites.traits import beyond, constants, entailments, same_programs
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.settings import suggestion
from clevrhope.splits.kinds import SPLITS

TIER_CHOICES = (*TIERS, "both")
"""The tiers whose pairs can be scored."""

Names = dict[str, Sequence[str | None]]
"""Breakdown -> the names of its parts by number; None for a part of pairs to which it does not apply."""

_CELL = "cell"
_N_CELLS = 4


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
) -> SuiteScores:
    """The scores of each model in the predictions on the pairs of a suite.

    The answers to a pair come from rows about the suite, whose `question_index` is the row in the suite's
    file. If the answer to a question of the dataset is missing there, it is taken from the row about that
    question in its split, with the same run and train size. Pairs that lack an answer are left out, and
    counted.

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
    collector = Collector(key, wanted, suite=suite)
    files = files_of(predictions)
    what = ", ".join(map(str, files))
    collect(files, collector, progress)
    collector.finish(partial=True, what=what)
    answered = [hop for hop in there if any(target.hop == hop for target in collector.given)]
    conditions, missing = [], _Missing()
    with progress.stage("Scoring", total=len(answered), unit="HOPs") as advance:
        for hop in answered:
            for size in train_sizes(collector.given, hop):
                scorer = _Scorer(key, suite, tier, collector.given, missing, bootstrap=bootstrap, seed=seed)
                conditions.append(scorer.condition(hop, size))
            key.forget(hop)
            advance(1)
    _check_scored(conditions, suite, tier, missing, what, collector.other_suites)
    return SuiteScores(
        folder=key.folder,
        suite=suite,
        tier=tier,
        n_predictions=collector.n_predictions,
        n_left_aside=collector.n_left_aside,
        n_of_suites=collector.n_of_suites,
        bootstrap=bootstrap,
        seed=seed,
        conditions=tuple(conditions),
        missing=tuple(missing.examples),
        hops_missing=tuple(hop for hop in there if hop not in answered),
        notes=_different((*notes_of(files), *notes_of(files, suite=suite))),
    )


def _different(notes: Iterable[str]) -> tuple[str, ...]:
    """The distinct parts of notes: a note about a suite begins with the notes about its splits."""
    return tuple(dict.fromkeys(part for note in notes for part in note.split("; ")))


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


class _Missing:
    """The first pairs that lack an answer."""

    def __init__(self) -> None:
        self.examples: list[str] = []

    def note(self, target: Target, file: PairFile, given: AnswerNumbers, chosen: Flags) -> None:
        """Notes a run's incomplete pairs from its 2K answers; `chosen` (K,) flags the pairs to score."""
        lacks = given.reshape(-1, 2) == NOT_GIVEN  # (K, 2)
        for pair in islice(np.flatnonzero(lacks.any(axis=1) & chosen), EXAMPLES - len(self.examples)):
            row = 2 * int(pair) + int(lacks[pair].argmax())
            own = int(file.rows.orig_idxs[row])
            place = f"question {row} of the suite" if own < 0 else f"question {own} of the split"
            self.examples.append(f"{target}: pair {pair} lacks an answer to {place}")


class _Scorer:
    """Scores conditions of one suite."""

    def __init__(
        self,
        key: AnswerKey,
        suite: str,
        tier: str,
        given: Mapping[Target, AnswerNumbers],
        missing: _Missing,
        *,
        bootstrap: int,
        seed: int,
    ) -> None:
        self._key, self._suite, self._given, self._missing = key, suite, given, missing
        self._tiers = TIERS if tier == "both" else (tier,)
        self._answers = AnswerSet.from_numbers(key.answers)
        self._bootstrap, self._seed = bootstrap, seed

    def condition(self, hop: str, size: int | None) -> SuiteCondition:
        """The scores of all runs of a HOP and train size."""
        runs = runs_in_order({each.run for each in self._given if (each.hop, each.train_size) == (hop, size)})
        splits = {}
        for split in self._key.suite_splits(hop, self._suite):
            file = self._key.pairs(hop, self._suite, split)
            chosen = np.isin(file.rows.tier[::2], [TIERS.index(tier) for tier in self._tiers])
            if chosen.any():
                targets = [Target(hop, split, run, size, self._suite) for run in runs]
                splits[split] = self._scored(file, targets, chosen)
        return SuiteCondition(hop, size, tuple(runs), splits)

    def _scored(self, file: PairFile, targets: Sequence[Target], chosen: Flags) -> SuiteSplitScores:
        """The scores on one split over the chosen (K,) pairs; each target stands for a run."""
        given = np.stack([answers_to_pairs(self._given, target, file) for target in targets])  # (R, 2K)
        for target, row in zip(targets, given, strict=True):
            self._missing.note(target, file, row, chosen)
        names, parts = self._parts(file, chosen)
        rows = file.rows
        scored = score_pairs(
            Pairs(
                originals=rows.answers[::2][chosen],
                partners=rows.answers[1::2][chosen],
                relations=rows.relation[::2][chosen],
                values=rows.value[::2][chosen],
                images=rows.image_idxs[::2][chosen],
                parts=parts,
            ),
            given[:, ::2][:, chosen],
            given[:, 1::2][:, chosen],
            self._answers,
            seed=self._seed,
            bootstrap=self._bootstrap,
        )
        draws = {"seed": self._seed, "bootstrap": self._bootstrap}
        cells: dict[str, list[SuitePart]] = {}
        for group in scored.parts.get(_CELL, ()):
            test, cell = divmod(group.part or 0, _N_CELLS)
            cells.setdefault(file.tests[test], []).append(SuitePart(f"{cell:02b}", group.runs, group.mean))
        return SuiteSplitScores(
            n_pairs=int(chosen.sum()),
            overall=_named([scored.overall], ["all pairs"])[0],
            parts={by: _named(scored.parts[by], of_parts) for by, of_parts in names.items()},
            cells={test: tuple(of_test) for test, of_test in cells.items()},
            replies=tuple(replies(rows.answers, each, self._answers, np.repeat(chosen, 2)) for each in given),
            crossings=tuple(crossings(file, given, chosen, self._answers, **draws)),
            groups=tuple(groups(file, given, chosen, self._answers, **draws)),
            entailments=entailments(file, chosen, self._answers),
            constants=constants(file, chosen, self._answers),
            beyond=beyond(file, chosen),
            same_programs=same_programs(file, chosen),
        )

    def _parts(self, file: PairFile, chosen: Flags) -> tuple[Names, dict[str, Ints]]:
        """The names of the parts of each breakdown, and the part of each chosen pair.

        Where a pair is held out, the breakdown into cells numbers its parts by test and then cell, unnamed.
        """
        tests = file.rows.test[::2]
        types = list(dict.fromkeys(file.types))
        type_of_test = np.asarray([types.index(kind) for kind in file.types])
        names: Names = {
            "test": file.tests,
            "type": [kind or "no type" for kind in types],
            "tier": TIERS,
        }
        parts: dict[str, Answers] = {
            "test": tests,
            "type": type_of_test[tests],
            "tier": file.rows.tier[::2],
        }
        if "pair" in SPLITS[file.split].of:
            parts[_CELL] = _N_CELLS * tests + file.rows.cell[::2]
        functions = self._key.suite_functions(file.hop, file.suite)
        names["asks"] = ASKS
        parts["asks"] = asked_for(file, self._answers, functions)
        step = steps(file, self._answers)
        if (step[chosen] >= 0).any():
            names["step"] = [*STEPS, None]
            parts["step"] = np.where(step < 0, len(STEPS), step)
        return names, {name: part[chosen].astype(np.int32) for name, part in parts.items()}


def answers_to_pairs(given: Mapping[Target, AnswerNumbers], target: Target, file: PairFile) -> AnswerNumbers:
    """(2K,) a run's answers to the questions of a suite's file; NOT_GIVEN where one is missing.

    Answers missing from the rows about the suite are taken from the rows about its split.
    """
    places = file.rows.orig_idxs
    of_suite = given.get(target, np.full(len(places), NOT_GIVEN, dtype=np.int16))
    of_split = given.get(target._replace(suite=None))
    if of_split is None:
        return of_suite
    own: AnswerNumbers = np.where(places >= 0, of_split[places], NOT_GIVEN).astype(np.int16)
    return np.where(of_suite == NOT_GIVEN, own, of_suite)


def _named(groups: Sequence[PairGroup], names: Sequence[str | None]) -> tuple[SuitePart, ...]:
    """The parts of a breakdown with names in place of numbers; parts without a name are left out."""
    return tuple(
        SuitePart(name, group.runs, group.mean)
        for group in groups
        if (name := names[group.part or 0]) is not None
    )


def _check_scored(
    conditions: Sequence[SuiteCondition],
    suite: str,
    tier: str,
    missing: _Missing,
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
    if not any(split.overall.mean.n_pairs for split in splits):
        named = f" ({'; '.join(missing.examples)})" if missing.examples else ""
        if others:
            names = sorted(others)
            named += f", while there are predictions about {', '.join(names)}{suggestion(suite, names)}"
        raise PredictionsError(
            f'{what}: no pair of the suite "{suite}" has answers to both of its questions{named}; a run '
            f"answers them with clevrhope evaluate RUN --suite {suite}"
        )
