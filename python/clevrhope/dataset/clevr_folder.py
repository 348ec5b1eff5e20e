"""A CLEVR_v1.0 folder, the published one or any with the same layout: its files."""

from pathlib import Path

TYPES = ("size", "color", "material", "shape")
"""The attribute types that CLEVR's scene files have."""

FAMILIES = tuple(
    (file, place)
    for file, n in (
        ("compare_integer.json", 9),
        ("comparison.json", 16),
        ("three_hop.json", 6),
        ("single_and.json", 5),
        ("same_relate.json", 28),
        ("single_or.json", 8),
        ("one_hop.json", 6),
        ("two_hop.json", 6),
        ("zero_hop.json", 6),
    )
    for place in range(n)
)
"""Template file and position in it, by `question_family_index`: CLEVR's files hold only this index."""


def questions_file(folder: Path, split: str) -> Path:
    """The question file of a split."""
    return folder / "questions" / f"CLEVR_{split}_questions.json"


def scenes_file(folder: Path, split: str) -> Path:
    """The scene file of a split."""
    return folder / "scenes" / f"CLEVR_{split}_scenes.json"


def images_folder(folder: Path, split: str) -> Path:
    """The folder of a split's images."""
    return folder / "images" / split


def image_name(index: int, split: str = "train") -> str:
    """The file name of an image in CLEVR."""
    return f"CLEVR_{split}_{index:06d}.png"
