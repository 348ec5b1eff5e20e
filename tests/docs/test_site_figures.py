"""The figures of the documentation: which there are, how large they are, and that they can be made again."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

DOCS = Path(__file__).parents[2] / "docs"
SCRIPT = DOCS / "figures" / "make.py"
IMAGES = sorted((DOCS / "images").glob("*.png"))


def make(out: Path, *names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *names, "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_script_names_every_image_and_every_image_is_there() -> None:
    refused = make(DOCS / "images", "no_such_figure")
    assert refused.returncode == 2
    named = refused.stderr.strip().rpartition("there are: ")[2].split(", ")
    assert sorted(named) == [file.stem for file in IMAGES]


@pytest.mark.parametrize("file", IMAGES, ids=lambda file: file.stem)
def test_an_image_is_small_and_as_wide_as_two_pages(file: Path) -> None:
    assert file.stat().st_size <= 250_000
    with Image.open(file) as image:
        assert image.width == (1600 if file.stem == "overview" else 1520)
        # A white margin all around, so that a figure stands on a dark page as a card does.
        pixels = image.convert("RGB")
        edges = [pixels.crop(box) for box in ((0, 0, image.width, 4), (0, 0, 4, image.height))]
        assert all(edge.getextrema() == ((255, 255),) * 3 for edge in edges)


@pytest.mark.slow
def test_figures_are_made_from_data_with_the_same_bytes_each_time(tmp_path: Path) -> None:
    names = ("gap", "mention", "gallery_minimal")
    for folder in (tmp_path / "one", tmp_path / "two"):
        made = make(folder, *names)
        assert made.returncode == 0, made.stderr
        assert sorted(file.stem for file in folder.iterdir()) == sorted(names)
    for name in names:
        first, second = ((tmp_path / folder / f"{name}.png").read_bytes() for folder in ("one", "two"))
        assert first == second
