"""The summary of a report: the question and its answer, a row for each group of runs, and one for each run.

The runs of a group share a row: one model, one way of choosing combinations, one diversity and one train
size. A figure of a group is the mean over sub-datasets (pairs, palettes, datasets) of the mean over runs on
each. Its 95% interval is a bootstrap over the sub-datasets, or over the images of a single one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clevrhope.metrics.estimates import LEAST_DENOMINATOR, Estimate, mean_of_datasets, mean_of_runs, transfer
from clevrhope.report.page import Block, Table, Text
from clevrhope.report.results import FLOORS, Result, grouped
from clevrhope.report.tables import (
    MINUS,
    NO_BREAK,
    beat_baseline,
    counted,
    greyed,
    unmatched_cells,
    with_sign,
)
from clevrhope.splits.kinds import IID, OOD, SYSTEMATICITY_GAPS

if TYPE_CHECKING:
    from clevrhope.metrics.slopes import MeanSlope

Pick = Callable[[Result], Estimate | None]
"""Takes a figure of a run from its result; None where the run does not have it."""


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that share a row.

    Attributes:
        results: of the runs.
        n_collapsed: number of runs that were left out since they collapsed.
    """

    results: tuple[Result, ...]
    n_collapsed: int = 0

    @property
    def first(self) -> Result:
        """Any of them, to ask for what they have in common: model, combinations, diversity and train size."""
        return self.results[0]

    @property
    def sub_datasets(self) -> dict[tuple[Path, str], list[Result]]:
        """The runs on each sub-dataset."""
        return grouped(self.results, lambda each: each.sub_dataset)

    def estimate(self, pick: Pick) -> Estimate | None:
        """The group's figure; None where no run has it."""
        found = [
            [each for run in runs if (each := pick(run)) is not None] for runs in self.sub_datasets.values()
        ]
        means = [mean_of_runs(each) for each in found if each]
        return mean_of_datasets(means) if means else None

    @property
    def transfer(self) -> Estimate | None:
        """Normalised transfer, from means over the sub-datasets; None where one has no question-only runs."""
        found = [self.estimate(pick) for pick in (accuracy(OOD), accuracy(IID), blind(OOD), blind(IID))]
        if any(each.blind is None for each in self.results) or None in found:
            return None
        ood, iid, blind_ood, blind_iid = (each for each in found if each is not None)
        return transfer(ood, iid, blind_ood, blind_iid)

    @property
    def perfect_transfer(self) -> float | None:
        """The normalised transfer of a model that is always right; None as for `transfer`."""
        ood, iid = self.estimate(blind(OOD)), self.estimate(blind(IID))
        if self.transfer is None or ood is None or iid is None:
            return None
        return (100 - ood.value) / (100 - iid.value)

    def without_collapsed(self) -> "Group | None":
        """The group without its collapsed runs; None where there are none, or nothing is left."""
        left = tuple(each for each in self.results if not each.collapsed)
        n = len(self.results) - len(left)
        return replace(self, results=left, n_collapsed=n) if n and left else None


def groups_of(results: Iterable[Result]) -> list[Group]:
    """The groups of results with a complex gap, in order: plain pairs first, by size and diversity."""
    whole = [each for each in results if each.gap("complex") is not None and each.diversity]
    found = grouped(whole, lambda each: (each.combinations, each.train_size, each.diversity, each.model))
    in_order = sorted(found, key=lambda key: (key[0], key[1] or 0, key[2]))
    return [Group(tuple(found[key])) for key in in_order]


def accuracy(split: str) -> Pick:
    """Takes the accuracy on a test set."""
    return lambda result: result.accuracies.get(split)


def blind(split: str) -> Pick:
    """Takes the accuracy of the question alone on a test set."""
    return lambda result: None if result.blind is None else result.blind.accuracies.get(split)


def gap_of(kind: str) -> Pick:
    """Takes a plain gap, "complex" or "minimal"."""
    return lambda result: result.gap(kind)


complex_gap = gap_of("complex")
"""Takes the plain complex gap."""


def matched_gap(result: Result) -> Estimate | None:
    """Takes the matched gap."""
    return None if result.matched is None else result.matched.points


def plain_beside_matched(result: Result) -> Estimate | None:
    """Takes the plain gap on the OOD questions that have a match."""
    return None if result.matched is None else result.matched.plain


