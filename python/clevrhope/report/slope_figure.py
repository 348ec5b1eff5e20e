"""The figure of accuracy over diversity, with a thin line for each palette. Needs matplotlib."""

from collections.abc import Sequence

import numpy as np

from clevrhope.describe.stats.charts import FAINT, GRID, figure, png
from clevrhope.metrics.slopes import t_reach
from clevrhope.report.page import Figure
from clevrhope.report.slopes import Curves

_MEAN = "#0072B2"
_WRAPPED = 34


def slope_figure(curves: Sequence[Curves], title: str) -> Figure:
    """Small multiples that share the axis of combinations; percentages share theirs, too."""
    shown = [each for each in curves if each.palettes]
    with figure(title, width_in=1.0 + 3.1 * len(shown), height_in=4.4) as drawn:
        panels = drawn.subplots(1, len(shown), squeeze=False)[0]
        for axes, each in zip(panels, shown, strict=True):
            levels = sorted(each.palettes[0])
            for curve in each.palettes:
                values = [curve[k] for k in levels]
                axes.plot(levels, values, color=FAINT, linewidth=1, marker="o", markersize=3)
            of_level = [[curve[k] for curve in each.palettes] for k in levels]
            means = [float(np.mean(values)) for values in of_level]
            for k, values, mean in zip(levels, of_level, means, strict=True):
                reach = t_reach(values)
                axes.vlines(k, mean - reach, mean + reach, color=_MEAN, linewidth=1.4)
            axes.plot(levels, means, color=_MEAN, linewidth=2.5, marker="o", markersize=7)
            axes.set_xscale("log", base=2)
            axes.set_xticks(levels, [str(k) for k in levels])
            axes.minorticks_off()
            axes.set_xlabel("combinations K")
            axes.grid(axis="y", color=GRID, linewidth=0.8)
            axes.set_title(_wrapped(each.name), fontsize=9)
        of_percent = [axes for axes, each in zip(panels, shown, strict=True) if each.digits == 1]
        limits = [limit for axes in of_percent for limit in axes.get_ylim()]
        for axes in of_percent:
            axes.set_ylim(max(min(limits), 0), min(max(limits), 101))
        return Figure(
            name="slopes_" + "".join(letter if letter.isalnum() else "_" for letter in title),
            title=f"Accuracy over diversity: {title}",
            png=png(drawn),
            note="A thin line for each palette; the thick one is their mean, with its 95% t interval.",
        )


def _wrapped(text: str) -> str:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= _WRAPPED:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
