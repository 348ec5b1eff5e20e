"""Scores of episodes with nonce words as text: a table by form, and one by grid."""

from collections.abc import Iterator

from clevrhope.metrics.measures import NONCE
from clevrhope.metrics.results import Condition, Part, Results
from clevrhope.metrics.text_tables import Line, interval_text, table_lines, value_text

_WITH_N = ("known", "known_gap", "group_unseen")
"""Measures for which the number that they are of is shown, too."""

_WITH_INTERVAL = ("unseen", "seen", "gap", "known_gap")
"""Measures whose intervals are shown; JSON and CSV have all."""


def nonce_lines(results: Results) -> Iterator[str]:
    """For each train size, all measures of each form and grid, and their intervals."""
    yield "Accuracies and shares in per cent; gaps in points."
    for condition in results.conditions:
        yield ""
        size = condition.train_size
        runs = f", mean of {len(condition.runs)} runs" if len(condition.runs) > 1 else ""
        yield f"episodes{'' if size is None else f', trained on {size:,} questions'}{runs}"
        forms, grids = (condition.breakdowns[by] for by in ("form", "grid"))
        yield from table_lines(_rows(condition, (Part(), *forms)))
        if len(grids) > 1:
            yield ""
            yield from table_lines(_rows(condition, grids))


def _rows(condition: Condition, parts: tuple[Part, ...]) -> Iterator[Line]:
    (split,) = condition.splits.values()
    scores = {part: split.parts[part].mean for part in parts if part in split.parts}
    yield ["", *(part.name or "all" for part in scores)]
    yield ["episodes", *(f"{each.counts['n_episodes']:,}" for each in scores.values())]
    for name, kind in NONCE.items():
        measures = [each[name] for each in scores.values()]
        if all(measure.value is None for measure in measures):
            continue
        yield [kind.heading, *(value_text(measure, kind.signed) for measure in measures)]
        if name in _WITH_N:
            yield ["    n", *(f"{measure.n:,}" for measure in measures)]
        if name in _WITH_INTERVAL and any(measure.interval for measure in measures):
            yield ["    95% interval", *(interval_text(measure, kind.signed) for measure in measures)]