_ASKED = (
    "Does a model that knows two attribute values separately also understand them in a combination that it "
    "never saw?"
)


def headline(
    groups: Sequence[Group], question: str | None, answers: Iterable[str], *, draws: bool
) -> Iterator[Block]:
    """The question, the answers, a sentence for each model, and the figure; nothing without a complex gap."""
    if not groups:
        return
    yield from map(Text, (question or _ASKED, *answers))
    shown = _at_largest(groups)
    own = [each for each in shown if each.first.source.model not in FLOORS]
    lines = grouped(own, lambda each: (each.first.model, each.first.combinations))
    yield from map(Text, map(_sentence, lines.values()))
    if draws:
        from clevrhope.report.figures import overview

        yield overview(shown)


def _at_largest(groups: Sequence[Group]) -> list[Group]:
    """The groups with the largest train size of each model, model by model."""
    models = grouped(groups, lambda each: each.first.model).values()
    of_sizes = [grouped(own, lambda each: each.first.train_size or 0) for own in models]
    return [each for of_size in of_sizes for each in of_size[max(of_size)]]


def _sentence(groups: Sequence[Group]) -> str:
    """The gap at each diversity; these are not averaged, since nested palettes are not independent."""
    first = groups[0].first
    name = ", ".join(filter(None, (first.model, first.combinations, first.size)))
    unit = "palette" if first.combinations else "held-out pair"
    gaps, silent = [], []
    for each in groups:
        shown = each if beat_baseline(each.results) else each.without_collapsed()
        gap = None if shown is None else shown.estimate(complex_gap)
        if shown is None or gap is None:
            silent.append(each)
            continue
        of = counted(len(shown.sub_datasets), unit)
        n_collapsed = sum(run.collapsed for run in shown.results)
        if n_collapsed or shown.n_collapsed:
            how = "with" if n_collapsed else "without"
            of += f", {how} {counted(n_collapsed or shown.n_collapsed, 'collapsed run')}"
        gaps.append(f"{estimate_text(gap, points=True)} at diversity {each.first.diversity} ({of})")
    said = []
    if gaps:
        said.append(f"the gap (accuracy on {OOD} minus that on {IID}, in points) is {', '.join(gaps)}")
    if silent:
        where = f" at diversity {', '.join(str(each.first.diversity) for each in silent)}" if gaps else ""
        runs = [run for each in silent for run in each.results]
        reason = (
            f"accuracy on {IID} does not beat the question-only baseline, so the model has not learned to "
            "look at images"
            if any(run.n_answered.get(split) for run in runs for split in (IID, OOD))
            else "the model gave no answer to any question"
        )
        said.append(f"nothing can be said about the gap{where}, as {reason}")
    return f"{name}: {'; '.join(said)}."


def summary_tables(groups: Sequence[Group]) -> Iterator[Table]:
    """Accuracies, gaps and transfer by group, and the plain beside the matched gap."""
    rows = [row for each in groups for row in (each, each.without_collapsed()) if row is not None]
    if not rows:
        return
    yield Table(
        title="Accuracy, gap and transfer",
        head=[*_PLACE, "pairs or palettes, runs", f"{IID}, %", f"{OOD}, %",
              f"question alone: {IID}, %", f"question alone: {OOD}, %", "complex gap, points",
              "normalised transfer", "transfer if always right"],
        rows=[
            [*_place(each), _counts(each),
             *(_cell(each, each.estimate(of(split))) for of in (accuracy, blind) for split in (IID, OOD)),
             _cell(each, each.estimate(complex_gap), points=True), _cell(each, each.transfer, digits=2),
             "" if each.perfect_transfer is None else f"{each.perfect_transfer:.2f}"]
            for each in rows
        ],
        note="Means over pairs or palettes of the means over runs on each. Intervals are bootstraps over "
        "pairs or palettes; those of a single one are over its images alone. The "
        "transfer is (OOD minus question alone) / (IID minus question alone): 1 where the image adds as many "
        "points OOD as IID, 0 where it adds none OOD. The last column is of a model that is always right. "
        f"There is none where the denominator is below {LEAST_DENOMINATOR:g} points.",
    )  # fmt: skip
    matched = [each for each in rows if each.estimate(matched_gap) is not None]
    if matched:
        yield Table(
            title="Plain and matched complex gap, on the same OOD questions, points",
            head=[*_PLACE, "plain gap", "matched gap", "cells without a match",
                  "OOD questions in them"],
            rows=[
                [*_place(each),
                 *(_cell(each, each.estimate(of), points=True) for of in (plain_beside_matched, matched_gap)),
                 *unmatched_cells(each.results)]
                for each in matched
            ],
            note="Matched: IID questions that mention a seen pair of the same two attributes, weighted by "
            "OOD's families and numbers of objects. OOD questions without a match are in "
            "neither gap. A pair's cells count once, not once for each run.",
        )  # fmt: skip


