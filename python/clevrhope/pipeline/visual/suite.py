"""Makes the suite of edited images for a finished dataset: `clevrhope suite visual`."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import QuestionBatch, SceneGraphs
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.image_source import find_images
from clevrhope.dataset.manifest import Manifest, write_manifest
from clevrhope.dataset.question_kinds import PAIRS, RELATIONS
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_files import without_pairs
from clevrhope.dataset.suite_pools import VISUAL, VISUAL_TESTS, SuitePool, visual_index
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.images.pixel_edits import MARGIN, SIGMAS
from clevrhope.images.renderers import open_renderer, rendering_from_json
from clevrhope.images.settings import Rendering
from clevrhope.look.definition import read_look
from clevrhope.pipeline.engine import Encoder
from clevrhope.pipeline.suite_maker import SuiteSplit, TestCounts
from clevrhope.pipeline.suite_writer import SuiteWriter, palette_data, used_templates
from clevrhope.pipeline.suites import locked_dataset, stream_splits, with_datasheet
from clevrhope.pipeline.visual.choice import NO_CHANGE, Chosen, Rows, SplitReading, choose
from clevrhope.pipeline.visual.images import ImagePlan, Rgb, VisualImages, mean_rgb
from clevrhope.runtime import assets
from clevrhope.runtime.atomic import sweep
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import TRAIN
from clevrhope.splits.palettes import parse_pool_name

ORIGINALS: Mapping[str, int] = {"demo": 20, "small": 200, "paper": 5_000}
"""The most questions of a split that get visual tests, by preset."""

IMAGES_OF_THE_MEAN = 1_000
"""Images of train, by index, whose mean color `fill` uses; more would change it by less than one of 255."""

SAME, FLIP = RELATIONS.index("same"), RELATIONS.index("flip")

TESTS = tuple((test, "in", "background" if test != "edit" else "object") for test in VISUAL_TESTS)
"""Name, tier and type of each test, as suites of questions have them."""

FINGERPRINT = hashlib.sha256(json.dumps(["v1", TESTS, SIGMAS, MARGIN]).encode()).hexdigest()
"""Fingerprint of what decides the images, in place of a suite's own files."""


@dataclass(frozen=True)
class VisualSplit(SuiteSplit):
    """The pairs on one split."""

    n_images: int


def make_visual_suite(
    root: Path,
    n: int | None = None,
    *,
    hops: Sequence[str] | None = None,
    templates: Path | None = None,
    properties: Path | None = None,
    progress: Progress | None = None,
) -> tuple[VisualSplit, ...]:
    """Writes visual tests and their images for the test sets of whole scenes in a finished dataset.

    Args:
        root: the dataset's folder.
        n: the most questions per split; by default as in the dataset's preset, see `ORIGINALS`.
        hops: the sub-datasets; by default all in the folder.
        templates: the dataset's question templates, if they are not the package's.
        properties: the dataset's properties file, if it is not the package's.
        progress: shows how far the work is.

    Raises:
        ConfigError: a sub-dataset does not exist, or the dataset has no images.
        DatasetError: the folder is not a finished dataset, a file in it is incomplete, or it was made with
            other properties.
        TemplateError: the questions were made from other templates.
        ScenesFailedError: some scenes could not be rendered; the same command tries them again.
    """
    progress = progress or Silent()
    with locked_dataset(root) as folder:
        wanted = stream_splits(folder, hops, "test")
        maker = _Maker(folder, n, templates, properties)
        sweep(folder.layout.folders())
        manifest, made = folder.manifest, []
        for hop, split in wanted:
            manifest, counts = maker.write(manifest, hop, split, progress)
            manifest = with_datasheet(folder.layout, manifest, hop.name)
            write_manifest(folder.layout.manifest, manifest)
            made.append(counts)
    return tuple(made)


