"""Scores predictions about a folder: the loop that all kinds of questions share, and test sets' scores."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.question_kinds import SINGLE, QuestionKind
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.vocab import NO_ANSWER
from clevrhope.errors import PredictionsError
from clevrhope.metrics.answer_key import ON_REQUEST, AnswerKey, Breakdown, drawn_images, has_to_be_answered
from clevrhope.metrics.collector import (
    NOT_AN_ANSWER,
    NOT_GIVEN,
    AnswerNumbers,
    Collector,
    collect,
    runs_of,
    train_sizes,
)
from clevrhope.metrics.measures import ACCURACY, MINIMAL_GROUPS
from clevrhope.metrics.predictions import notes_of
from clevrhope.metrics.results import Condition, Model, Part, Results, Scored, Scores, SplitScores, Unread
from clevrhope.metrics.rows import Target
from clevrhope.metrics.shares import Figure, GroupFigures, score_flags
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.settings import suggestion
from clevrhope.splits.kinds import GAPS
from clevrhope.splits.minimal_groups import Groups, groups_of

DEFAULT_BOOTSTRAP = 1000

Flags = npt.NDArray[np.bool_]
Group = tuple[str, int]
"""A breakdown, and the number of a group in it."""


def score(
    folder: Path | str,
    predictions: Path | str | Sequence[Path | str],
    *,
    seed: int,
    bootstrap: int = DEFAULT_BOOTSTRAP,
    by: Iterable[str] | None = None,
    hops: Iterable[str] | None = None,
    partial: bool = False,
    progress: Progress | None = None,
    kind: QuestionKind = SINGLE,
) -> Results:
    """Compares predictions with the right answers of a folder's test sets.

    Each model in the predictions (a HOP, run and train size) has to answer every question of the HOP's test
    sets exactly once, and every HOP needs a model. Intervals come from drawing images with replacement, each
    with all of its questions, and of minimal sets places with all of their images; splits of the same pool
    share the draws.

    Args:
        folder: a dataset that `build` wrote.
        predictions: one or more files, JSON lines or Parquet, as docs/predictions.md describes them.
        seed: seed of the bootstrap, 0 or more; the same seed gives the same intervals.
        bootstrap: number of bootstrap samples; 0 for no intervals.
        by: breakdowns, by default all of the kind but "level": "family", "answer", "objects" and "level" of
            questions about one image; the last two read the folder's scene files.
        hops: the HOPs to score, by default all in the folder; predictions about others are ignored.
        partial: whether to score incomplete predictions and count the missing ones.
        progress: shows the progress of the scoring.
        kind: the kind of questions; predictions about others are ignored.

    Raises:
        PredictionsError: predictions cannot be read, are missing or repeated, or have an unknown question,
            HOP, split or answer; the message counts each kind.
        DatasetError: the folder is not a dataset, or a file in it is incomplete.
    """
    key = AnswerKey(folder, kind)
    default = [name for name in key.breakdowns if name != ON_REQUEST]
    chosen = default if by is None else [*by]
    for name in chosen:
        if lacking := key.unknown.get("objects" if name == ON_REQUEST else name):
            raise PredictionsError(f"--by {name}: the published files lack {lacking}; leave it out")
    names = checked_names("--by: no breakdown", chosen, key.breakdowns)

    def condition(given: Mapping[Target, AnswerNumbers], model: Model) -> Condition:
        breakdowns = {name: key.breakdown(name, model.hop) for name in names}
        return question_condition(key, model, given, breakdowns, bootstrap=bootstrap, seed=seed)

    draws = {"bootstrap": bootstrap, "seed": seed}
    return scored_by(condition, key, predictions, hops=hops, partial=partial, progress=progress, **draws)


def scored_by(
    condition: Callable[[Mapping[Target, AnswerNumbers], Model], Condition],
    key: AnswerKey,
    predictions: Path | str | Sequence[Path | str],
    *,
    hops: Iterable[str] | None = None,
    partial: bool = False,
    progress: Progress | None = None,
    bootstrap: int,
    seed: int,
) -> Results:
    """The scores that `condition` makes of all answers for each model; other arguments as for `score`."""
    check_draws(bootstrap, seed)
    files = files_of(predictions)
    collector = collect(files, key, checked_hops(key, hops), partial=partial, progress=progress)

    def of_model(hop: str, size: int | None) -> Condition:
        return condition(collector.given, Model(hop, size))

    missing = collector.hops_missing()
    answered = [hop for hop in collector.hops if hop not in missing]
    return Results(
        folder=key.folder,
        bootstrap=bootstrap,
        seed=seed,
        conditions=tuple(conditions_of(key, collector, answered, of_model, progress)),
        n_predictions=collector.n_predictions,
        n_left_aside=collector.n_left_aside,
        n_of_suites=collector.n_of_suites,
        hops_missing=missing,
        notes=(*notes_of(files), *key.notes),
        kind=key.kind.name,
    )


# Accuracies of all questions and by group, and gaps


@dataclass(frozen=True)
class SplitFigures:
    """The accuracies of R runs on a split with their draws, over all N questions and over each group."""

    questions: QuestionTable
    given: AnswerNumbers
    """(R, N)"""
    whole: Mapping[str, Figure]
    """The measures of `measures.ACCURACY`, and those of `measures.MINIMAL_GROUPS` for a minimal set."""
    groups: Mapping[Group, tuple[Figure, Flags]]
    """The accuracy of each group, pooled over all runs, and (N,) the questions that are in it; groups without
    a prediction are left out."""

    @property
    def runs(self) -> Figure:
        """The accuracy of each run."""
        return self.whole["accuracy"]


def accuracy_figures(
    key: AnswerKey,
    hop: str,
    given: Mapping[str, AnswerNumbers],
    breakdowns: Mapping[str, Breakdown] | None = None,
    *,
    bootstrap: int,
    seed: int = 0,
) -> dict[str, SplitFigures]:
    """The accuracies on splits, in the order of the HOP's splits; those of one pool share the draws.

    Args:
        key: the right answers.
        hop: the sub-dataset.
        given: split -> (R, N) answers of R runs; at least one of each split is given.
        breakdowns: breakdowns by name.
        bootstrap: number of bootstrap samples.
        seed: seed of the bootstrap.
    """
    by_pool: dict[str, list[str]] = {}
    for split in given:
        by_pool.setdefault(key.test_set(hop, split).pool, []).append(split)
    figures: dict[str, SplitFigures] = {}
    for pool, splits in by_pool.items():
        tables = [key.test_set(hop, split) for split in splits]
        answers = np.concatenate([given[split] for split in splits], axis=1)
        right = answers == np.concatenate([table.answers for table in tables])
        flags: dict[str, Flags] = {"given": answers != NOT_GIVEN, "right": right}
        units = np.concatenate([drawn_images(table) for table in tables])
        units = units // key.images_of_a_unit(pool, splits[0])
        split_of = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        draws: dict[str, Any] = {"bootstrap": bootstrap, "seed": draw_seed(hop, pool, seed)}
        numbers = {
            name: np.concatenate([of.numbers(table) for table in tables])
            for name, of in (breakdowns or {}).items()
        }
        sizes = {name: int(group.max(initial=0)) + 1 for name, group in numbers.items()}
        places = {name: split_of * sizes[name] + group for name, group in numbers.items()}
        measures, of_whole = ACCURACY, flags
        if size := key.images_of_a_group(hop, splits[0]):
            is_yes = np.concatenate([table.answers == key.answers.get("yes", -1) for table in tables])
            groups_asked = groups_of(is_yes)
            measures, of_whole = (
                {**ACCURACY, **MINIMAL_GROUPS},
                flags | _group_flags(flags, groups_asked, size),
            )
        whole = score_flags(of_whole, measures, {"": split_of}, units, **draws)[""]
        pooled = {name: flag.sum(axis=0, keepdims=True, dtype=np.int32) for name, flag in flags.items()}
        by_group = score_flags(pooled, ACCURACY, places, units, **draws)
        for k, split in enumerate(splits):
            groups = {}
            for name, of_name in by_group.items():
                for place, scored in of_name.items():
                    figure, number = scored.figures["accuracy"], place % sizes[name]
                    if place // sizes[name] == k and figure.n[0]:
                        groups[name, number] = figure, numbers[name][split_of == k] == number
            figures[split] = SplitFigures(tables[k], given[split], whole[k].figures, groups)
    return {split: figures[split] for split in key.splits[hop] if split in figures}


def _group_flags(flags: Mapping[str, Flags], groups: Groups, size: int) -> dict[str, Flags]:
    """The flags of `measures.MINIMAL_GROUPS`, each at the first question of a group whose answers are given.

    `flags` has "given" and "right", (R, N) each, and `size` is the number of images of a whole group.
    """
    found = {}
    for name, is_of in (("group", groups.size == size), ("smaller_group", groups.size != size)):
        for flag, of_questions in flags.items():
            found[f"{name}_{flag}"] = np.zeros_like(of_questions)
            found[f"{name}_{flag}"][:, groups.first] = groups.all_of(of_questions) & is_of
    return found


def draw_seed(hop: str, pool: str, seed: int = 0) -> tuple[int, ...]:
    """The seed for drawing a pool's images, the same for all models."""
    return (seed, *f"{hop}/{pool}".encode())