def minimal_table(groups: Sequence[Group]) -> Iterator[Table]:
    """The minimal sets with what a constant answer has there; nothing where no run answered them."""
    gap = SYSTEMATICITY_GAPS["minimal"]
    shown = [each for each in groups if each.estimate(gap_of("minimal")) is not None]
    if shown:
        yield Table(
            title="Minimal sets, per cent",
            head=[*_PLACE, gap.baseline, "a constant answer", gap.name, "a constant answer",
                  "minimal gap, points"],
            rows=[
                [*_place(each),
                 *(text for split in (gap.baseline, gap.name) for text in (
                     _cell(each, each.estimate(accuracy(split))), _constant(each, split))),
                 _cell(each, each.estimate(gap_of("minimal")), points=True)]
                for each in shown
            ],
            note="A constant answer is the most frequent one of the set, which is mostly no. A model that is "
            "not above it has not learned this kind of question, and its minimal gap says nothing.",
        )  # fmt: skip


def _constant(group: Group, split: str) -> str:
    found = [each.constants[split] for each in group.results if split in each.constants]
    return f"{sum(found) / len(found):.1f}" if found else ""


def runs_table(groups: Sequence[Group]) -> Table:
    """A row for each run."""
    rows = [each for group in groups for each in group.results]
    is_one = len({each.source.dataset.resolve() for each in rows}) == 1
    return Table(
        title="Every run",
        head=["model", "held-out pair" if is_one else "dataset, held-out pair", "diversity", "train size",
              "run", f"{IID}, %", f"{OOD}, %",
              "complex gap, points", "matched gap, points", "normalised transfer"],
        rows=[
            [each.model,
             each.hop if is_one else f"{each.source.dataset.resolve().name}, {each.hop}",
             str(each.diversity), each.size,
             f"{each.run}, collapsed" if each.collapsed else each.run,
             *(_cell(of_run, estimate) for estimate in (each.accuracies.get(IID), each.accuracies.get(OOD))),
             *(_cell(of_run, estimate, points=True) for estimate in (complex_gap(each), matched_gap(each))),
             _cell(of_run, of_run.transfer, digits=2)]
            for each in rows
            for of_run in [Group((each,))]
        ],
        note="Intervals are bootstraps over images.",
    )  # fmt: skip


_PLACE = ("model", "held-out pair", "diversity", "train size")


def _place(group: Group) -> list[str]:
    hops = {each.hop for each in group.results}
    first, place = group.first, min(hops) if len(hops) == 1 else f"{len(hops)} pairs"
    return [first.model, place, str(first.diversity), first.size]


def _counts(group: Group) -> str:
    text = f"{len(group.sub_datasets)}, {len(group.results)}"
    return f"{text} without {group.n_collapsed} collapsed" if group.n_collapsed else text


def _cell(group: Group, estimate: Estimate | None, *, points: bool = False, digits: int = 1) -> str:
    if estimate is None:
        return ""
    return greyed(estimate_text(estimate, points=points, digits=digits), group.results)


def estimate_text(estimate: "Estimate | MeanSlope", *, points: bool = False, digits: int = 1) -> str:
    """A figure with its interval, as "-24.3 [-30.1, -18.2]"; with its sign if it is in points."""

    def text(value: float) -> str:
        return with_sign(value, digits) if points else f"{value:.{digits}f}".replace("-", MINUS)

    interval = estimate.interval
    beside = "" if interval is None else f" [{text(interval.low)},{NO_BREAK}{text(interval.high)}]"
    return text(estimate.value) + beside
