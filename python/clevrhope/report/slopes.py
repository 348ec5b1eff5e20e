"""How accuracy changes with diversity, over palettes that are drawn independently: slopes and tests.

Palettes are nested: the combinations of a smaller diversity are among those of a larger one. So the test set
of a palette's smallest diversity can be answered by its models of every diversity, which compares them on the
same questions.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clevrhope.errors import ConfigError
from clevrhope.metrics.paper import size_name
from clevrhope.report.groups import Group
from clevrhope.report.page import Block, Cell, Heading, Table, Text
from clevrhope.report.results import Result
from clevrhope.report.runs import LAST, REACHED_FILE
from clevrhope.report.tables import NO_BREAK, with_sign
from clevrhope.runtime.extras import check_extra
from clevrhope.splits.kinds import IID, OOD

if TYPE_CHECKING:
    from clevrhope.metrics.slopes import MeanSlope

Curve = Mapping[int, float]
"""Combinations K -> a figure of a palette's runs with K combinations."""

Figure = Callable[[Sequence[Result]], float | None]
"""A figure of the runs on one palette with one K; None where they do not have it."""


@dataclass(frozen=True)
class Curves:
    """A figure over diversity.

    Attributes:
        name: what it is.
        digits: behind the point, where it is shown.
        palettes: a curve for each palette that has the figure at all diversities.
        n_censored: runs without the figure, since they never reached the accuracy at which it is taken.
    """

    name: str
    digits: int
    palettes: tuple[Curve, ...]
    n_censored: int = 0


@dataclass(frozen=True)
class Section:
    """The curves of one model, pair and train size, the primary ones first.

    Attributes:
        title: names these.
        model: its name.
        curves: at least one with two palettes.
    """

    title: str
    model: str
    curves: tuple[Curves, ...]


def sections_of(results: Sequence[Result]) -> list[Section]:
    """The models, pairs and train sizes with several palettes of several diversities."""
    cells: dict[tuple[str, str, int | None], list[Result]] = {}
    for each in results:
        if each.mode == "random":
            cells.setdefault((each.model, each.pair, each.train_size), []).append(each)
    found = []
    for (model, pair, size), own in cells.items():
        title = f"{model} on {pair}, trained on {size_name(size) or 'an unknown number of questions'}"
        curves = curves_of(own)
        if curves:
            found.append(Section(title, model, tuple(curves)))
    return found


def missing_scipy() -> str | None:
    """Why slopes cannot be tested; None where they can."""
    try:
        check_extra("tests of slopes need", "scipy", "plots")
    except ConfigError as error:
        return str(error)
    return None


def slope_sentences(sections: Sequence[Section]) -> Iterator[str]:
    """What the primary analysis of each section says."""
    from clevrhope.metrics.slopes import mean_slope, slope_on_diversity

    for section in sections:
        primary = section.curves[0]
        if len(primary.palettes) > 1:
            found = mean_slope([slope_on_diversity(curve) for curve in primary.palettes])
            yield (
                f"{section.title}: each doubling of the combinations seen changes accuracy on the same "
                f"questions about the held-out pair by {_with_interval(found, primary.digits)} points (mean "
                f"slope over {len(primary.palettes)} palettes, 95% t interval; sign-flip test p = "
                f"{found.p_value:.3f}; a slope of {found.detectable:.1f} would be found in 80% of such "
                "experiments)."
            )


def slope_blocks(sections: Sequence[Section], *, draws: bool) -> Iterator[Block]:
    """The part of a report about slopes on diversity."""
    if not sections:
        return
    yield Heading("Accuracy over diversity")
    yield Text(
        "A palette is an order of combinations, drawn with its dataset's seed; the first K are seen. For "
        "each palette, a line is fitted to a figure on log2 K by least squares; its slope is what each "
        "doubling of K adds. The slopes of the palettes are tested, by a t interval of their mean and by the "
        "exact sign-flip test. The detectable effect is the mean slope that a t test at 5% would find in 80% "
        "of experiments as large as this one."
    )
    for section in sections:
        if draws:
            from clevrhope.report.slope_figure import slope_figure

            yield slope_figure(section.curves, section.title)
        yield _slopes_table(section.curves, section.title)


