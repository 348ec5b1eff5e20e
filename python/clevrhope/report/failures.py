"""Wrong answers to some questions about held-out pairs, drawn with a seed, with their images."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.image_source import find_images
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.vocab import NO_ANSWER
from clevrhope.describe.contact_sheet import pair_boxes, sketch_url, thumbnail_url
from clevrhope.errors import ClevrhopeError, command_line
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.collector import NOT_GIVEN
from clevrhope.report.page import Cards, Failure, Table
from clevrhope.report.results import FLOORS, Result
from clevrhope.splits.kinds import OOD

N_SHOWN, SEED = 12, 0

_HOW = (
    f"Drawn at random with seed {SEED}, from the runs of models that see the image: as many from each run as "
    f"from any other, or one each from {N_SHOWN} runs where there are more."
)


def failure_cards(results: Sequence[Result]) -> list[Cards]:
    """Wrong answers as cards with their images, and as a table."""
    failures = draw_failures(results)
    rows = [[each.question, each.right, each.given, each.model, each.hop, str(each.row)] for each in failures]
    title = f"{len(rows)} wrong answers on {OOD}, drawn at random"
    head = ["question", "right", "answered", "model", "held-out pair", "number"]
    return [Cards(failures, Table(head, rows, title, _HOW))] if rows else []


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
    sentences, names = test_set.sentences(), test_set.answer_names
    folder = Folder.open(layout.root, finished=False)
    wanted = np.unique(test_set.image_idxs[rows])
    images = find_images(layout, test_set.pool, wanted, prefer="h5")
    scenes: dict[int, dict[str, Any]] = {}
    if folder.has_scenes(test_set.pool):
        scenes = {scene["image_index"]: scene for scene in scenes_of(layout, test_set.pool, wanted)}
    pair, size_px = folder.hop(result.hop).held_out or (), folder.manifest.raster_px
    diversity = f", diversity {result.trained_diversity}" if result.diversity else ""
    name = layout.root.resolve().name
    for row in rows.tolist():
        index = int(test_set.image_idxs[row])
        scene = scenes.get(index)
        image = "" if scene is None else sketch_url(scene, {}, size_px)
        if images is not None:
            image = thumbnail_url(images.pixels(index))
        yield Failure(
            model=result.model + diversity,
            hop=result.hop,
            row=row,
            question=sentences[row],
            right=names[test_set.answers[row]],
            given="no answer" if given[row] < 0 or names[given[row]] == NO_ANSWER else names[given[row]],
            image=image,
            boxes=() if scene is None else pair_boxes(scene, pair, size_px),
            command=command_line("browse", name, "--question", f"{result.hop}/{OOD}/{row}"),
        )
