"""Images and scenes in, whether each image is there, of its size, not blank, and shows its objects out.

An object's pixels are those of the object-id raster by which its visibility was counted, less their outline.
Their mean, its grey taken off, must point where the object's colour points, and to no other more: light,
shadow and material change how far, hardly whither. Over the objects of 16 rendered scenes (tests/data/look)
the cosine between the two is 0.97 or more, and the mean of grey objects is off grey by 3 of 255 at most, that
of coloured ones by 25 or more; a test judges each of them again. In larger folders what stands beside
an object turns about one in a hundred further, so those in doubt get a second look.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import SceneBatch, object_ids
from clevrhope.audit.checks.cameras import CAMERA, Cameras, with_camera
from clevrhope.audit.checks.second_look import SecondLook
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Tally
from clevrhope.dataset.clevr_json import parse_row, read_numbered_rows
from clevrhope.dataset.hdf5 import hdf5_words
from clevrhope.dataset.images_h5 import ImageArray, images_in, read_images
from clevrhope.errors import DatasetError
from clevrhope.images.png import read_png
from clevrhope.runtime import assets
from clevrhope.runtime.forms import NUMBER, Fields, ListOf, MapOf, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.progress import Advance

LEAST_SPREAD = 2.0
"""An image whose values deviate by less, of 255, is called blank; rendered ones have 10 or more."""

LEAST_COSINE = 0.9
"""Between an object's mean and its colour, greys taken off."""

TIE = 0.003
"""No other colour may be nearer by more than this."""

LEAST_CHROMA, MOST_CHROMA_OF_GREY = 10.0, 14.0
"""How far the mean of a coloured object is off grey at least, and of a grey one at most."""

COLOURED, GREY = 40.0, 10.0
"""A colour of the vocabulary that is further off grey, or nearer to it; one between is not looked at."""

LEAST_PIXELS = 60
"""Objects of which fewer pixels remain without their outline are not looked at."""

MOST_FAULTS = 100
"""After so many objects no scene is rendered any more: with all images exchanged it would take hours."""

SCENES_A_BATCH = 48

Vector = npt.NDArray[np.float64]


def check_images(folder: AuditFolder, cameras: Cameras, advance: Advance) -> list[Tally]:
    """Looks at the image of every scene that a split uses, in each form that the pool has.

    Raises:
        DatasetError: a scene file or an HDF5 file of images that cannot be read.
    """
    images = Tally(
        "images",
        "each is there, of the right size, not blank; PNG and HDF5 are the same pixels",
        "images",
    )
    objects = Tally(
        "objects in images", "each object's pixels have its colour, where its scene says", "objects"
    )
    if not folder.manifest.pools:
        images.skip("no images were rendered")
        objects.skip("no images were rendered")
        return [images, objects]
    of_clevr, in_doubt = _OfClevr(), _InDoubt()
    for pool, used in used_scenes(folder).items():
        _PoolCheck(folder, pool, used, images, objects, cameras, of_clevr, in_doubt).run(advance)
    if in_doubt.n_unrendered:
        objects.notes.append(
            f"{in_doubt.n_unrendered:,} may have another colour, but the native renderer has no formula for "
            "their scenes by which to tell"
        )
    if in_doubt.n_left:
        objects.notes.append(
            f"{in_doubt.n_left:,} more may have another colour; after {MOST_FAULTS} faults no scene was "
            "rendered to tell"
        )
    if of_clevr.n_objects:
        objects.notes.append(
            f"in CLEVR's own images {of_clevr.n_unlike:,} of {of_clevr.n_objects:,} objects have another "
            "colour than this project's renders would show, which is no fault"
        )
    return [images, objects]


def used_scenes(folder: AuditFolder) -> dict[str, set[int]]:
    """Pool -> indices of the scenes that splits ask about."""
    used: dict[str, set[int]] = {}
    for split in folder.splits:
        with folder.open(split) as arrays:
            used.setdefault(arrays.pool, set()).update(int(index) for index in arrays.used)
    return used


@dataclass
class _OfClevr:
    """Objects in CLEVR's own images, for whose light and materials the thresholds were not set."""

    n_objects: int = 0
    n_unlike: int = 0


@dataclass
class _InDoubt:
    """Objects that seem to have another colour, and were held against no render of their scene."""

    n_unrendered: int = 0
    """There can be none."""
    n_left: int = 0
    """Enough faults were found before."""


