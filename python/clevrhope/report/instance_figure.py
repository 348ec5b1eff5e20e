"""The figure of runs as instances: accuracy on the held-out pair over what is known in distribution."""

from collections.abc import Sequence

from clevrhope.describe.stats.charts import FAINT, GRID, figure, png
from clevrhope.report.instances import Instance
from clevrhope.report.page import Figure
from clevrhope.report.regression_tables import HeldOutPoint
from clevrhope.report.setups import dropped
from clevrhope.splits.kinds import IID

_LOOKS = (
    ("#D55E00", "o"),
    ("#0072B2", "^"),
    ("#009E73", "s"),
    ("#CC79A7", "D"),
    ("#56B4E9", "P"),
    ("#E69F00", "v"),
    ("#444444", "X"),
)
"""Colour (Okabe and Ito's) and marker of each group; they begin anew after the last."""

_FEATURES = (f"accuracy on {IID}, %", f"RAD(D,D') on {IID}, %")
_TARGETS = ("OOD accuracy, %", "gap, points")


def instances_plot(points: Sequence[HeldOutPoint], model: str) -> Figure:
    """OOD accuracy and the gap over IID accuracy and RAD, a marker for each run."""
    groups: dict[str, list[HeldOutPoint]] = {}
    for each in points:
        groups.setdefault(_group(each.instance), []).append(each)
    with figure(
        f"{model}: the held-out pair and what is known in distribution", width_in=10, height_in=8
    ) as drawn:
        panels = drawn.subplots(2, 2, sharex="col", sharey="row")
        for (name, own), k in zip(groups.items(), range(len(groups)), strict=True):
            colour, marker = _LOOKS[k % len(_LOOKS)]
            for row, targets in enumerate(([each.ood for each in own], [each.gap for each in own])):
                for column in range(2):
                    panels[row, column].scatter(
                        [each.features[column] for each in own], targets, s=34, color=colour, marker=marker,
                        alpha=0.8, linewidths=0, label=name if (row, column) == (0, 0) else None,
                    )  # fmt: skip
        for row in range(2):
            panels[row, 0].set_ylabel(_TARGETS[row])
            for column in range(2):
                panels[row, column].grid(color=GRID, linewidth=0.8)
        for column in range(2):
            panels[1, column].axhline(0, color=FAINT, linewidth=1.2, zorder=0)
            panels[1, column].set_xlabel(_FEATURES[column])
        drawn.legend(loc="outside lower center", ncols=3)
        return Figure(
            name=f"instances_{''.join(c if c.isalnum() else '_' for c in model)}",
            title=f"Runs of {model}: the held-out pair and what is known in distribution",
            png=png(drawn),
            note="A marker is a run. Accuracy and RAD are of images with even numbers; the gap's IID "
            "accuracy is of the others.",
        )


def _group(each: Instance) -> str:
    """What the run has in common with others of its colour."""
    types = dropped(each.result.source.setup)
    if types:
        return f"questions dropped: {', '.join(types)}"
    return f"trained on {each.result.size or 'an unknown number'}"
