"""Wrong answers to some questions about held-out pairs, drawn with a seed, with their images."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

import numpy as np

from clevrhope.dataset.image_source import find_images
from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import open_split
from clevrhope.dataset.vocab import NO_ANSWER, read_vocab
from clevrhope.errors import ClevrhopeError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.collector import NOT_GIVEN
from clevrhope.report.page import Block, Figure, Table
from clevrhope.report.results import FLOORS, Result
from clevrhope.splits.kinds import OOD

N_SHOWN, SEED = 12, 0

_HOW = (
    f"Drawn at random with seed {SEED}, from the runs of models that see the image: as many from each run as "
    f"from any other, or one each from {N_SHOWN} runs where there are more."
)

_COLUMNS = 4
_LETTERS_A_LINE = 40


class Failure(NamedTuple):
    """A wrong answer."""

    model: str
    """With the diversity that it was trained on."""
    hop: str
    question: str
    right: str
    given: str
    """"no answer" where its reply or program gave none."""
    image: ImageArray | None
    """(height, width, 3) uint8; None where images were not rendered."""


def failure_blocks(results: Sequence[Result], *, draws: bool) -> list[Block]:
    """Wrong answers as a figure, or as a table where it cannot be drawn or images are not rendered."""
    failures = draw_failures(results)
    if draws and failures and all(each.image is not None for each in failures):
        return [_figure(failures)]
    rows = [[each.question, each.right, each.given, each.model, each.hop] for each in failures]
    title = f"{len(rows)} wrong answers on {OOD}, drawn at random"
    head = ["question", "right", "answered", "model", "held-out pair"]
    return [Table(head, rows, title, _HOW)] if rows else []


def draw_failures(results: Sequence[Result]) -> list[Failure]:
    """Up to `N_SHOWN` wrong answers: as many of each run as of any other, drawn from all of its wrong ones.

    Runs of models that see no image are left out. Where there are more than `N_SHOWN` runs, some are drawn.
    """
    runs = [
        each
        for each in results
        if OOD in each.accuracies and each.accuracies[OOD].value < 100 and each.source.model not in FLOORS
    ]
    if not runs:
        return []
    generator = np.random.default_rng(SEED)
    chosen = np.resize(generator.permutation(len(runs)), N_SHOWN).tolist()
    found: list[Failure] = []
    for number in sorted(set(chosen)):
        try:
            found += _of_run(runs[number], chosen.count(number), generator)
        except ClevrhopeError:
            continue  # the run is in the tables; its dataset's questions or images are gone
    return found


def _of_run(result: Result, n: int, generator: np.random.Generator) -> Iterator[Failure]:
    layout = Layout(result.source.dataset)
    key = AnswerKey(layout.root)
    test_set, given = key.test_set(result.hop, OOD), result.answers[OOD]
    wrong = np.flatnonzero((given != NOT_GIVEN) & (given != test_set.answers))
    rows = np.sort(generator.choice(wrong, size=min(n, len(wrong)), replace=False))
    sentences = open_split(layout, result.hop, OOD, vocab=read_vocab(layout.vocab)).sentences()
    names = {number: text for text, number in key.answers.items()}
    images = find_images(layout, test_set.pool, test_set.image_idxs[rows], prefer="h5")
    diversity = f", diversity {result.trained_diversity}" if result.diversity else ""
    for row in rows.tolist():
        yield Failure(
            model=result.model + diversity,
            hop=result.hop,
            question=sentences[row],
            right=names[int(test_set.answers[row])],
            given=names.get(int(given[row]), NO_ANSWER).replace(NO_ANSWER, "no answer"),
            image=None if images is None else images.pixels(int(test_set.image_idxs[row])),
        )


def _figure(failures: Sequence[Failure]) -> Figure:
    """A grid of images with text below each. Needs matplotlib."""
    from clevrhope.describe.stats.charts import figure, png

    n_rows = -(-len(failures) // _COLUMNS)
    with figure(f"Wrong answers on {OOD}", width_in=12, height_in=0.4 + 3.3 * n_rows) as drawn:
        panels = drawn.subplots(n_rows, _COLUMNS, squeeze=False).ravel()
        for axes in panels:
            axes.set_axis_off()
        for axes, each in zip(panels, failures, strict=False):
            assert each.image is not None
            axes.imshow(each.image)
            answers = f"right: {each.right}, answered: {each.given}"
            lines = [*wrap(each.question, _LETTERS_A_LINE), answers, each.model]
            axes.set_title("\n".join(lines), fontsize=8, fontweight="normal", loc="left")
        return Figure("wrong_answers", f"{len(failures)} wrong answers on {OOD}", png(drawn), _HOW)
