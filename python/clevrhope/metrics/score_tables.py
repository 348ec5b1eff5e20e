"""Scores of every kind of question as text tables for people."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from clevrhope.metrics.measures import MINIMAL_GROUPS, NONCE
from clevrhope.metrics.nonce import below_chance
from clevrhope.metrics.results import Condition, Measure, Part, Results
from clevrhope.metrics.suite_tables import suite_lines
from clevrhope.metrics.text_tables import (
    NO_SCORE,
    ROW_HEADS,
    SCORES,
    WHY_NO_SCORE,
    Line,
    described,
    deviation_text,
    interval_text,
    is_undefined,
    row_cells,
    table_lines,
    text_with_interval_and_n,
    value_text,
)
from clevrhope.pages import render_lines
from clevrhope.splits.hops import PRELIM
from clevrhope.splits.kinds import VALUE_SPLITS

_GAP = " gap"
_BASELINES = {"maj": "Maj", "maj_templ": "MajTempl"}
"""Baseline of a split -> the name of its row."""
_UNREAD = {
    "not read": "share",
    "  where yes is right": "share_yes",
    "  where no is right": "share_no",
    "accuracy if unread are wrong": "if_wrong",
    "accuracy if unread are right": "if_right",
}
"""Name of a row -> the field of `Unread` that it shows."""
_WITH_INTERVAL = ("unseen", "seen", "gap", "known_gap")
"""Measures whose intervals are shown; JSON and CSV have all."""


def scores_lines(results: Results) -> Iterator[str]:
    """The tables for each HOP and train size: its runs and their mean, then the breakdowns."""
    if results.kind == "pairs":
        yield from suite_lines(results)
    elif results.kind == "nonce":
        yield from _nonce_lines(results)
    else:
        gaps = (
            "" if results.kind == "sets" else "; gaps, out-of-distribution minus in-distribution, in points"
        )
        yield f"Accuracies in per cent{gaps}."
        for condition in results.conditions:
            yield ""
            yield from _condition(condition)
            for by in condition.breakdowns:
                yield from _breakdown(condition, by)
        values = [each for each in results.conditions if set(each.splits) <= set(VALUE_SPLITS)]
        if len(values) > 1:
            yield ""
            yield from _values_alone(values)
    if results.predicates:
        yield ""
        yield from _predicates(results)
    yield ""
    splits = [split for condition in results.conditions for split in condition.splits.values()]
    has = {f"has_{name}": any(split.by(name) for split in splits) for name in ("crossings", "groups")}
    below = [part for split in splits if results.kind == "nonce" for part in below_chance(split)]
    names = list(dict.fromkeys(part.name for part in below))
    yield from render_lines("scores/notes.md", results=results, splits=splits, below_chance=names, **has)


def _condition(condition: Condition) -> Iterator[str]:
    size = "" if condition.train_size is None else f"{condition.train_size:,} questions"
    if condition.model:
        of = f" of {size}" if size else ""
        yield f"{condition.hop}, {condition.model}, trained {described(condition.training)}{of}"
    else:
        yield f"{condition.hop}{f', trained on {size}' if size else ''}"
    mean, splits = measures_of(condition, Part()), condition.splits
    columns = list(mean)

    def cells(name: str, show: Callable[[Measure, bool], str], run: int | None = None) -> list[str]:
        return [name, *_cells(measures_of(condition, Part(), run), columns, show)]

    def of_splits(name: str, texts: Sequence[str]) -> list[str]:
        return [name, *texts, *[""] * (len(columns) - len(splits))]

    rows: list[Line] = [["", *columns]]
    rows.append(of_splits("questions", [f"{each.mean.counts['n_questions']:,}" for each in splits.values()]))
    if condition.missing:
        rows.append(of_splits("missing", [f"{condition.missing.get(split, 0):,}" for split in splits]))
    for k, run in enumerate(condition.runs):
        rows.append(cells("accuracy" if run is None else f"run {run}", value_text, k))
    if len(condition.runs) > 1:
        rows.append(cells(f"mean of {len(condition.runs)} runs", value_text))
        rows.append(cells("deviation between runs", deviation_text))
    if any(each.mean["accuracy"].interval for each in splits.values()):
        rows.append(cells("95% interval", interval_text))
    for measure in MINIMAL_GROUPS:
        found = [each.mean.measures.get(measure) for each in splits.values()]
        if any(found):
            name = MINIMAL_GROUPS[measure].heading
            rows.append(of_splits(name, [_share_and_n(each) if each else "" for each in found]))
    for baseline, name in _BASELINES.items():
        constants = [each.constants.get(baseline) for each in splits.values()]
        if any(constants):
            rows.append(of_splits(name, [f"{each.percent:.1f}" if each else "" for each in constants]))
    unread = [each.unread for each in splits.values()]
    if any(each and each.n for each in unread):
        for name, field in _UNREAD.items():
            shares = [getattr(each, field) for each in unread]
            rows.append(of_splits(name, ["-" if share is None else f"{share:.1f}" for share in shares]))
    yield from table_lines(rows)


def _values_alone(conditions: Sequence[Condition]) -> Iterator[str]:
    """One table for the preliminary HOPs, each of which asks for a single value."""
    rows = [["each value alone", *VALUE_SPLITS]]
    for condition in conditions:
        size = "" if condition.train_size is None else f" {condition.train_size:,}"
        cells = _cells(measures_of(condition, Part()), VALUE_SPLITS, text_with_interval_and_n)
        rows.append([f"  {condition.hop.removeprefix(f'{PRELIM}_')}{size}", *cells])
    yield from table_lines(rows)


def _breakdown(condition: Condition, by: str) -> Iterator[str]:
    """A breakdown, without splits that have a single part: a minimal set has one family and one object."""
    names = {"predicate": "with it", "not predicate": "without it"}
    measures = {
        names.get(part.by, part.name): measures_of(condition, part) for part in condition.breakdowns[by]
    }
    n_parts = Counter(column for of_part in measures.values() for column in of_part)
    columns = [*condition.splits, *sorted(f"{name}{_GAP}" for name in condition.gaps)]
    columns = [column for column in columns if n_parts[column] > 1]
    if columns:
        rows = [
            [f"  {name}", *_cells(of, columns, text_with_interval_and_n)] for name, of in measures.items()
        ]
        yield ""
        yield from table_lines([[f"  by {by}", *columns], *(row for row in rows if any(row[1:]))])


def _predicates(results: Results) -> Iterator[str]:
    """The table of splits by predicates."""
    yield "Splits by predicates, on the questions that have the property"
    rows: list[Line] = [["", *ROW_HEADS]]
    for row in results.predicates:
        of, shots = row.training.predicate, row.training.shots
        rows.append(f"{row.hop} {row.split}, {row.model}, {shots:,} shots: {of}")
        rows.append(["", *row_cells(row)])
        for name, scores in row.generalisation.items():
            if interval := interval_text(scores["score"]):
                rows.append(f"  95% interval of the {SCORES[name]}: {interval}")
    yield from table_lines(rows)
    if any(map(is_undefined, results.predicates)):
        yield f"{NO_SCORE}: {WHY_NO_SCORE}"


def measures_of(condition: Condition, part: Part, run: int | None = None) -> dict[str, tuple[Measure, bool]]:
    """Heading of a split or gap -> a part's measure, and whether it is shown with its sign."""
    found = {}
    for heading, measure in (("", "accuracy"), (_GAP, "gap")):
        for name, scores in condition.scores_of(measure, part, run).items():
            found[name + heading] = (scores[measure], measure == "gap")
    return found


