"""The scenes and images of visual tests: planned, edited, rendered and stored."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import SceneBatch, edit_scenes, object_ids
from clevrhope.dataset.clevr_json import read_numbered_rows, read_scene_indices, rows_file, scene_info
from clevrhope.dataset.image_source import Images, find_images, png_indices
from clevrhope.dataset.image_store import remove_store, stored_images
from clevrhope.dataset.images_h5 import ImageArray, images_in
from clevrhope.dataset.layout import SCENES_A_SHARD, image_filename
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_pools import COPY, EDIT, PIXEL_TESTS, visual_index
from clevrhope.errors import DatasetError
from clevrhope.images.pixel_edits import SIGMAS, blurred, crop_box, cropped, filled, mask_at
from clevrhope.images.png import is_whole_png
from clevrhope.images.renderer import Renderer
from clevrhope.images.stage import stage_title, write_results
from clevrhope.pipeline.images import WriteImage, image_writer, pack_images
from clevrhope.pipeline.visual.choice import NO_CHANGE, Chosen, SplitReading, kept_objects
from clevrhope.runtime.atomic import FileRecord, disk_errors, record
from clevrhope.runtime.progress import Advance, Progress
from clevrhope.runtime.threads import map_in_threads

QUESTIONS_AT_ONCE = 32
"""Number of questions whose scenes and images are edited together."""

EVERYTHING = 0xFFFF_FFFF
"""All objects of a scene, one bit each."""

Rgb = tuple[int, int, int]


@dataclass(frozen=True)
class Planned:
    """An image of a visual pool."""

    index: int
    kind: str
    """A visual test, or `COPY`."""
    question: Chosen
    """The question that it was made for; for a copy, the first question about its scene."""


@dataclass(frozen=True)
class ImagePlan:
    """All images of a visual pool."""

    pool: str
    images: tuple[Planned, ...]
    """The images by index."""
    copies: Mapping[int, int]
    """Index of a scene -> index of the copy of its image."""

    @property
    def indices(self) -> list[int]:
        """The images' indices, sorted."""
        return [each.index for each in self.images]

    @classmethod
    def of(cls, pool: str, questions: Sequence[Chosen]) -> "ImagePlan":
        """Plans the images that questions, by row, need."""
        copies: dict[int, int] = {}
        images = []
        for question in questions:
            if question.scene not in copies:
                copies[question.scene] = visual_index(question.row)
                images.append(Planned(copies[question.scene], COPY, question))
            kinds = [*PIXEL_TESTS, "removal"] if question.kept else []
            kinds += ["edit"] if question.change != NO_CHANGE else []
            images += [Planned(visual_index(question.row, kind), kind, question) for kind in kinds]
        return cls(pool, tuple(images), copies)


def _blocks(images: Sequence[Planned]) -> Iterator[list[Planned]]:
    """Images in order, with those of a question together."""
    of_questions = groupby(images, key=lambda each: each.question.row)
    while block := [each for _, mine in islice(of_questions, QUESTIONS_AT_ONCE) for each in mine]:
        yield block