class _Maker:
    """Makes visual tests on a folder's splits; errors as for `make_visual_suite`."""

    def __init__(
        self, folder: Folder, n: int | None, templates: Path | None, properties: Path | None
    ) -> None:
        manifest = folder.manifest
        self._folder, self._properties = folder, properties
        self._n = n or ORIGINALS.get(str(manifest.config.get("preset")), ORIGINALS["demo"])
        if manifest.rendering is None or not manifest.pools:
            raise ConfigError(
                f"{folder.root}: it has no images, which visual tests edit; run the dataset's build again "
                "without --no-render"
            )
        where = str(folder.layout.manifest)
        self._rendering: Rendering = rendering_from_json(manifest.rendering, where=where)
        self._world = folder.world(properties)
        beside = (templates or assets.question_templates()) / "suites" / VISUAL
        self._templates = used_templates(manifest, self._world.vocabulary, beside)[0]
        encoder = Encoder(self._world.vocabulary, folder.vocab, self._world.answers)
        self._writer = SuiteWriter(folder, VISUAL, encoder, TESTS)

    def write(
        self, manifest: Manifest, hop: Hop, split: str, progress: Progress
    ) -> tuple[Manifest, VisualSplit]:
        """Writes images, scenes and pairs for a split; returns the manifest that lists them."""
        layout = self._folder.layout
        pool = SuitePool(hop.name, VISUAL, split)
        source_pool = str(manifest.splits[hop.name][split]["pool"])
        rows = read_table(layout.questions_h5(hop.name, split))
        reading = self._reading(rows, hop, split, source_pool)
        with progress.stage(f"Choosing questions of {hop.name} {split}", total=0, unit="questions"):
            chosen = choose(reading, self._n)
        plan = ImagePlan.of(pool.name, chosen)
        images = VisualImages(
            reading,
            plan,
            size=(self._rendering.height, self._rendering.width),
            rgb=self._mean_rgb(hop, source_pool, rows),
            keeps_png="PNG" in manifest.pools[source_pool].get("files", ("PNG",)),
        )
        scene_rows = images.scene_rows()
        if images.rows_there() != scene_rows:
            # The existing pairs are about the earlier images, some of which are now removed.
            manifest = without_pairs(layout, manifest, hop.name, VISUAL, split)
            write_manifest(layout.manifest, manifest)
            images.write_scenes(scene_rows)
        files = {}
        if plan.images:
            look = read_look(properties=self._properties, changes=manifest.world.get("look"))
            with open_renderer(self._rendering, look=look, folder=layout.root) as renderer:
                images.make(scene_rows, renderer, progress)
            files = images.store()
        pairs = _Pairs.of(chosen, plan)
        entry = {
            "pairs": len(pairs.rows),
            "originals": len(rows),
            "images": len(plan.images),
            "visual": self._n,
        }
        manifest = self._writer.write(
            manifest.with_files(files),
            hop.name,
            split,
            [self._asked(pairs, reading, plan, scene_rows)],
            entry,
            pool=plan.pool,
            n_originals=len(rows),
            fingerprint=FINGERPRINT,
            source_pool=source_pool,
        )
        counts = pairs.counts()
        return manifest, VisualSplit(hop.name, split, len(rows), counts, 0, "questions", len(plan.images))

    def _reading(self, rows: QuestionTable, hop: Hop, split: str, pool: str) -> SplitReading:
        folder, encoder, world = self._folder, self._writer.encoder, self._world
        if data := palette_data(folder.manifest, pool):
            _, palette = parse_pool_name(pool)
            world = world.with_palette(data, name=palette, file=f"palette {palette}")
        return SplitReading(folder, self._templates, encoder, rows, hop, split, pool, world)

    def _mean_rgb(self, hop: Hop, pool: str, rows: QuestionTable) -> Rgb:
        """The mean color of train's first images, or of the split's own if there is no train split."""
        indices = rows.image_idxs
        if TRAIN.name in self._folder.manifest.splits[hop.name]:
            pool = str(self._folder.manifest.splits[hop.name][TRAIN.name]["pool"])
            path = self._folder.layout.questions_h5(hop.name, TRAIN.name)
            indices = read_table(path).image_idxs
        used: Ints = np.unique(indices)[:IMAGES_OF_THE_MEAN]
        images = find_images(self._folder.layout, pool, used, prefer="h5")
        if images is None:
            raise ConfigError(
                f"{self._folder.layout.images(pool)}: no images of {pool}, whose mean color backgrounds get; "
                "run the dataset's build again without --no-render"
            )
        return mean_rgb(images, used)

    def _asked(
        self, pairs: "_Pairs", reading: SplitReading, plan: ImagePlan, scene_rows: Mapping[int, bytes]
    ) -> tuple[QuestionBatch, QuestionTable]:
        """Both questions of each pair, executed on the scenes of their images.

        Raises:
            DatasetError: an answer contradicts the relation of its pair.
        """
        n = len(pairs.rows)
        indices = pairs.images.reshape(-1)
        content = b"[" + b",".join(scene_rows[index] for index in plan.indices) + b"]"
        scenes = SceneGraphs.from_json(self._world.vocabulary, content, file="edited scenes")
        places = np.searchsorted(np.asarray(plan.indices, dtype=np.int64), indices).astype(np.uint32)
        questions = reading.questions(np.repeat(pairs.rows, 2))
        batch = questions.on(scenes, places, indices, pool=plan.pool)
        touches = np.zeros(2 * n, dtype=np.uint8)
        if reading.hop.held_out:
            touches = questions.touches(scenes, places, list(reading.hop.held_out))
        touches = touches[::2]
        widths = reading.rows.widths
        columns = self._writer.pair_columns(
            0,
            pairs.tests,
            cells=((touches & 1) * 3).astype(np.int8),
            touches=touches,
            relations=pairs.relations,
            values=np.full(n, -1, dtype=np.int32),
            originals=np.stack([pairs.rows, np.full(n, -1)], axis=1),
        )
        columns["clevr_programs"] = np.zeros((2 * n, widths[1]), dtype=np.int32)
        table = self._writer.table(PAIRS, batch, widths, columns)
        self._check_answers(pairs, reading, table.answers.reshape(n, 2))
        return batch, table

    def _check_answers(self, pairs: "_Pairs", reading: SplitReading, answers: Ints) -> None:
        stored = reading.rows.answers[pairs.rows]
        is_flip = pairs.relations == FLIP
        wrong = (answers[:, 0] != stored) | ((answers[:, 1] == stored) == is_flip)
        if wrong.any():
            row = int(pairs.rows[wrong][0])
            raise DatasetError(
                f"{reading.path}: question {row} does not have the answer on its scene that the file says, "
                "or on its edited scene; build the dataset again"
            )


