"""Edits of images pixel by pixel: the foreground stays, the rest goes."""

import numpy as np
import pytest

from clevrhope.images.pixel_edits import blurred, crop_box, cropped, filled, margin_px, mask_at

HEIGHT, WIDTH = 80, 120
GREY = (110, 109, 108)


@pytest.fixture
def image() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)


@pytest.fixture
def mask() -> np.ndarray:
    found = np.zeros((HEIGHT, WIDTH), dtype=bool)
    found[20:35, 30:50] = True
    found[25:30, 90:100] = True
    return found


def far_from(mask: np.ndarray) -> np.ndarray:
    """Where no pixel of the mask is within two margins."""
    rows, columns = np.nonzero(mask)
    y, x = np.mgrid[: mask.shape[0], : mask.shape[1]]
    reach = np.maximum(np.abs(y[..., None] - rows), np.abs(x[..., None] - columns)).min(axis=2)
    return reach > 2 * margin_px(mask.shape[1])


def none(mask: np.ndarray) -> np.ndarray:
    return np.zeros_like(mask)


def roughness(image: np.ndarray) -> float:
    return float(np.abs(np.diff(image.astype(int), axis=1)).mean())


def test_the_foreground_keeps_its_bytes(image: np.ndarray, mask: np.ndarray) -> None:
    for edited in (
        filled(image, mask, none(mask), rgb=GREY),
        blurred(image, mask, none(mask), sigma_px=2.25),
    ):
        assert edited.dtype == np.uint8
        assert edited.shape == image.shape
        assert np.array_equal(edited[mask], image[mask])
        assert not np.array_equal(edited, image)


def test_a_filled_background_is_of_one_color(image: np.ndarray, mask: np.ndarray) -> None:
    assert (filled(image, mask, none(mask), rgb=GREY)[far_from(mask)] == GREY).all()


def test_nothing_is_kept_of_other_objects(image: np.ndarray, mask: np.ndarray) -> None:
    others = np.zeros_like(mask)
    others[30:60, 50:60] = True  # touches the foreground
    edited = filled(image, mask, others, rgb=GREY)
    assert np.array_equal(edited[mask], image[mask])
    assert (edited[others] == GREY).all()
    assert not (filled(image, mask, none(mask), rgb=GREY)[others] == GREY).all()


def test_more_blur_is_smoother_and_means_stay(image: np.ndarray) -> None:
    nothing = np.zeros((HEIGHT, WIDTH), dtype=bool)
    results = [blurred(image, nothing, nothing, sigma_px=sigma) for sigma in (0.75, 1.5, 2.25)]
    rough = [roughness(each) for each in (image, *results)]
    assert rough == sorted(rough, reverse=True)
    assert rough[3] < rough[0] / 5
    assert all(abs(each.mean() - image.mean()) < 1 for each in results)
    flat = np.full_like(image, 77)
    assert np.array_equal(blurred(flat, nothing, nothing, sigma_px=1.5), flat)


def test_a_blur_is_a_gaussian() -> None:
    point = np.zeros((61, 61, 3), dtype=np.uint8)
    point[30, 30] = 255
    nothing = np.zeros((61, 61), dtype=bool)
    edited = blurred(point, nothing, nothing, sigma_px=2.0)[:, :, 0].astype(float)
    y, x = np.mgrid[:61, :61] - 30
    expected = 255 * np.exp(-(x**2 + y**2) / 8) / (8 * np.pi)
    assert np.abs(edited - expected).max() <= 1


def test_a_crop_is_tight_and_keeps_proportions(image: np.ndarray, mask: np.ndarray) -> None:
    margin = margin_px(WIDTH)
    assert crop_box(mask) == (30 - margin, 20 - margin, 100 + margin, 35 + margin)
    box = (10, 20, 70, 60)  # as wide as the image in proportion: 60 x 40
    whole = cropped(image, box, rgb=GREY)
    assert abs(whole.mean() - image[20:60, 10:70].mean()) < 2
    tall = cropped(np.full_like(image, 7), (10, 0, 20, 80), rgb=GREY)
    shown = (tall == 7).all(axis=2)
    assert shown.sum() == 80 * 10
    assert (tall[~shown] == GREY).all()
    assert np.flatnonzero(shown.any(axis=0)).tolist() == list(range(55, 65))


def test_crops_at_the_edge_stay_in_the_image() -> None:
    mask = np.zeros((HEIGHT, WIDTH), dtype=bool)
    mask[0, 0] = mask[-1, -1] = True
    assert crop_box(mask) == (0, 0, WIDTH, HEIGHT)


def test_masks_have_the_images_size() -> None:
    raster = np.zeros((160, 240), dtype=np.uint8)
    raster[40:80, 60:120] = 1
    raster[100:, :] = 3
    mask = mask_at(raster, [0], (HEIGHT, WIDTH))
    assert mask.shape == (HEIGHT, WIDTH)
    assert mask[20:40, 30:60].all()
    assert mask.sum() == 20 * 30
    assert mask_at(raster, [0, 2], (HEIGHT, WIDTH)).sum() == 20 * 30 + 30 * 120
