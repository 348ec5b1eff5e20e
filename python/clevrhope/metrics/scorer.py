"""Scores predictions against a folder: accuracies, gaps, breakdowns and intervals."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from clevrhope.errors import PredictionsError
from clevrhope.metrics.answer_key import BREAKDOWNS, AnswerKey
from clevrhope.metrics.bootstrap import Floats, interval
from clevrhope.metrics.collector import NOT_GIVEN, AnswerNumbers, Collector
from clevrhope.metrics.estimates import draw_seed
from clevrhope.metrics.predictions import read_origin, read_predictions
from clevrhope.metrics.results import Accuracy, Condition, Gap, Part, Run, Scored, Scores
from clevrhope.metrics.rows import Target
from clevrhope.metrics.tallies import AnsweredSplit, Rates, Tallies, tally
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.settings import suggestion
from clevrhope.splits.kinds import GAPS, SPLITS

DEFAULT_BOOTSTRAP = 1000


def score(
    folder: Path | str,
    predictions: Path | str | Sequence[Path | str],
    *,
    seed: int,
    bootstrap: int = DEFAULT_BOOTSTRAP,
    by: Iterable[str] = BREAKDOWNS,
    hops: Iterable[str] | None = None,
    partial: bool = False,
    progress: Progress | None = None,
) -> Scores:
    """Compares predictions with the right answers of a folder's test sets.

    Each model in the predictions (a HOP, run and train size) has to answer every question of the HOP's test
    sets exactly once, and every HOP needs a model. Intervals come from drawing images with replacement, each
    with all of its questions; splits of the same pool share the draws.

    Args:
        folder: a dataset that `build` wrote.
        predictions: one or more files, JSON lines or Parquet, as docs/predictions.md describes them.
        seed: seed of the bootstrap, 0 or more; the same seed gives the same intervals.
        bootstrap: number of bootstrap samples; 0 for no intervals.
        by: breakdowns, from "family", "answer" and "objects"; "objects" reads the folder's scene files.
        hops: the HOPs to score, by default all in the folder; predictions about others are ignored.
        partial: whether to score incomplete predictions and count the missing ones.
        progress: shows the progress of the scoring.

    Raises:
        PredictionsError: predictions cannot be read, are missing or repeated, or have an unknown question,
            HOP, split or answer; the message counts each kind.
        DatasetError: the folder is not a dataset, or a file in it is incomplete.
    """
    progress = progress or Silent()
    by = checked_names("--by: no breakdown", by, BREAKDOWNS)
    check_draws(bootstrap, seed)
    key = AnswerKey(folder)
    collector = Collector(
        key, None if hops is None else checked_names("--hop: no HOP", hops, tuple(key.splits))
    )
    files = files_of(predictions)
    collect(files, collector, progress)
    collector.finish(partial=partial, what=", ".join(map(str, files)))

    conditions: list[Condition] = []
    answered = [hop for hop in collector.hops if hop not in collector.hops_missing()]
    with progress.stage("Scoring", total=len(answered), unit="HOPs") as advance:
        for hop in answered:
            for size in train_sizes(collector.given, hop):
                conditions.append(
                    _score_condition(hop, size, key, collector.given, by, bootstrap=bootstrap, seed=seed)
                )
            key.forget(hop)
            advance(1)
    return Scores(
        folder=Path(folder),
        n_predictions=collector.n_predictions,
        n_left_aside=collector.n_left_aside,
        bootstrap=bootstrap,
        seed=seed,
        conditions=tuple(conditions),
        hops_missing=collector.hops_missing(),
        notes=notes_of(files),
        n_of_suites=collector.n_of_suites,
    )


# Functions that the scoring of suites uses too


def files_of(predictions: Path | str | Sequence[Path | str]) -> list[Path]:
    """One or several files as a list."""
    return (
        [Path(predictions)] if isinstance(predictions, str | Path) else [Path(each) for each in predictions]
    )


def collect(files: Iterable[Path], collector: Collector, progress: Progress) -> None:
    """Adds all predictions of files to a collector; raises as `read_predictions` does."""
    with progress.stage("Reading predictions", total=0, unit="predictions") as advance:
        for file in files:
            for block in read_predictions(file):
                collector.add(block)
                advance(len(block))


def notes_of(files: Iterable[Path], *, suite: str | None = None) -> tuple[str, ...]:
    """The distinct notes of files, or of their rows about a suite."""
    return tuple(dict.fromkeys(note for file in files if (note := read_origin(file, suite=suite).note)))


def check_draws(bootstrap: int, seed: int) -> None:
    """Checks the settings of a bootstrap.

    Raises:
        PredictionsError: either is negative.
    """
    if bootstrap < 0 or seed < 0:
        raise PredictionsError(f"bootstrap is {bootstrap} and seed is {seed}; expected 0 or more")


def checked_names(wrong: str, names: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """The distinct names, all of which must be known; `wrong` begins the error message.

    Raises:
        PredictionsError: a name is not known.
    """
    names = tuple(dict.fromkeys(names))
    for name in names:
        if name not in known:
            raise PredictionsError(
                f'{wrong} "{name}"{suggestion(name, known)}; there are: {", ".join(known)}'
            )
    return names


def train_sizes(given: Iterable[Target], hop: str) -> list[int | None]:
    """The train sizes of a HOP's predictions: an unknown size first, then in ascending order."""
    sizes = {target.train_size for target in given if target.hop == hop}
    return sorted(sizes, key=lambda size: -1 if size is None else size)


