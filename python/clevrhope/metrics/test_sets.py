"""Scores predictions about a folder's test sets: accuracies, gaps, breakdowns and intervals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.metrics.answer_key import BREAKDOWNS, AnswerKey, TestSet
from clevrhope.metrics.collector import (
    NOT_GIVEN,
    AnswerNumbers,
    check_draws,
    checked_names,
    collect,
    files_of,
    notes_of,
    runs_of,
    train_sizes,
)
from clevrhope.metrics.measures import ACCURACY, formulas
from clevrhope.metrics.results import Condition, Part, Results, Scored, Scores, SplitScores
from clevrhope.metrics.rows import Target
from clevrhope.metrics.shares import Figure, score_flags
from clevrhope.runtime.progress import Progress, Silent
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
) -> Results:
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
    files = files_of(predictions)
    wanted = None if hops is None else checked_names("--hop: no HOP", hops, tuple(key.splits))
    collector = collect(files, key, wanted, partial=partial, progress=progress)
    conditions: list[Condition] = []
    answered = [hop for hop in collector.hops if hop not in collector.hops_missing()]
    with progress.stage("Scoring", total=len(answered), unit="HOPs") as advance:
        for hop in answered:
            for size in train_sizes(collector.given, hop):
                conditions.append(
                    _condition(hop, size, key, collector.given, by, bootstrap=bootstrap, seed=seed)
                )
            key.forget(hop)
            advance(1)
    return Results(
        folder=Path(folder),
        bootstrap=bootstrap,
        seed=seed,
        conditions=tuple(conditions),
        n_predictions=collector.n_predictions,
        n_left_aside=collector.n_left_aside,
        n_of_suites=collector.n_of_suites,
        hops_missing=collector.hops_missing(),
        notes=notes_of(files),
    )


def _condition(
    hop: str,
    size: int | None,
    key: AnswerKey,
    given: Mapping[Target, AnswerNumbers],
    by: Sequence[str],
    *,
    bootstrap: int,
    seed: int,
) -> Condition:
    runs = runs_of(given, hop, size)
    missing, of_splits = {}, {}
    for split in key.splits[hop]:
        none = np.full(len(key.test_set(hop, split)), NOT_GIVEN, dtype=np.int16)
        rows = np.stack([given.get(Target(hop, split, run, size), none) for run in runs])
        n_missing = int(np.count_nonzero(rows == NOT_GIVEN))
        if n_missing == rows.size and not SPLITS[split].is_test_set:
            continue
        if n_missing:
            missing[split] = n_missing
        if n_missing < rows.size:
            of_splits[split] = rows
    figures = accuracy_figures(key, hop, of_splits, by, bootstrap=bootstrap, seed=seed)
    names = {name: _part_names(name, figures, key, hop) for name in by}
    splits = {split: _split_scores(each, names) for split, each in figures.items()}
    return Condition(
        hop=hop,
        train_size=size,
        runs=tuple(runs),
        splits=splits,
        gaps=_gaps(figures, names),
        missing=missing,
        breakdowns={name: tuple(of.values()) for name, of in names.items()},
    )


# Accuracies with their draws


@dataclass(frozen=True)
class SplitFigures:
    """The accuracies of R runs on a split, over all questions and over each part of breakdowns."""

    questions: TestSet
    given: AnswerNumbers
    """(R, N)"""
    numbers: Mapping[str, Ints]
    """Breakdown -> (N,) the part of each question."""
    runs: Figure
    parts: Mapping[str, Mapping[int, Figure]]
    """Breakdown -> part -> its accuracy, pooled over all runs; parts without a prediction are left out."""


def accuracy_figures(
    key: AnswerKey,
    hop: str,
    given: Mapping[str, AnswerNumbers],
    by: Sequence[str] = (),
    *,
    bootstrap: int,
    seed: int = 0,
) -> dict[str, SplitFigures]:
    """The accuracies on splits, in the order of the HOP's splits; those of one pool share the draws.

    Args:
        key: the right answers.
        hop: the sub-dataset.
        given: split -> (R, N) answers of R runs; at least one of each split is given.
        by: breakdowns.
        bootstrap: number of bootstrap samples.
        seed: seed of the bootstrap.
    """
    by_pool: dict[str, list[str]] = {}
    for split in given:
        by_pool.setdefault(key.test_set(hop, split).pool, []).append(split)
    found: dict[str, SplitFigures] = {}
    for pool, splits in by_pool.items():
        sets = [key.test_set(hop, split) for split in splits]
        rows = np.concatenate([given[split] for split in splits], axis=1)
        right = rows == np.concatenate([each.answers for each in sets])
        flags = {"given": rows != NOT_GIVEN, "right": right}
        pooled = {name: each.sum(axis=0, keepdims=True, dtype=np.int32) for name, each in flags.items()}
        # Images of a set are drawn together.
        units = np.concatenate([each.images for each in sets]) // sets[0].drawn_together
        split_of = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
        draws: dict[str, Any] = {"bootstrap": bootstrap, "seed": draw_seed(hop, pool, seed)}
        numbers = [{name: key.parts(name, each) for name in by} for each in sets]
        parts = {name: np.concatenate([each[name] for each in numbers]) for name in by}
        n_parts = {name: int(part.max(initial=0)) + 1 for name, part in parts.items()}
        groups = {name: split_of * n_parts[name] + part for name, part in parts.items()}
        whole = score_flags(flags, formulas(ACCURACY), {"": split_of}, units, **draws)[""]
        of_parts = score_flags(pooled, formulas(ACCURACY), groups, units, **draws)
        for k, (split, questions) in enumerate(zip(splits, sets, strict=True)):
            found[split] = SplitFigures(
                questions=questions,
                given=given[split],
                numbers=numbers[k],
                runs=whole[k].figures["accuracy"],
                parts={
                    name: {
                        group % n_parts[name]: figure
                        for group, each in of_part.items()
                        if group // n_parts[name] == k and (figure := each.figures["accuracy"]).n[0]
                    }
                    for name, of_part in of_parts.items()
                },
            )
    return {split: found[split] for split in key.splits[hop] if split in found}


def draw_seed(hop: str, pool: str, seed: int = 0) -> tuple[int, ...]:
    """The seed for drawing a pool's images, the same for all models."""
    return (seed, *f"{hop}/{pool}".encode())