def curves_of(results: Sequence[Result]) -> list[Curves]:
    """The figures over diversity of one model, pair and train size; none without two palettes of two.

    The first, which is the primary one, is on the same questions for all diversities.
    """
    last = [each for each in results if each.checkpoint == LAST and not each.source.after]
    own = [each for each in last if not each.is_elsewhere]
    diversities = _shared_diversities(own)
    if len(diversities) < 2:
        return []
    smallest = [each for each in results if each.diversity == diversities[0]]
    reached, percent, n_censored = _reached(smallest)
    same = f"{OOD} of the palette's {diversities[0]} combinations"
    found = [
        Curves(f"{same}, %", 1, _curves(_of(smallest, LAST), diversities, _accuracy(OOD))),
        Curves(f"own {OOD}, %", 1, _curves(own, diversities, _accuracy(OOD))),
        Curves(f"own {IID}, %", 1, _curves(own, diversities, _accuracy(IID))),
        Curves("normalised transfer", 2, _curves(own, diversities, _transfer)),
    ]
    if percent is not None:
        name = f"{same}, where the tuning set is first at {percent:g}%, %"
        found.append(Curves(name, 1, _curves(reached, diversities, _accuracy(OOD)), n_censored))
    return [each for each in found if len(each.palettes) > 1 or each.n_censored]


def _of(results: Iterable[Result], checkpoint: str) -> list[Result]:
    return [each for each in results if each.checkpoint == checkpoint and not each.source.after]


def _shared_diversities(results: Iterable[Result]) -> list[int]:
    """The diversities that all palettes have; none where there is a single palette.

    A palette of all combinations is the same for all seeds, so one alone has it.
    """
    found: dict[Path, set[int]] = {}
    for each in results:
        found.setdefault(each.source.dataset.resolve(), set()).add(each.diversity)
    return sorted(set.intersection(*found.values())) if len(found) > 1 else []


def _curves(results: Iterable[Result], diversities: Sequence[int], figure: Figure) -> tuple[Curve, ...]:
    """The curves of the palettes that have the figure at all diversities."""
    palettes: dict[Path, dict[int, list[Result]]] = {}
    for each in results:
        of_palette = palettes.setdefault(each.source.dataset.resolve(), {})
        of_palette.setdefault(each.trained_diversity, []).append(each)
    found = []
    for of_palette in palettes.values():
        values = {k: figure(of_palette[k]) for k in diversities if k in of_palette}
        curve = {k: value for k, value in values.items() if value is not None}
        if len(curve) == len(diversities):
            found.append(curve)
    return tuple(found)


def _accuracy(split: str) -> Figure:
    def figure(results: Sequence[Result]) -> float | None:
        values = [each.accuracies[split].value for each in results if split in each.accuracies]
        return float(np.mean(values)) if values else None

    return figure


def _transfer(results: Sequence[Result]) -> float | None:
    first = results[0]
    found = Group(first.model, "", first.diversity, first.train_size, tuple(results)).transfer
    return None if found is None else found.value


def _reached(results: Iterable[Result]) -> tuple[list[Result], float | None, int]:
    """The results at the first two checkpoints in a row with an accuracy on the tuning set.

    Returns:
        The results, the accuracy (None where `evaluate --reaching` never ran), and the number of runs that
        never reached it.
    """
    runs: dict[Path, list[Result]] = {}
    for each in results:
        runs.setdefault(each.source.origin, []).append(each)
    found: list[Result] = []
    percent, n_censored = None, 0
    for folder, of_run in runs.items():
        path = folder / REACHED_FILE
        if not path.exists():
            continue
        content = json.loads(path.read_bytes())
        percent = float(content["percent"])
        chosen = [each for each in of_run if each.checkpoint in content["checkpoints"]]
        found += chosen
        n_censored += not chosen
    return found, percent, n_censored


def _slopes_table(curves: Sequence[Curves], title: str) -> Table:
    from clevrhope.metrics.slopes import mean_slope, slope_on_diversity

    rows = []
    for each in curves:
        places = [Cell(each.name), Cell(_censored(each))]
        if len(each.palettes) < 2:
            rows.append([*places, *[Cell()] * 4])
            continue
        found = mean_slope([slope_on_diversity(curve) for curve in each.palettes])

        slopes = ", ".join(with_sign(slope, each.digits) for slope in sorted(found.slopes))
        interval = _with_interval(found, each.digits)
        detectable = f"{found.detectable:.{each.digits}f}"
        rows.append([*places, Cell(interval), Cell(f"{found.p_value:.3f}"), Cell(detectable), Cell(slopes)])
    return Table(
        title=f"Slopes of {title}",
        head=["figure on log2 K", "palettes", "mean slope [95% t interval]", "p, sign flips",
              "detectable", "slope of each palette"],
        rows=rows,
        note="The first row is the primary analysis: the same questions for all K. Censored runs never "
        "reached the accuracy; their palettes have no slope in that row.",
    )  # fmt: skip


def _with_interval(slope: "MeanSlope", digits: int) -> str:
    low, high = (with_sign(each, digits) for each in (slope.interval.low, slope.interval.high))
    return f"{with_sign(slope.value, digits)} [{low},{NO_BREAK}{high}]"


def _censored(curves: Curves) -> str:
    n = len(curves.palettes)
    return f"{n}; {curves.n_censored} runs censored" if curves.n_censored else str(n)
