"""The check that each image exists, has the right size, is not blank and shows its scene's objects.

An object's pixels are taken from the object-id raster by which its visibility was counted, without their
outline. The chroma of their mean (the mean minus its grey component) must point in the direction of the
object's colour more than in that of any other colour: light, shadow and material change its length, but
hardly its direction. Over the objects of 16 rendered scenes (tests/data/look), the cosine between the two is
at least 0.97; grey objects have a chroma of at most 3 (of 255), and coloured ones of at least 25. A test
checks these numbers. In larger folders, neighbours change the direction further for about one object in a
hundred, so doubtful objects are compared with a new render of their scene.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.audit.checks.cameras import CAMERA, Cameras, with_camera
from clevrhope.audit.checks.reference_render import ReferenceRender
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Check
from clevrhope.dataset.clevr_json import parse_row
from clevrhope.dataset.images_h5 import ImageArray, images_in, read_images
from clevrhope.errors import DatasetError
from clevrhope.images.png import read_png
from clevrhope.runtime.forms import NUMBER, ListOf, MapOf
from clevrhope.runtime.progress import Advance

LEAST_SPREAD = 2.0
"""An image with a smaller standard deviation (of 255) is blank; rendered images have 10 or more."""

LEAST_COSINE = 0.9
"""Least cosine between the chroma of an object's mean and that of its colour."""

TIE = 0.003
"""Another colour's cosine may not be larger by more than this."""

LEAST_CHROMA, MOST_CHROMA_OF_GREY = 10.0, 14.0
"""Least chroma of a coloured object's mean, and largest chroma of a grey object's."""

COLOURED, GREY = 40.0, 10.0
"""A colour counts as coloured from the first chroma up and as grey up to the second; others go unchecked."""

LEAST_PIXELS = 60
"""Objects with fewer pixels within their outline are not checked."""

MOST_FAULTS = 100
"""After this many faults no more scenes are rendered, which would take hours if all images were wrong."""

SCENES_A_BATCH = 48

Vector = npt.NDArray[np.float64]


