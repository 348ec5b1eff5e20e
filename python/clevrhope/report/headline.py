"""What comes first in a report: what was asked, the answer with its interval, and a figure of all models."""

from collections.abc import Iterable, Iterator, Sequence

from clevrhope.metrics.baselines import BASELINES
from clevrhope.report.groups import Group, complex_gap, models_in
from clevrhope.report.page import Block, Text
from clevrhope.report.results import QUESTION_ONLY
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
    own = [each for each in at_largest(groups) if each.results[0].source.model not in _FLOORS]
    for model in models_in(own):
        yield Text(_sentence([each for each in own if each.model == model]))
    if draws:
        from clevrhope.report.figures import overview

        yield overview(at_largest(groups))


_FLOORS = (QUESTION_ONLY, *BASELINES)


def at_largest(groups: Sequence[Group]) -> list[Group]:
    """The groups with the largest train size of each model."""
    largest = {
        model: max(each.train_size or 0 for each in groups if each.model == model)
        for model in models_in(groups)
    }
    models = list(largest)
    found = [each for each in groups if (each.train_size or 0) == largest[each.model]]
    return sorted(found, key=lambda each: models.index(each.model))


def _sentence(groups: Sequence[Group]) -> str:
    first = groups[0]
    whole = Group(
        first.model, "", 0, first.train_size, tuple(each for group in groups for each in group.results)
    )
    gap, transfer = whole.estimate(complex_gap), whole.transfer
    assert gap is not None
    unit = "sub-dataset" if first.combinations else "held-out pair"
    means = f"{counted(len(whole.sub_datasets), unit)}, {counted(len(whole.results), 'run')}"
    parts = [
        f"{first.model}: the gap, accuracy on {OOD} minus that on {IID}, is "
        f"{estimate_text(gap, points=True)} points (mean over {means})"
    ]
    if transfer is not None:
        parts.append(f"normalised transfer is {estimate_text(transfer, digits=2)}")
    return "; ".join(parts) + "."
