"""Measurements of a folder laid out like CLEVR's own."""

from pathlib import Path
from typing import Any

from clevrhope.dataset.clevr_folder import FAMILIES, TYPES, questions_file, scenes_file
from clevrhope.dataset.json_rows import read_list
from clevrhope.describe.measure import QuestionTally, SceneTally
from clevrhope.errors import DatasetError
from clevrhope.runtime.forms import ANY, INDEX, TEXT, Fields, ListOf, check_form
from clevrhope.runtime.json_text import as_json_values


def measure_clevr_split(folder: Path, split: str) -> dict[str, Any]:
    """The measurements of a split, whose files are read as a stream.

    Raises:
        DatasetError: a file is missing, broken or not in CLEVR's format; the message names the question or
            scene.
    """
    questions = QuestionTally()
    path = questions_file(folder, split)
    for n, row in enumerate(read_list(path, "questions")):
        place = f"questions[{n}]"
        check_form(row, _QUESTION, path, place=place, remedy=_REMEDY)
        for step in row["program"]:
            if not step.get("function", step.get("type")):
                raise DatasetError(f"{path}: {place}.program: a step without a function; {_REMEDY}")
        questions.add(row)
    path = scenes_file(folder, split)
    scenes = SceneTally()
    for n, row in enumerate(read_list(path, "scenes")):
        check_form(row, _SCENE, path, place=f"scenes[{n}]")
        looks = (tuple((kind, each[kind]) for kind in TYPES) for each in row["objects"])
        scenes.add(row["image_index"], looks)
    try:
        measured = questions.measured(split, scenes.counts(), dict(enumerate(FAMILIES)))
    except DatasetError as error:
        raise DatasetError(f"{path}: {error}") from error
    found: dict[str, Any] = as_json_values(measured)
    return found


_REMEDY = "take CLEVR's train or val, which have programs and answers"
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
