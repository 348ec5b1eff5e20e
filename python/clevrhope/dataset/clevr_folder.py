"""A CLEVR_v1.0 folder, the published one or any with the same layout: its files.

A split's statistics come from `questions/CLEVR_<split>_questions.json` and
`scenes/CLEVR_<split>_scenes.json`. Its images are those that its questions ask about; in the published CLEVR,
these are all images.
"""

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


def clevr_splits(folder: Path) -> list[str]:
    """The splits with questions and scenes, train first; CLEVR's test was published without scenes."""
    names = [
        path.name.removeprefix("CLEVR_") for path in (folder / "questions").glob("CLEVR_*_questions.json")
    ]
    splits = [name.removesuffix("_questions.json") for name in names]
    there = [split for split in splits if scenes_file(folder, split).is_file()]
    return sorted(there, key=lambda split: (split != "train", split))