def answers_of_runs(
    key: AnswerKey, given: Mapping[Target, AnswerNumbers], model: Model, split: str
) -> AnswerNumbers:
    """(R, N) the answers of a model's R runs to a split, in order; NOT_GIVEN where one is missing."""
    hop, size = model.hop, model.train_size
    nothing = np.full(len(key.test_set(hop, split)), NOT_GIVEN, dtype=np.int16)
    rows = [given.get(Target(hop, split, run, size), nothing) for run in runs_of(given, hop, size)]
    return np.stack(rows) if rows else nothing[np.newaxis]


def question_condition(
    key: AnswerKey,
    model: Model,
    given: Mapping[Target, AnswerNumbers],
    breakdowns: Mapping[str, Breakdown],
    *,
    bootstrap: int,
    seed: int,
) -> Condition:
    """The scores of a model's runs on the test sets of its HOP, from the answers of all models."""
    missing, answers = {}, {}
    for split in key.splits[model.hop]:
        rows = answers_of_runs(key, given, model, split)
        n_missing = int(np.count_nonzero(rows == NOT_GIVEN))
        if n_missing and (n_missing < rows.size or has_to_be_answered(split)):
            missing[split] = n_missing
        if n_missing < rows.size:
            answers[split] = rows
    figures = accuracy_figures(key, model.hop, answers, breakdowns, bootstrap=bootstrap, seed=seed)
    order = list(breakdowns)
    groups = {group for of_split in figures.values() for group in of_split.groups}
    parts: dict[Group, Part] = {}
    for by, number in sorted(groups, key=lambda group: (order.index(group[0]), group[1])):
        part = breakdowns[by].part(number)
        if part is not None:
            parts[by, number] = part
    return Condition(
        *(model.hop, model.train_size, model.model, model.training),
        runs=tuple(runs_of(given, model.hop, model.train_size)),
        splits={split: _split_scores(of_split, parts, key.answers) for split, of_split in figures.items()},
        gaps=_gaps(figures, parts),
        missing=missing,
        breakdowns={by: tuple(part for group, part in parts.items() if group[0] == by) for by in order},
    )