def check_images(folder: AuditFolder, cameras: Cameras, advance: Advance) -> list[Check]:
    """Checks the image of every scene that a split uses, in each form that the pool has.

    Raises:
        DatasetError: a scene file or an HDF5 file of images cannot be read.
    """
    images = Check(
        "images",
        "each image is there, has the right size and is not blank; PNG and HDF5 have the same pixels",
        "images",
    )
    objects = Check(
        "objects in images", "each object has its colour, at the place that its scene gives", "objects"
    )
    if not folder.manifest.pools:
        images.skip("no images were rendered")
        objects.skip("no images were rendered")
        return [images, objects]
    undecided = _Undecided()
    for pool, used in used_scenes(folder).items():
        _PoolCheck(folder, pool, used, images, objects, cameras, undecided).run(advance)
    if undecided.n_unrendered:
        objects.notes.append(
            f"{undecided.n_unrendered:,} may have another colour, but the native renderer cannot render "
            "their scenes for a comparison"
        )
    if undecided.n_left:
        objects.notes.append(
            f"{undecided.n_left:,} more may have another colour; after {MOST_FAULTS} faults no scene was "
            "rendered for a comparison"
        )
    if undecided.n_of_clevr:
        objects.notes.append(
            f"in CLEVR's own images {undecided.n_different:,} of {undecided.n_of_clevr:,} objects have "
            "another colour than this project's renders would show, which is no fault"
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
class _Undecided:
    """Counts of objects that were not fully checked."""

    n_of_clevr: int = 0
    """Objects in CLEVR's own images; the thresholds were not set for their light and materials."""
    n_different: int = 0
    """The number of these that seem to have another colour."""
    n_unrendered: int = 0
    """Other objects that seem to have another colour, in scenes that cannot be rendered."""
    n_left: int = 0
    """Likewise, in scenes not rendered because enough faults had been found."""


class _PoolCheck:
    """A pool's images."""

    def __init__(
        self,
        folder: AuditFolder,
        pool: str,
        used: set[int],
        images: Check,
        objects: Check,
        cameras: Cameras,
        undecided: _Undecided,
    ) -> None:
        self._folder, self._pool, self._used = folder, pool, used
        self._images, self._objects = images, objects
        self._cameras, self._undecided = cameras, undecided
        self._colours = Colours(folder.properties_of("colors", MapOf(ListOf(NUMBER, 3))))
        self._size = folder.image_size
        self._reference = ReferenceRender(self._size, folder.properties, folder.manifest.world.get("look"))
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
        for path, line, row in self._folder.scene_rows(self._pool):
            scene = parse_row(row, path, line)
            index = scene["image_index"]
            if index not in self._used:
                continue
            if "camera" not in scene:
                camera, fault = self._cameras.of(self._pool, scene)
                if fault is not None:
                    self._images.n_checked += 1
                    self._images.fault(self._folder.layout.relative(path), index, *fault)
                    continue
                # If no camera fits, which another check reports, the mean of CLEVR's cameras is used.
                row = with_camera(scene, CAMERA if camera is None else camera)
            yield scene, row

    def _batch(self, batch: Sequence[tuple[dict[str, Any], bytes]], threads: ThreadPoolExecutor) -> None:
        scenes = [scene for scene, _ in batch]
        shown = list(threads.map(self._read_png, scenes)) if self._png else [None] * len(scenes)
        if self._h5:
            shown = [
                self._compared(scene, png, packed)
                for scene, png, packed in zip(scenes, shown, self._read_h5(scenes), strict=True)
            ]
        ids = self._folder.object_ids(self._pool, [row for _, row in batch])
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
                problem = ("not a readable PNG file", error.__cause__ or error)
        self._images.fault(self._folder.layout.relative(path), scene["image_index"], *problem)
        return None

    def _read_h5(self, scenes: Sequence[Mapping[str, Any]]) -> Iterator[ImageArray | None]:
        assert self._h5 is not None
        there = [scene["image_index"] for scene in scenes if scene["image_index"] in self._packed]
        images = dict(read_images(self._h5, there))
        for scene in scenes:
            index = scene["image_index"]
            if index not in images:
                file = self._folder.layout.relative(self._h5)
                self._images.fault(file, index, "no such image", f"row {index} is empty")
            yield images.get(index)

    def _compared(
        self, scene: Mapping[str, Any], png: ImageArray | None, packed: ImageArray | None
    ) -> ImageArray | None:
        """Compares the two images and returns one of them."""
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
        """Compares each object's pixels with its colour."""
        inner = without_outlines(raster)
        suspects: list[int] = []
        for number, each in enumerate(scene["objects"], 1):
            pixels = image[inner == number]
            are_right = None if len(pixels) < LEAST_PIXELS else self._colours.are_of(each["color"], pixels)
            if are_right is None:
                continue
            if "source" in scene:
                self._undecided.n_of_clevr += 1
                self._undecided.n_different += not are_right
                continue
            self._objects.n_checked += 1
            if not are_right:
                suspects.append(number)
        if suspects:
            self._compare_render(scene, image, inner, suspects)

    def _compare_render(
        self,
        scene: Mapping[str, Any],
        image: ImageArray,
        inner: npt.NDArray[np.uint8],
        suspects: Sequence[int],
    ) -> None:
        """Reports the suspects that look different in a render of the scene."""
        if self._objects.n_faults >= MOST_FAULTS:
            self._undecided.n_left += len(suspects)
            return
        different = self._reference.different_objects(scene, image, inner, suspects)
        if different is None:
            self._undecided.n_unrendered += len(suspects)
            return
        for number in different:
            each, mean = scene["objects"][number - 1], image[inner == number].mean(axis=0)
            name = " ".join(each[kind] for kind in ("size", "color", "material", "shape"))
            found = "red, green, blue are " + ", ".join(f"{value:.0f}" for value in mean)
            problem = f"object {number - 1}, a {name}, does not have its colour"
            self._objects.fault(f"images/{self._pool}", scene["image_index"], problem, found)


def without_outlines(raster: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The raster (height, width) with 0 at each pixel that is next to another object."""
    inner = raster.copy()
    rows, columns = raster[1:] != raster[:-1], raster[:, 1:] != raster[:, :-1]
    inner[1:][rows] = 0
    inner[:-1][rows] = 0
    inner[:, 1:][columns] = 0
    inner[:, :-1][columns] = 0
    return inner


class Colours:
    """The colours of a properties file, compared with the means of objects' pixels."""

    def __init__(self, named: Mapping[str, Sequence[float]]) -> None:
        """Takes the red, green and blue of each colour, from 0 to 255."""
        chromas = {name: _chroma(np.asarray(rgb, np.float64)) for name, rgb in named.items()}
        lengths = {name: float(np.linalg.norm(chroma)) for name, chroma in chromas.items()}
        self._towards = {
            name: chroma / lengths[name] for name, chroma in chromas.items() if lengths[name] >= COLOURED
        }
        self._greys = {name for name, length in lengths.items() if length <= GREY}

    def are_of(self, name: str, pixels: ImageArray) -> bool | None:
        """Whether pixels (n, 3) show an object of this colour; None if the colour cannot be checked."""
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
    """A colour (3,) minus its grey component."""
    chroma: Vector = colour - colour.mean()
    return chroma
