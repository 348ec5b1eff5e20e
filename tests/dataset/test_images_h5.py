"""The aggregated images: a row a scene, nothing for unused rows, bytes that depend on content alone."""

from pathlib import Path

import h5py
import numpy as np

from clevrhope.dataset.images_h5 import PackedImage, aggregate_images, images_in, read_images
from clevrhope.errors import DatasetError
from wording import refused

HEIGHT, WIDTH = 32, 48


def image(index: int) -> np.ndarray:
    return np.random.default_rng(index).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)


def packed(index: int) -> PackedImage:
    return PackedImage.of(image(index))


def test_what_was_packed_is_unpacked() -> None:
    assert packed(3).size == (HEIGHT, WIDTH)
    np.testing.assert_array_equal(packed(3).pixels(), image(3))


def test_a_row_is_the_scenes_index_and_an_unused_row_takes_no_bytes(tmp_path: Path) -> None:
    path = tmp_path / "train.h5"
    assert aggregate_images(path, [3, 7, 40_000], packed, pool="train")
    with h5py.File(path, "r") as file:
        assert file["images"].shape == (40_001, HEIGHT, WIDTH, 3)
        assert file["images"].dtype == np.uint8
        np.testing.assert_array_equal(file["images"][7], image(7))
        assert not file["images"][8].any()
    assert path.stat().st_size < 12 * HEIGHT * WIDTH * 3  # three images, noise, and an index
    np.testing.assert_array_equal(images_in(path), [3, 7, 40_000])
    for index, pixels in read_images(path, [40_000, 3]):
        np.testing.assert_array_equal(pixels, image(index))


def test_growing_gives_the_bytes_of_making_it_at_once_and_asks_for_new_images_only(tmp_path: Path) -> None:
    aggregate_images(tmp_path / "once.h5", range(12), packed, pool="train")
    aggregate_images(tmp_path / "grown.h5", [1, 5, 6], packed, pool="train")
    asked: list[int] = []

    def ask(index: int) -> PackedImage:
        asked.append(index)
        return packed(index)

    aggregate_images(tmp_path / "grown.h5", range(12), ask, pool="train")
    assert (tmp_path / "grown.h5").read_bytes() == (tmp_path / "once.h5").read_bytes()
    assert sorted(asked) == [0, 2, 3, 4, 7, 8, 9, 10, 11]


def test_nothing_new_leaves_the_file_untouched(tmp_path: Path) -> None:
    path = tmp_path / "train.h5"
    aggregate_images(path, [1, 2], packed, pool="train")
    before = path.stat()
    assert not aggregate_images(path, [1, 2], packed, pool="train")
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert not aggregate_images(tmp_path / "none.h5", [], packed, pool="train")
    assert not (tmp_path / "none.h5").exists()


def test_an_image_of_another_size_gets_a_sentence_and_no_file(tmp_path: Path) -> None:
    sizes = {0: image(0), 1: image(1)[:10]}
    with refused(DatasetError):
        aggregate_images(tmp_path / "a.h5", [0, 1], lambda i: PackedImage.of(sizes[i]), pool="train")
    assert not list(tmp_path.glob("*a.h5*"))
