"""What sums a report up: the question and its answer, a row for each group of runs, and one for each run."""

from collections.abc import Iterable, Iterator, Sequence

from clevrhope.metrics.estimates import LEAST_DENOMINATOR, Estimate
from clevrhope.report.groups import (
    Group,
    accuracy,
    blind,
    complex_gap,
    gap_of,
    matched_gap,
    plain_beside_matched,
)
from clevrhope.report.page import Block, Table, Text
from clevrhope.report.results import FLOORS
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
    yield Text(question or _ASKED)
    for answer in answers:
        yield Text(answer)
    own = [each for each in at_largest(groups) if each.results[0].source.model not in FLOORS]
    for model, combinations in dict.fromkeys((each.model, each.combinations) for each in own):
        yield Text(_sentence([e for e in own if (e.model, e.combinations) == (model, combinations)]))
    if draws:
        from clevrhope.report.figures import overview

        yield overview(at_largest(groups))


def at_largest(groups: Sequence[Group]) -> list[Group]:
    """The groups with the largest train size of each model, model by model."""
    largest: dict[str, int] = {}
    for each in groups:
        largest[each.model] = max(largest.get(each.model, 0), each.train_size or 0)
    sizes = largest.items()
    return [each for size in sizes for each in groups if (each.model, each.train_size or 0) == size]


def _sentence(groups: Sequence[Group]) -> str:
    """The gap at each diversity; these are not averaged, as nested palettes are not independent."""
    first = groups[0]
    name = ", ".join(filter(None, (first.model, first.combinations, first.size)))
    unit = "palette" if first.combinations else "held-out pair"
    gaps = []
    for each in groups:
        gap = each.estimate(complex_gap)
        if gap is not None and beat_baseline(each.results):
            of = counted(len(each.sub_datasets), unit)
            gaps.append(f"{estimate_text(gap, points=True)} at diversity {each.diversity} ({of})")
    silent = [each for each in groups if not beat_baseline(each.results)]
    collapsed = sum(run.collapsed for each in groups if each not in silent for run in each.results)
    of_which = f"; {counted(collapsed, 'run')} collapsed" if collapsed else ""
    said = [
        f"the gap (accuracy on {OOD} minus that on {IID}, in points) is {', '.join(gaps)}{of_which}"
    ] * bool(gaps)
    if silent:
        levels = ", ".join(str(each.diversity) for each in silent)
        said.append(
            f"nothing can be said about the gap{f' at diversity {levels}' if gaps else ''}, as "
            + (
                "the model gave no answer to any question"
                if all(not any(run.n_answered.values()) for each in silent for run in each.results)
                else f"accuracy on {IID} does not beat the question-only baseline, so the model has not "
                "learned to look at images"
            )
        )
    return f"{name}: {'; '.join(said)}."


def summary_tables(groups: Sequence[Group]) -> Iterator[Table]:
    """Accuracies, gaps and transfer by group, and the plain beside the matched gap."""
    rows = [row for each in groups for row in _with_uncollapsed(each)]
    if not rows:
        return
    yield Table(
        title="Accuracy, gap and transfer",
        head=["model", *_PLACE, "pairs or palettes, runs", f"{IID}, %", f"{OOD}, %",
              f"question alone: {IID}, %", f"question alone: {OOD}, %", "complex gap, points",
              "normalised transfer", "transfer if always right"],
        rows=[
            [each.model, *_place(each), _counts(each),
             *(_cell(each, estimate) for estimate in (
                 each.estimate(accuracy(IID)), each.estimate(accuracy(OOD)),
                 each.estimate(blind(IID)), each.estimate(blind(OOD)))),
             _cell(each, each.estimate(complex_gap), points=True), _transfer(each, each.transfer),
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
            head=["model", *_PLACE, "plain gap", "matched gap", "cells without a match",
                  "OOD questions in them"],
            rows=[
                [each.model, *_place(each),
                 _cell(each, each.estimate(plain_beside_matched), points=True),
                 _cell(each, each.estimate(matched_gap), points=True), *unmatched_cells(each.results)]
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
            head=["model", *_PLACE, gap.baseline, "a constant answer", gap.name, "a constant answer",
                  "minimal gap, points"],
            rows=[
                [each.model, *_place(each),
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
             _transfer(of_run, of_run.transfer)]
            for each in rows
            for of_run in [Group((each,))]
        ],
        note="Intervals are bootstraps over images.",
    )  # fmt: skip


_PLACE = ("combinations", "diversity", "train size")


def _place(group: Group) -> list[str]:
    return [group.combinations or "all", str(group.diversity), group.size]


def _with_uncollapsed(group: Group) -> list[Group]:
    without = group.without_collapsed()
    return [group] if without is None else [group, without]


def _counts(group: Group) -> str:
    text = f"{len(group.sub_datasets)}, {len(group.results)}"
    return f"{text} without {group.n_collapsed} collapsed" if group.n_collapsed else text


def _cell(group: Group, estimate: Estimate | None, *, points: bool = False) -> str:
    if estimate is None:
        return ""
    return greyed(estimate_text(estimate, points=points), group.results)


def _transfer(group: Group, estimate: Estimate | None) -> str:
    return "" if estimate is None else greyed(estimate_text(estimate, digits=2), group.results)


def estimate_text(estimate: Estimate, *, points: bool = False, digits: int = 1) -> str:
    """A figure with its interval, as "-24.3 [-30.1, -18.2]"."""

    def text(value: float) -> str:
        return with_sign(value) if points else f"{value:.{digits}f}".replace("-", MINUS)

    interval = estimate.interval
    beside = "" if interval is None else f" [{text(interval.low)},{NO_BREAK}{text(interval.high)}]"
    return text(estimate.value) + beside