def _score_condition(
    hop: str,
    size: int | None,
    key: AnswerKey,
    given: Mapping[Target, AnswerNumbers],
    by: Sequence[str],
    *,
    bootstrap: int,
    seed: int,
) -> Condition:
    runs = runs_in_order({each.run for each in given if (each.hop, each.train_size) == (hop, size)})
    splits = key.splits[hop]
    missing = {}
    by_pool: dict[str, list[AnsweredSplit]] = {}
    for split in splits:
        questions = key.test_set(hop, split)
        none = np.full(len(questions), NOT_GIVEN, dtype=np.int16)
        rows = np.stack([given.get(Target(hop, split, run, size), none) for run in runs])
        n_missing = int(np.count_nonzero(rows == NOT_GIVEN))
        if n_missing == rows.size and not SPLITS[split].is_test_set:
            continue
        if n_missing:
            missing[split] = n_missing
        if n_missing < rows.size:
            parts = {name: key.parts(name, questions) for name in by}
            by_pool.setdefault(questions.pool, []).append(AnsweredSplit(questions, rows, parts))
    tallies: dict[str, Tallies] = {}
    for pool, each in by_pool.items():
        tallies |= tally(each, n_samples=bootstrap, seed=draw_seed(hop, pool, seed))
    there = [split for split in splits if split in tallies]
    rates = {split: tallies[split].runs for split in there}
    return Condition(
        hop=hop,
        train_size=size,
        runs=tuple(
            Run(run, _scored({split: each.only(k) for split, each in rates.items() if each.defined[k]}))
            for k, run in enumerate(runs)
        ),
        mean=_scored(rates, tallies),
        breakdowns={name: _parts(name, tallies, key, hop) for name in by},
        missing=missing,
    )


def runs_in_order(runs: Iterable[str | None]) -> list[str | None]:
    """The runs in order: the unnamed run first, then numbered runs by number, then the others by name."""

    def rank(run: str | None) -> tuple[int, int, str]:
        if run is None:
            return (0, 0, "")
        return (1, int(run), run) if run.isdecimal() else (2, 0, run)

    return sorted(runs, key=rank)


# From rates to results


def _scored(rates: Mapping[str, Rates], tallies: Mapping[str, Tallies] | None = None) -> Scored:
    """Means over the columns that have the split; a gap is averaged over those that have both of its splits.

    `tallies` has the numbers of questions and images over all runs; without it, splits have one column each.
    """
    splits = {}
    for split, each in rates.items():
        found, drawn = each.found[each.defined], each.drawn[:, each.defined]
        splits[split] = Accuracy(
            percent=100 * float(found.mean()),
            interval=interval(100 * drawn.mean(axis=1)),
            n_questions=tallies[split].n_questions if tallies else int(each.n_questions[0]),
            n_pictures=tallies[split].n_images if tallies else int(each.n_images[0]),
            deviation=_deviation(found),
        )
    return Scored(splits, _gaps(rates))


def _gaps(rates: Mapping[str, Rates]) -> dict[str, Gap]:
    """The gaps for which both splits are present, averaged over the columns that both have."""
    gaps = {}
    for name, gap in GAPS.items():
        if gap.name in rates and gap.baseline in rates:
            ood, iid = rates[gap.name], rates[gap.baseline]
            # Without predictions a rate is NaN, and so is any difference from it.
            found = np.subtract(ood.found, iid.found)
            drawn = np.subtract(ood.drawn, iid.drawn)
            both = ~np.isnan(found)
            if both.any():
                gaps[name] = Gap(
                    points=100 * float(found[both].mean()),
                    interval=interval(100 * drawn[:, both].mean(axis=1)),
                    deviation=_deviation(found[both]),
                )
    return gaps


def _deviation(found: Floats) -> float | None:
    """The standard deviation over runs (ddof 1), in percentage points."""
    return 100 * float(found.std(ddof=1)) if len(found) > 1 else None


def _parts(name: str, tallies: Mapping[str, Tallies], key: AnswerKey, hop: str) -> tuple[Part, ...]:
    """The parts of a breakdown that have a question in some split."""
    by_part: dict[int, dict[str, Rates]] = {}
    for split, each in tallies.items():
        rates = each.parts[name]
        for k in np.flatnonzero(rates.defined).tolist():
            by_part.setdefault(k, {})[split] = rates.only(k)
    numbers = sorted(by_part)
    names = key.part_names(name, numbers, hop)
    return tuple(Part(title, _scored(by_part[k])) for k, title in zip(numbers, names, strict=True))
