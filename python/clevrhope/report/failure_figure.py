"""The figure of wrong answers: images with question, right answer and the model's. Needs matplotlib."""

from collections.abc import Sequence
from textwrap import wrap

from clevrhope.describe.stats.charts import figure, png
from clevrhope.report.failures import SEED, Failure
from clevrhope.report.page import Figure
from clevrhope.splits.kinds import OOD

_COLUMNS = 4
_LETTERS_A_LINE = 40


def failure_figure(failures: Sequence[Failure]) -> Figure:
    """A grid of images with text below each."""
    n_rows = -(-len(failures) // _COLUMNS)
    with figure(f"Wrong answers on {OOD}", width_in=12, height_in=0.4 + 3.3 * n_rows) as drawn:
        panels = drawn.subplots(n_rows, _COLUMNS, squeeze=False).ravel()
        for axes in panels:
            axes.set_axis_off()
        for axes, each in zip(panels, failures, strict=False):
            assert each.image is not None
            axes.imshow(each.image)
            lines = [
                *wrap(each.question, _LETTERS_A_LINE),
                f"right: {each.right}, answered: {each.given}",
                each.model,
            ]
            axes.set_title("\n".join(lines), fontsize=8, fontweight="normal", loc="left")
        return Figure(
            name="wrong_answers",
            title=f"{len(failures)} wrong answers on {OOD}",
            png=png(drawn),
            note=f"Drawn at random from all runs, with seed {SEED}.",
        )
