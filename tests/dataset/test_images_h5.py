"""The aggregated images: a row a scene, nothing for unused rows, bytes that depend on content alone."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

from clevrhope.dataset.images_h5 import aggregate_images, images_in, read_images
from clevrhope.errors import DatasetError

HEIGHT, WIDTH = 32, 48


def image(index: int) -> np.ndarray:
    return np.random.default_rng(index).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)


@pytest.fixture
def png_of(tmp_path: Path) -> Callable[[int], Path]:
    def make(index: int) -> Path:
        path = tmp_path / "png" / f"{index}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(image(index)).save(path)
        return path

    return make


def test_a_row_is_the_scenes_index_and_an_unused_row_takes_no_bytes(
    tmp_path: Path, png_of: Callable[[int], Path]
) -> None:
    path = tmp_path / "train.h5"
    assert aggregate_images(path, [3, 7, 40_000], png_of, pool="train")
    with h5py.File(path, "r") as file:
        assert file["images"].shape == (40_001, HEIGHT, WIDTH, 3)
        assert file["images"].dtype == np.uint8
        np.testing.assert_array_equal(file["images"][7], image(7))
        assert not file["images"][8].any()
    assert path.stat().st_size < 12 * HEIGHT * WIDTH * 3  # three images, noise, and an index
    np.testing.assert_array_equal(images_in(path), [3, 7, 40_000])
    for index, pixels in read_images(path, [40_000, 3]):
        np.testing.assert_array_equal(pixels, image(index))


def test_growing_gives_the_bytes_of_making_it_at_once_and_asks_for_new_images_only(
    tmp_path: Path, png_of: Callable[[int], Path]
) -> None:
    aggregate_images(tmp_path / "once.h5", range(12), png_of, pool="train")
    aggregate_images(tmp_path / "grown.h5", [1, 5, 6], png_of, pool="train")
    asked: list[int] = []

    def ask(index: int) -> Path:
        asked.append(index)
        return png_of(index)

    aggregate_images(tmp_path / "grown.h5", range(12), ask, pool="train")
    assert (tmp_path / "grown.h5").read_bytes() == (tmp_path / "once.h5").read_bytes()
    assert asked == [0, 2, 3, 4, 7, 8, 9, 10, 11]


def test_nothing_new_leaves_the_file_untouched(tmp_path: Path, png_of: Callable[[int], Path]) -> None:
    path = tmp_path / "train.h5"
    aggregate_images(path, [1, 2], png_of, pool="train")
    before = path.stat()
    assert not aggregate_images(path, [1, 2], png_of, pool="train")
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert not aggregate_images(tmp_path / "none.h5", [], png_of, pool="train")
    assert not (tmp_path / "none.h5").exists()


def test_an_image_of_another_size_and_a_broken_one_get_a_sentence_and_no_file(
    tmp_path: Path, png_of: Callable[[int], Path]
) -> None:
    Image.fromarray(image(1)[:10]).save(tmp_path / "small.png")
    with pytest.raises(DatasetError, match=r"small\.png: 48 x 10 pixels, but the pool has 48 x 32"):
        aggregate_images(
            tmp_path / "a.h5", [0, 1], lambda i: tmp_path / "small.png" if i else png_of(0), pool="train"
        )
    (tmp_path / "broken.png").write_bytes(png_of(0).read_bytes()[:100])
    with pytest.raises(DatasetError, match=r"broken\.png: not a whole PNG file"):
        aggregate_images(tmp_path / "a.h5", [0], lambda _: tmp_path / "broken.png", pool="train")
    assert not list(tmp_path.glob("*a.h5*"))


def test_a_full_disk_is_told_in_a_sentence_and_leaves_the_old_file(
    tmp_path: Path, png_of: Callable[[int], Path]
) -> None:
    path = tmp_path / "train.h5"
    aggregate_images(path, [1, 5], png_of, pool="train")
    before = path.read_bytes()
    for index in range(40):
        png_of(index)
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from clevrhope.dataset.images_h5 import aggregate_images\n"
        "from clevrhope.errors import DatasetError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
        "folder = Path(sys.argv[1])\n"
        "try:\n"
        "    aggregate_images(folder / 'train.h5', range(40),\n"
        "                       lambda k: folder / 'png' / f'{k}.png', pool='train')\n"
        "except DatasetError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{path}: no space left; what is finished stays")
    assert len(done.stdout.splitlines()) == 1
    assert path.read_bytes() == before
    assert not list(tmp_path.glob(".*.partial"))