# From figures to results


def _part_names(name: str, figures: Mapping[str, SplitFigures], key: AnswerKey, hop: str) -> dict[int, str]:
    """The names of the parts of a breakdown that have a question in some split, in order of their numbers."""
    numbers = sorted({number for each in figures.values() for number in each.parts[name]})
    return dict(zip(numbers, key.part_names(name, numbers, hop), strict=True))


def _split_scores(split: SplitFigures, names: Mapping[str, Mapping[int, str]]) -> SplitScores:
    is_given = split.given != NOT_GIVEN
    answered = is_given.any(axis=0)

    def scores(figure: Figure, asked: npt.NDArray[np.bool_], runs: slice = slice(None)) -> Scores:
        n_images = len(np.unique(split.questions.images[asked]))
        counts = {"n_questions": int(np.count_nonzero(asked)), "n_images": n_images}
        return Scores({"accuracy": figure.measure(runs)}, counts)

    runs = tuple(scores(split.runs, each, slice(k, k + 1)) for k, each in enumerate(is_given))
    parts = {Part(): Scored(runs, scores(split.runs, answered))}
    for by, numbers in split.numbers.items():
        for number, figure in split.parts[by].items():
            of_part = scores(figure, answered & (numbers == number))
            parts[Part(by, names[by][number])] = Scored((), of_part)
    return SplitScores(parts, len(split.questions), int(np.count_nonzero(~is_given)))


def _gaps(
    figures: Mapping[str, SplitFigures], names: Mapping[str, Mapping[int, str]]
) -> dict[str, SplitScores]:
    """The gaps for which both splits are present, averaged over the runs that have both."""
    gaps = {}
    for name, gap in GAPS.items():
        if gap.name not in figures or gap.baseline not in figures:
            continue
        ood, iid = figures[gap.name], figures[gap.baseline]
        whole = ood.runs.minus(iid.runs)
        if np.isnan(whole.values).all():
            continue
        runs = tuple(_gap(whole, slice(k, k + 1)) for k in range(len(whole.values)))
        parts = {Part(): Scored(runs, _gap(whole))}
        for by, of_names in names.items():
            for number in ood.parts[by].keys() & iid.parts[by].keys():
                difference = ood.parts[by][number].minus(iid.parts[by][number])
                parts[Part(by, of_names[number])] = Scored((), _gap(difference))
        gaps[name] = SplitScores(parts, len(ood.questions))
    return gaps


def _gap(figure: Figure, runs: slice = slice(None)) -> Scores:
    return Scores({"gap": figure.measure(runs)})