@dataclass(frozen=True)
class _Pairs:
    """The K pairs of a split, ordered by test and row."""

    rows: Rows
    """(K,) rows of the questions in their split."""
    tests: Rows
    """(K,) numbers of tests."""
    images: Rows
    """(K, 2) indices of both images."""

    @classmethod
    def of(cls, chosen: Sequence[Chosen], plan: ImagePlan) -> "_Pairs":
        """The pairs of the chosen questions."""
        found = [
            (each.row, number, plan.copies[each.scene], visual_index(each.row, test))
            for number, test in enumerate(VISUAL_TESTS)
            for each in chosen
            if (each.change != NO_CHANGE if test == "edit" else each.kept)
        ]
        columns = np.asarray(found, dtype=np.int64).reshape(-1, 4)
        return cls(columns[:, 0], columns[:, 1], np.ascontiguousarray(columns[:, 2:]))

    @property
    def relations(self) -> Any:
        """(K,) int8 relations between the answers."""
        return np.where(self.tests == VISUAL_TESTS.index("edit"), FLIP, SAME).astype(np.int8)

    def counts(self) -> tuple[TestCounts, ...]:
        """Number of pairs for each test."""
        n_of = Counter(self.tests.tolist())
        return tuple(TestCounts(test, tier, n_of[k], {}, {}) for k, (test, tier, _) in enumerate(TESTS))