def _cells(
    measures: dict[str, tuple[Measure, bool]], columns: Sequence[str], show: Callable[[Measure, bool], str]
) -> list[str]:
    return [show(*measures[name]) if name in measures else "" for name in columns]


def _share_and_n(measure: Measure) -> str:
    return f"{value_text(measure)} of {measure.n:,}"


# Episodes with nonce words


def _nonce_lines(results: Results) -> Iterator[str]:
    """For each train size, all measures of each form and grid, and the intervals of some."""
    yield "Accuracies and shares in per cent; gaps in points."
    for condition in results.conditions:
        size = "" if condition.train_size is None else f", trained on {condition.train_size:,} questions"
        runs = f", mean of {len(condition.runs)} runs" if len(condition.runs) > 1 else ""
        yield from ("", f"episodes{size}{runs}")
        forms, grids = (condition.breakdowns[by] for by in ("form", "grid"))
        yield from table_lines(_episode_rows(condition, (Part(), *forms)))
        if len(grids) > 1:
            yield from ("", *table_lines(_episode_rows(condition, grids)))


def _episode_rows(condition: Condition, parts: Sequence[Part]) -> Iterator[Line]:
    (split,) = condition.splits.values()
    scores = [split.parts[part].mean for part in parts]
    yield ["", *(part.name or "all" for part in parts)]
    yield ["episodes", *(f"{each.counts['n_episodes']:,}" for each in scores)]
    yield ["  with known words", *(f"{each.counts['n_known']:,}" for each in scores)]
    for name, kind in NONCE.items():
        measures = [each[name] for each in scores]
        if any(measure.value is not None for measure in measures):
            yield [kind.heading, *(value_text(measure, kind.signed) for measure in measures)]
        if name in _WITH_INTERVAL and any(measure.interval for measure in measures):
            yield ["    95% interval", *(interval_text(measure, kind.signed) for measure in measures)]