class VisualImages:
    """The images of one visual pool."""

    def __init__(
        self, reading: SplitReading, plan: ImagePlan, *, size: tuple[int, int], rgb: Rgb, keeps_png: bool
    ) -> None:
        """Takes the images' height and width, the color for `fill`, and whether PNG files are kept."""
        self._reading, self._plan, self._size, self._rgb = reading, plan, size, rgb
        self._layout, self._keeps_png = reading.layout, keeps_png
        self._h5 = self._layout.images_h5(plan.pool)
        self._waiting = self._layout.image_store(plan.pool)

    def scene_rows(self) -> dict[int, bytes]:
        """The scene of each image as a JSON row, by index.

        Raises:
            DatasetError: an edited scene breaks a constraint of the world.
        """
        rows: dict[int, bytes] = {}
        for block in _blocks(self._plan.images):
            scenes, places = self._sources(block)
            edited, is_made = edit_scenes(
                self._reading.world,
                scenes,
                places,
                np.asarray([_kept(each) for each in block], dtype=np.uint32),
                np.asarray([_change(each) for each in block], dtype=np.int32),
                np.asarray([each.index for each in block], dtype=np.uint64),
                pool=self._plan.pool,
            )
            if not is_made.all():
                source = block[int(np.argmin(is_made))].question.scene
                raise DatasetError(
                    f"{self._layout.scenes(self._reading.pool)}: scene {source} does not keep the world's "
                    "constraints; build the dataset again"
                )
            rasters = object_ids(self._reading.world, scenes)
            for planned, row, place in zip(block, edited.json_rows(), places.tolist(), strict=True):
                edit = self._record(planned, rasters[place])
                rows[planned.index] = row[:-1] + f', "{EDIT}": {json.dumps(edit)}}}'.encode()
        return rows

    def _sources(self, block: Sequence[Planned]) -> tuple[SceneBatch, npt.NDArray[np.uint32]]:
        """The scenes from which images are made, and the position of each image's scene among them."""
        wanted = np.asarray([each.question.scene for each in block], dtype=np.int32)
        indices, places = np.unique(wanted, return_inverse=True)
        return self._reading.scenes(indices), places.astype(np.uint32)

    def _record(self, planned: Planned, raster: npt.NDArray[np.uint8]) -> dict[str, Any]:
        """What a scene records about its source and its edit."""
        question = planned.question
        edit: dict[str, Any] = {
            "kind": planned.kind,
            "source": image_filename(self._reading.pool, question.scene),
            "source_index": question.scene,
        }
        if planned.kind == COPY:
            return edit
        edit["question_index"] = question.row
        if planned.kind == "edit":
            object_number, kind, value = question.change
            types = self._reading.world.attribute_types
            return {**edit, "object": object_number, "type": types[kind][0], "value": types[kind][1][value]}
        objects = kept_objects(question.kept)
        edit["objects"] = objects
        if planned.kind in SIGMAS:
            edit["sigma_px"] = self._sigma_px(planned.kind)
        if planned.kind in ("fill", "crop"):
            edit["rgb"] = list(self._rgb)
        if planned.kind == "crop":
            mask = mask_at(raster, objects, self._size)
            if not mask.any():
                height, width = self._size
                raise DatasetError(
                    f"{edit['source']}: at {width} x {height}, the objects of question {question.row} of "
                    f"{self._reading.split} have no pixel; visual tests need larger images"
                )
            edit["box"] = list(crop_box(mask))
        return edit

    def _sigma_px(self, kind: str) -> float:
        return SIGMAS[kind] * self._size[1]

    def rows_there(self) -> dict[int, bytes]:
        """The rows in the scene files, by index; none of a file that is damaged."""
        by_index: dict[int, bytes] = {}
        for path in self._layout.scene_files(self._plan.pool):
            with suppress(DatasetError):  # a damaged file is written again
                indices = read_scene_indices(path).tolist()
                rows = [row for _, row in read_numbered_rows(path)]
                by_index.update(zip(indices, rows, strict=True))
        return by_index

    def write_scenes(self, rows: Mapping[int, bytes]) -> None:
        """Makes the scene files contain these rows, after removing images of scenes that change."""
        pool, before = self._plan.pool, self.rows_there()
        as_png = png_indices(self._layout.images(pool), pool) if self._keeps_png else ()
        there = {int(i) for each in (as_png, stored_images(self._waiting), images_in(self._h5)) for i in each}
        changed = [index for index in sorted(there) if before.get(index) != rows.get(index)]
        if changed:
            with disk_errors(self._h5):
                self._h5.unlink(missing_ok=True)
                remove_store(self._waiting)
                for index in changed if self._keeps_png else ():
                    self._path(index).unlink(missing_ok=True)
        shards = {index // SCENES_A_SHARD for index in rows}
        for path in self._layout.scene_files(pool):
            if int(path.stem) not in shards:
                path.unlink()
        for shard in sorted(shards):
            mine = [row for index, row in sorted(rows.items()) if index // SCENES_A_SHARD == shard]
            path = self._layout.scene_shard(pool, shard)
            with rows_file(path, key="scenes", info=scene_info(pool)) as add_rows:
                add_rows(mine)

    def missing(self) -> list[Planned]:
        """The images that are in no file yet."""
        if self._keeps_png:
            return [each for each in self._plan.images if not is_whole_png(self._path(each.index))]
        there = {*images_in(self._h5).tolist(), *stored_images(self._waiting).tolist()}
        return [each for each in self._plan.images if each.index not in there]

    def _path(self, index: int) -> Path:
        return self._layout.image(self._plan.pool, index)

    def make(self, rows: Mapping[int, bytes], renderer: Renderer, progress: Progress) -> None:
        """Makes the missing images.

        Raises:
            DatasetError: an image of the dataset is missing.
            ScenesFailedError: some scenes could not be rendered; raised after all other images are written.
        """
        missing = self.missing()
        with image_writer(self._layout, [self._plan.pool], as_png=self._keeps_png) as write:
            pixels = [each for each in missing if each.kind == COPY or each.kind in PIXEL_TESTS]
            with progress.stage("Editing images", total=len(pixels), unit="images") as advance:
                self._edit(pixels, write, advance)
            scenes = [each for each in missing if each.kind not in (COPY, *PIXEL_TESTS)]
            tasks = ((self._path(each.index), json.loads(rows[each.index])) for each in scenes)
            with progress.stage(stage_title(renderer), total=len(scenes), unit="images") as advance:
                for _ in write_results(renderer.render(tasks), write):
                    advance(1)

    @cached_property
    def _images(self) -> Images:
        """The images of the scenes that the questions are about."""
        reading = self._reading
        wanted = np.asarray([each.question.scene for each in self._plan.images], dtype=np.int32)
        found = find_images(self._layout, reading.pool, wanted, prefer="png")
        if found is None:
            raise DatasetError(
                f"{self._layout.root}: no images of {reading.pool}, which visual tests edit; run the "
                "dataset's build again without --no-render"
            )
        return found

    def _edit(self, missing: Sequence[Planned], write: WriteImage, advance: Advance) -> None:
        """Writes copies and edits of pixels."""

        def tasks() -> Iterator[tuple[Planned, ImageArray, npt.NDArray[np.uint8]]]:
            for block in _blocks(missing):
                scenes, places = self._sources(block)
                rasters = object_ids(self._reading.world, scenes)
                with_places = zip(block, places.tolist(), strict=True)
                for scene, images in groupby(with_places, key=lambda each: each[0].question.scene):
                    source = self._images.pixels(scene)
                    for planned, place in images:
                        yield planned, source, rasters[place]

        def edit(task: tuple[Planned, ImageArray, npt.NDArray[np.uint8]]) -> None:
            planned, source, raster = task
            image = self._edited(planned.kind, source, raster, planned.question.kept)
            write(self._path(planned.index), image)

        for _ in map_in_threads(edit, tasks(), threads=None):
            advance(1)

    def _edited(
        self, kind: str, image: npt.NDArray[np.uint8], raster: npt.NDArray[np.uint8], kept: int
    ) -> npt.NDArray[np.uint8]:
        if kind == COPY:
            return image
        mask = mask_at(raster, kept_objects(kept), self._size)
        if kind == "crop":
            return cropped(image, crop_box(mask), rgb=self._rgb)
        others = mask_at(raster, kept_objects(EVERYTHING & ~kept), self._size)
        if kind == "fill":
            return filled(image, mask, others, rgb=self._rgb)
        return blurred(image, mask, others, sigma_px=self._sigma_px(kind))

    def store(self) -> dict[str, FileRecord]:
        """Packs the images into HDF5; returns the records of all files of the pool."""
        layout, pool = self._layout, self._plan.pool
        pack_images(layout, pool, self._plan.indices)
        remove_store(self._waiting)
        paths = [*layout.scene_files(pool), self._h5]
        paths += [self._path(index) for index in self._plan.indices] if self._keeps_png else []
        return {layout.relative(path): record(path) for path in paths}


def _kept(planned: Planned) -> int:
    return planned.question.kept if planned.kind == "removal" else EVERYTHING


def _change(planned: Planned) -> tuple[int, int, int]:
    return planned.question.change if planned.kind == "edit" else NO_CHANGE


def mean_rgb(images: Images, indices: Ints) -> Rgb:
    """The mean red, green and blue of some images, rounded."""
    total, n_pixels = np.zeros(3, dtype=np.int64), 0
    for index in indices.tolist():
        pixels = images.pixels(index)
        total += pixels.sum(axis=(0, 1), dtype=np.int64)
        n_pixels += pixels.shape[0] * pixels.shape[1]
    red, green, blue = ((2 * total + n_pixels) // (2 * n_pixels)).tolist()
    return red, green, blue