def _split_scores(
    split: SplitFigures, parts: Mapping[Group, Part], numbers: Mapping[str, int]
) -> SplitScores:
    is_given = split.given != NOT_GIVEN
    answered = is_given.any(axis=0)
    images = drawn_images(split.questions)

    def scores(figures: Mapping[str, Figure], asked: Flags, runs: slice = slice(None)) -> Scores:
        counts = {"n_questions": int(np.count_nonzero(asked)), "n_images": len(np.unique(images[asked]))}
        measures = {name: figure.measure(runs) for name, figure in figures.items() if figure.n.any()}
        return Scores(measures, counts)

    runs = tuple(scores(split.whole, of_run, slice(k, k + 1)) for k, of_run in enumerate(is_given))
    of_parts = {Part(): Scored(runs, scores(split.whole, answered))}
    for group, (figure, is_in) in split.groups.items():
        if group in parts:
            of_parts[parts[group]] = Scored((), scores({"accuracy": figure}, answered & is_in))
    right = split.questions.answers
    is_unread = split.given == numbers.get(NO_ANSWER, NOT_AN_ANSWER)
    yes, no = (right == numbers.get(answer, NOT_AN_ANSWER) for answer in ("yes", "no"))
    unread = unread_replies(is_given, split.given == right, is_unread, yes, no)
    return SplitScores(of_parts, len(right), int(np.count_nonzero(~is_given)), unread=unread)