class _PoolCheck:
    """A pool's images."""

    def __init__(
        self,
        folder: AuditFolder,
        pool: str,
        used: set[int],
        images: Tally,
        objects: Tally,
        cameras: Cameras,
        of_clevr: _OfClevr,
        in_doubt: _InDoubt,
    ) -> None:
        self._folder, self._pool, self._used = folder, pool, used
        self._images, self._objects = images, objects
        self._cameras, self._of_clevr, self._in_doubt = cameras, of_clevr, in_doubt
        self._colours = Colours(folder.properties or assets.blender_assets() / "properties.json")
        # Larger or smaller than the frame in which visible pixels were counted, if the user wants it.
        size = {**folder.manifest.world["constraints"], **(folder.manifest.rendering or {})}
        self._size = (int(size["height"]), int(size["width"]))
        self._second_look = SecondLook(self._size, folder.properties)
        layout = folder.layout
        self._png = layout.images(pool) if layout.images(pool).is_dir() else None
        packed = layout.images_h5(pool)
        self._h5 = packed if packed.is_file() and folder.is_readable(packed) else None
        self._packed = set(images_in(self._h5).tolist()) if self._h5 else set()

    def run(self, advance: Advance) -> None:
        if self._png is None and not self._folder.is_readable(self._folder.layout.images_h5(self._pool)):
            return
        if self._png is None and self._h5 is None:
            self._images.fault(f"images/{self._pool}", None, "no images of the pool", self._pool)
            return
        rows = self._rows()
        with ThreadPoolExecutor() as threads:
            while batch := list(islice(rows, SCENES_A_BATCH)):
                self._batch(batch, threads)
                advance(len(batch))

    def _rows(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        for path in self._folder.scene_files(self._pool):
            for number, line in read_numbered_rows(path):
                scene = parse_row(line, path, number)
                index = scene["image_index"]
                if index not in self._used:
                    continue
                if "camera" not in scene:
                    camera, fault = self._cameras.of(self._pool, scene)
                    if fault is not None:
                        self._images.n_checked += 1
                        self._images.fault(self._folder.layout.relative(path), index, *fault)
                        continue
                    # Where no camera fits, which another check tells, it is looked at from where they
                    # stand on average.
                    line = with_camera(scene, CAMERA if camera is None else camera)
                yield scene, line

    def _batch(self, batch: Sequence[tuple[dict[str, Any], bytes]], threads: ThreadPoolExecutor) -> None:
        scenes = [scene for scene, _ in batch]
        shown = list(threads.map(self._read_png, scenes)) if self._png else [None] * len(scenes)
        if self._h5:
            shown = [
                self._compared(scene, png, packed)
                for scene, png, packed in zip(scenes, shown, self._read_h5(scenes), strict=True)
            ]
        data = b'{"scenes": [' + b",".join(line for _, line in batch) + b"]}"
        world = self._folder.world
        ids = object_ids(world, SceneBatch.from_json(world.vocabulary, data, file=f"scenes/{self._pool}"))
        rows, columns = (np.arange(n) * old // n for n, old in zip(self._size, ids.shape[1:], strict=True))
        ids = ids[:, rows[:, None], columns]
        for scene, image, raster in zip(scenes, shown, ids, strict=True):
            self._images.n_checked += 1
            if image is not None and self._is_image(scene, image):
                self._look(scene, image, raster)

    def _read_png(self, scene: Mapping[str, Any]) -> ImageArray | None:
        path = self._folder.layout.image(self._pool, scene["image_index"])
        problem: tuple[str, object] = ("no such image", "the file is not there")
        if path.is_file():
            try:
                return read_png(path)
            except DatasetError as error:
                problem = ("not a whole PNG file", error.__cause__ or error)
        self._images.fault(self._folder.layout.relative(path), scene["image_index"], *problem)
        return None

    def _read_h5(self, scenes: Sequence[Mapping[str, Any]]) -> Iterator[ImageArray | None]:
        assert self._h5 is not None
        there = [scene["image_index"] for scene in scenes if scene["image_index"] in self._packed]
        try:
            images = dict(read_images(self._h5, there))
        except OSError as error:
            raise DatasetError(f"{self._h5}: cannot be read ({hdf5_words(error)})") from error
        for scene in scenes:
            index = scene["image_index"]
            if index not in images:
                file = self._folder.layout.relative(self._h5)
                self._images.fault(file, index, "no such image", f"row {index} is empty")
            yield images.get(index)

    def _compared(
        self, scene: Mapping[str, Any], png: ImageArray | None, packed: ImageArray | None
    ) -> ImageArray | None:
        """One of the two, after a look at whether they are the same."""
        if png is not None and packed is not None and not np.array_equal(png, packed):
            file = self._folder.layout.relative(self._h5) if self._h5 else ""
            self._images.fault(file, scene["image_index"], "not the pixels of", scene["image_filename"])
        return packed if png is None else png

    def _is_image(self, scene: Mapping[str, Any], image: ImageArray) -> bool:
        file, index = f"images/{self._pool}", scene["image_index"]
        if image.shape[:2] != self._size:
            height, width = image.shape[:2]
            wanted = f"{self._size[1]} x {self._size[0]}"
            self._images.fault(file, index, f"not {wanted} pixels", f"{width} x {height}")
            return False
        if float(image.std()) < LEAST_SPREAD:
            self._images.fault(file, index, "blank", f"all pixels near {image.mean(axis=(0, 1)).round()}")
            return False
        return True

    def _look(self, scene: Mapping[str, Any], image: ImageArray, raster: npt.NDArray[np.uint8]) -> None:
        """Holds each object's pixels against its colour."""
        inner = without_outlines(raster)
        suspects: list[int] = []
        for number, each in enumerate(scene["objects"], 1):
            pixels = image[inner == number]
            are_right = None if len(pixels) < LEAST_PIXELS else self._colours.are_of(each["color"], pixels)
            if are_right is None:
                continue
            if "source" in scene:
                self._of_clevr.n_objects += 1
                self._of_clevr.n_unlike += not are_right
                continue
            self._objects.n_checked += 1
            if not are_right:
                suspects.append(number)
        if suspects:
            self._look_again(scene, image, inner, suspects)

    def _look_again(
        self,
        scene: Mapping[str, Any],
        image: ImageArray,
        inner: npt.NDArray[np.uint8],
        suspects: Sequence[int],
    ) -> None:
        """Tells of those that a render of the scene shows otherwise."""
        if self._objects.n_faults >= MOST_FAULTS:
            self._in_doubt.n_left += len(suspects)
            return
        unlike = self._second_look.unlike(scene, image, inner, suspects)
        if unlike is None:
            self._in_doubt.n_unrendered += len(suspects)
            return
        for number in unlike:
            each, mean = scene["objects"][number - 1], image[inner == number].mean(axis=0)
            name = " ".join(each[kind] for kind in ("size", "color", "material", "shape"))
            found = "red, green, blue are " + ", ".join(f"{value:.0f}" for value in mean)
            problem = f"object {number - 1}, a {name}, has not its colour"
            self._objects.fault(f"images/{self._pool}", scene["image_index"], problem, found)


def without_outlines(raster: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The raster with each pixel at 0 that has a neighbour of another object, beside it, above or below."""
    inner = raster.copy()
    rows, columns = raster[1:] != raster[:-1], raster[:, 1:] != raster[:, :-1]
    inner[1:][rows] = 0
    inner[:-1][rows] = 0
    inner[:, 1:][columns] = 0
    inner[:, :-1][columns] = 0
    return inner


class Colours:
    """The colours of a properties file, as the means of objects' pixels show them."""

    def __init__(self, path: Path) -> None:
        """Reads it.

        Raises:
            DatasetError: no such file.
        """
        named = read_object(path, "a properties file")
        check_form(named, Fields({"colors": MapOf(ListOf(NUMBER, 3))}), path)
        chromas = {name: _chroma(np.asarray(rgb, np.float64)) for name, rgb in named["colors"].items()}
        lengths = {name: float(np.linalg.norm(chroma)) for name, chroma in chromas.items()}
        self._towards = {
            name: chroma / lengths[name] for name, chroma in chromas.items() if lengths[name] >= COLOURED
        }
        self._greys = {name for name, length in lengths.items() if length <= GREY}

    def are_of(self, name: str, pixels: ImageArray) -> bool | None:
        """Whether pixels (n, 3) are surely an object's of this colour; None for one that cannot be told."""
        chroma = _chroma(pixels.mean(axis=0))
        length = float(np.linalg.norm(chroma))
        if name in self._greys:
            return length <= MOST_CHROMA_OF_GREY
        if name not in self._towards:
            return None
        if length < LEAST_CHROMA:
            return False
        cosines = {other: float(chroma @ towards) / length for other, towards in self._towards.items()}
        return cosines[name] >= max(LEAST_COSINE, max(cosines.values()) - TIE)


def _chroma(colour: Vector) -> Vector:
    """A colour with its grey taken off."""
    chroma: Vector = colour - colour.mean()
    return chroma
