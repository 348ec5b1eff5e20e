"""Scores predictions about a folder: the loop that all kinds of questions share, and test sets' scores."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from clevrhope.dataset.question_kinds import SINGLE, QuestionKind
from clevrhope.errors import PredictionsError
from clevrhope.metrics.accuracies import question_condition
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.collector import Collector, collect, train_sizes
from clevrhope.metrics.predictions import read_origin
from clevrhope.metrics.results import Condition, Model, Results
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.settings import suggestion

DEFAULT_BOOTSTRAP = 1000


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
    with all of its questions; splits of the same pool share the draws.

    Args:
        folder: a dataset that `build` wrote.
        predictions: one or more files, JSON lines or Parquet, as docs/predictions.md describes them.
        seed: seed of the bootstrap, 0 or more; the same seed gives the same intervals.
        bootstrap: number of bootstrap samples; 0 for no intervals.
        by: breakdowns, by default all of the kind: "family", "answer" and "objects" of questions about one
            image; "objects" reads the folder's scene files.
        hops: the HOPs to score, by default all in the folder; predictions about others are ignored.
        partial: whether to score incomplete predictions and count the missing ones.
        progress: shows the progress of the scoring.
        kind: the kind of questions; predictions about others are ignored.

    Raises:
        PredictionsError: predictions cannot be read, are missing or repeated, or have an unknown question,
            HOP, split or answer; the message counts each kind.
        DatasetError: the folder is not a dataset, or a file in it is incomplete.
    """
    check_draws(bootstrap, seed)
    key = AnswerKey(folder, kind)
    names = checked_names("--by: no breakdown", key.breakdowns if by is None else by, key.breakdowns)
    files = files_of(predictions)
    collector = collect(files, key, checked_hops(key, hops), partial=partial, progress=progress)

    def condition(model: Model) -> Condition:
        breakdowns = {name: key.breakdown(name, model.hop) for name in names}
        return question_condition(key, model, collector.given, breakdowns, bootstrap=bootstrap, seed=seed)

    missing = collector.hops_missing()
    answered = [hop for hop in collector.hops if hop not in missing]
    return Results(
        folder=key.folder,
        bootstrap=bootstrap,
        seed=seed,
        conditions=tuple(conditions_of(key, collector, answered, condition, progress)),
        n_predictions=collector.n_predictions,
        n_left_aside=collector.n_left_aside,
        n_of_suites=collector.n_of_suites,
        hops_missing=missing,
        notes=notes_of(files),
        kind=kind.name,
    )


# What scoring shares for all kinds of questions


def conditions_of(
    key: AnswerKey,
    collector: Collector,
    hops: Sequence[str],
    condition: Callable[[Model], Condition],
    progress: Progress | None = None,
) -> list[Condition]:
    """The conditions of all HOPs and train sizes in the predictions; forgets a HOP's test sets after it."""
    conditions: list[Condition] = []
    with (progress or Silent()).stage("Scoring", total=len(hops), unit="HOPs") as advance:
        for hop in hops:
            conditions += [condition(Model(hop, size)) for size in train_sizes(collector.given, hop)]
            key.forget(hop)
            advance(1)
    return conditions


def files_of(predictions: Path | str | Sequence[Path | str]) -> list[Path]:
    """One or several files as a list."""
    files = [predictions] if isinstance(predictions, str | Path) else predictions
    return [Path(file) for file in files]


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