def unread_replies(given: Flags, right: Flags, unread: Flags, yes: Flags, no: Flags) -> Unread:
    """Counts unread replies, and bounds what the accuracy would be if they had been read.

    Args:
        given: (R, N) whether each of R runs answered each of N questions; others are left out.
        right: (R, N) whether the answer is right.
        unread: (R, N) whether the reply was not read.
        yes: (N,) whether the right answer is yes.
        no: (N,) whether the right answer is no.
    """

    def percent(part: Flags, of: Flags) -> float | None:
        parts, n = (part & of).sum(axis=1), of.sum(axis=1)
        return float(100 * np.mean(parts[n > 0] / n[n > 0])) if n.any() else None

    shares = [percent(unread, given & asked) for asked in (np.ones_like(yes), yes, no)]
    bounds = [percent(right, given), percent(right | unread, given)]
    return Unread(int(np.count_nonzero(unread & given)), *shares, *bounds)


def _gaps(figures: Mapping[str, SplitFigures], parts: Mapping[Group, Part]) -> dict[str, SplitScores]:
    """The gaps for which both splits are present, averaged over the runs that have both."""
    gaps = {}
    for name, gap in GAPS.items():
        if gap.name not in figures or gap.baseline not in figures:
            continue
        ood, iid = figures[gap.name], figures[gap.baseline]
        whole = ood.runs.minus(iid.runs)
        if np.isnan(whole.values).all():
            continue
        of_parts = {Part(): GroupFigures({"gap": whole}).scored()}
        for group, part in parts.items():
            if group in ood.groups and group in iid.groups:
                difference = ood.groups[group][0].minus(iid.groups[group][0])
                of_parts[part] = Scored((), GroupFigures({"gap": difference}).scores())
        gaps[name] = SplitScores(of_parts, len(ood.questions))
    return gaps


# What scoring shares for all kinds of questions


def conditions_of(
    key: AnswerKey,
    collector: Collector,
    hops: Sequence[str],
    condition: Callable[[str, int | None], Condition],
    progress: Progress | None = None,
) -> list[Condition]:
    """The conditions of all HOPs and train sizes in the predictions; forgets a HOP's test sets after it."""
    conditions: list[Condition] = []
    with (progress or Silent()).stage("Scoring", total=len(hops), unit="HOPs") as advance:
        for hop in hops:
            conditions += [condition(hop, size) for size in train_sizes(collector.given, hop)]
            key.forget(hop)
            advance(1)
    return conditions


def files_of(predictions: Path | str | Sequence[Path | str]) -> list[Path]:
    """One or several files as a list."""
    files = [predictions] if isinstance(predictions, str | Path) else predictions
    return [Path(file) for file in files]


def check_draws(bootstrap: int, seed: int) -> None:
    """Checks the settings of a bootstrap.

    Raises:
        PredictionsError: either is negative.
    """
    if bootstrap < 0 or seed < 0:
        raise PredictionsError(f"bootstrap is {bootstrap} and seed is {seed}; expected 0 or more")


def checked_hops(key: AnswerKey, hops: Iterable[str] | None) -> tuple[str, ...] | None:
    """The distinct HOPs, all of which must be in the folder; None for all. Raises as `checked_names`."""
    return None if hops is None else checked_names("--hop: no HOP", hops, tuple(key.splits))


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
