"""What comes first in a report: what was asked, the answer with its interval, and a figure of all models."""

from collections.abc import Iterable, Iterator, Sequence

from clevrhope.report.groups import Group, complex_gap
from clevrhope.report.page import Block, Text
from clevrhope.report.results import FLOORS
from clevrhope.report.summary import estimate_text
from clevrhope.report.tables import counted
from clevrhope.splits.kinds import IID, OOD

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
        if gap is not None:
            of = counted(len(each.sub_datasets), unit)
            gaps.append(f"{estimate_text(gap, points=True)} at diversity {each.diversity} ({of})")
    collapsed = sum(result.collapsed for each in groups for result in each.results)
    of_which = f"; {counted(collapsed, 'run')} collapsed" if collapsed else ""
    return (
        f"{name}: the gap (accuracy on {OOD} minus that on {IID}, in points) is {', '.join(gaps)}{of_which}."
    )
