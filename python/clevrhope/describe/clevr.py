"""Measurements of a folder laid out as CLEVR's own."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from clevrhope.dataset.clevr_folder import TYPES, questions_file, scenes_file
from clevrhope.dataset.json_rows import read_list
from clevrhope.describe.measure import QuestionTally, SceneCounts, SceneTally, SplitStats
from clevrhope.errors import DatasetError
from clevrhope.runtime.forms import ANY, INDEX, TEXT, Fields, ListOf, check_form


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
