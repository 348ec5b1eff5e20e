"""A CLEVR_v1.0 folder in, what its splits hold out: the published one, or any folder laid out like it.

A split is measured from `questions/CLEVR_<split>_questions.json` and `scenes/CLEVR_<split>_scenes.json`. Its
pictures are those that questions ask about; in the published CLEVR that is all of them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from clevrhope.dataset.json_rows import read_list
from clevrhope.dataset.layout import numbered_files
from clevrhope.dataset.stats import QuestionTally, SceneCounts, SceneTally, SplitStats
from clevrhope.errors import DatasetError
from clevrhope.runtime.forms import ANY, INDEX, TEXT, Fields, ListOf, check_form

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
"""Template file and place in it, by `question_family_index`: CLEVR's files hold the number alone."""


def questions_file(folder: Path, split: str) -> Path:
    """A split's questions."""
    return folder / "questions" / f"CLEVR_{split}_questions.json"


def scenes_file(folder: Path, split: str) -> Path:
    """A split's scenes."""
    return folder / "scenes" / f"CLEVR_{split}_scenes.json"


def pictures_folder(folder: Path, split: str) -> Path:
    """A split's pictures."""
    return folder / "images" / split


def picture_name(index: int, split: str = "train") -> str:
    """The name that a published picture has."""
    return f"CLEVR_{split}_{index:06d}.png"


def picture_indices(folder: Path, split: str) -> list[int]:
    """The scenes whose pictures are there, sorted."""
    return sorted(numbered_files(pictures_folder(folder, split), f"CLEVR_{split}_", ".png"))


def clevr_splits(folder: Path) -> list[str]:
    """The splits with questions and scenes, train first; test was published without scenes."""
    names = [
        path.name.removeprefix("CLEVR_") for path in (folder / "questions").glob("CLEVR_*_questions.json")
    ]
    splits = [name.removesuffix("_questions.json") for name in names]
    there = [split for split in splits if scenes_file(folder, split).is_file()]
    return sorted(there, key=lambda split: (split != "train", split))


def measure_clevr_split(folder: Path, split: str) -> SplitStats:
    """Counts what is in a split, in a stream.

    Raises:
        DatasetError: a file that is missing, broken, or not CLEVR's; says at which question or scene.
    """
    questions = QuestionTally()
    path = questions_file(folder, split)
    for n, row in enumerate(read_list(path, "questions")):
        place = f"questions[{n}]"
        check_form(row, _QUESTION, path, place=place, remedy=_WHOLE)
        for step in row["program"]:
            if not step.get("function", step.get("type")):
                raise DatasetError(f"{path}: {place}.program: a step without a function; {_WHOLE}")
        questions.add(row)
    path = scenes_file(folder, split)
    scenes = _scene_counts(path)
    try:
        return questions.stats(split, split, scenes)
    except DatasetError as error:
        raise DatasetError(f"{path}: {error}") from error


def _scene_counts(path: Path) -> SceneCounts:
    tally = SceneTally()
    for n, row in enumerate(read_list(path, "scenes")):
        check_form(row, _SCENE, path, place=f"scenes[{n}]")
        tally.add(row["image_index"], _looks(row["objects"]))
    return tally.counts()


_WHOLE = "take CLEVR's train or val, which have programs and answers"
_STEP = Fields({"value_inputs": ListOf(TEXT)}, {"function": TEXT, "type": TEXT})
_QUESTION = Fields(
    {
        "image_index": INDEX,
        "question": TEXT,
        "answer": ANY,
        "question_family_index": INDEX,
        "program": ListOf(_STEP, least=1),
    }
)
_SCENE = Fields({"image_index": INDEX, "objects": ListOf(Fields(dict.fromkeys(TYPES, TEXT)))})


def _looks(objects: Sequence[dict[str, str]]) -> Iterator[tuple[tuple[str, str], ...]]:
    for each in objects:
        yield tuple((kind, each[kind]) for kind in TYPES)
