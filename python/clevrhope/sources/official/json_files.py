"""The official data in CLEVR's JSON: question files whose nodes have `_output`, and scene files.

A question's family is its place in the template file that the question names. Scenes may have lost all but
index, file name, directions and objects.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import Programs, ProgramTokens, Vocabulary
from clevrhope.dataset.clevr_folder import FAMILIES
from clevrhope.dataset.json_rows import read_list
from clevrhope.dataset.source_images import ImageRecord
from clevrhope.errors import ClevrhopeError, DatasetError, shown
from clevrhope.runtime.forms import ANY, INDEX, TEXT, Fields, ListOf, check_form
from clevrhope.sources.official.names import OfficialFile
from clevrhope.sources.source import (
    MOST_PROGRAM_TOKENS,
    NO_FAMILY,
    SCENE,
    Columns,
    Numbering,
    SourceSplit,
    image_numbers,
)

ROWS_AT_ONCE = 10_000

_ROW = Fields(
    {"question": TEXT, "answer": ANY, "image_index": INDEX, "image_filename": TEXT, "program": ListOf(ANY)}
)
_CLEVR = {"answer": "", "image_index": 0, "image_filename": "", "question_family_index": 0}
"""What the reader of programs wants in a row besides the question."""
_FAMILIES: Mapping[tuple[str, int], int] = {place: number for number, place in enumerate(FAMILIES)}


def json_split(file: OfficialFile, vocabulary: Vocabulary, images: Path | None) -> SourceSplit:
    """The split in a question file.

    Args:
        file: the question file.
        vocabulary: the values of programs.
        images: the folder of its images; None if they are not there.

    Raises:
        DatasetError: the file is not a question file.
    """
    names: dict[int, str] = {}
    n = sum(1 for _ in read_list(file.path, "questions"))

    def blocks(numbering: Numbering) -> Iterator[Columns]:
        rows = read_list(file.path, "questions")
        at = 0
        while block := list(islice(rows, ROWS_AT_ONCE)):
            for k, row in enumerate(block):
                check_form(row, _ROW, file.path, place=f"questions[{at + k}]")
                index, name = row["image_index"], row["image_filename"]
                if name != Path(name).name or names.setdefault(index, name) != name:
                    raise DatasetError(
                        f"{file.path}: questions[{at + k}]: image_filename is {shown(name)}; expected the "
                        f"name of a file, and one for image {index}"
                    )
            yield _columns(file, block, at, vocabulary, numbering)
            at += len(block)

    def record() -> ImageRecord | None:
        if images is None or not names:
            return None
        files = [images.absolute() / name for _, name in sorted(names.items())]
        number = {index: k for k, index in enumerate(sorted(names))}
        places = [[number[k]] if k in names else [] for k in range(max(names) + 1)]
        return ImageRecord("png", tuple(files), (), places, [names.get(k, "") for k in range(len(places))])

    return file.split_source(n, blocks, record)


def _columns(
    file: OfficialFile, block: list[dict[str, Any]], at: int, vocabulary: Vocabulary, numbering: Numbering
) -> Columns:
    def place(k: int) -> str:
        return f"{file.path}: questions[{at + k}]"

    rows = [{**_CLEVR, "question": row["question"], "program": _plain(row["program"])} for row in block]
    data = json.dumps({"questions": rows}).encode()
    try:
        programs, _ = Programs.from_questions(vocabulary, data, file=f"{file.path} from question {at} on")
        tokens = programs.to_tokens(
            ProgramTokens(vocabulary, numbering.vocab().programs()), MOST_PROGRAM_TOKENS
        )
    except ClevrhopeError as error:
        raise DatasetError(str(error)) from error
    families = [
        _FAMILIES.get((row.get("template_filename", ""), row.get("question_family_index", -1)), NO_FAMILY)
        for row in block
    ]
    text = numbering.texts([row["question"] for row in block])
    return {
        **text,
        "programs": tokens,
        "program_lengths": (tokens != 0).sum(axis=1).astype(np.int32),
        "question_families": np.asarray(families, dtype=np.int32),
        "answers": numbering.answers([row["answer"] for row in block], place),
        "image_idxs": image_numbers([row["image_index"] for row in block], place),
    }


def _plain(program: list[Any]) -> list[Any]:
    """Nodes with the keys of CLEVR's published files; its generator's have `type` and `side_inputs`."""
    return [
        {
            "function": node.get("function", node.get("type")),
            "inputs": node.get("inputs", []),
            "value_inputs": node.get("value_inputs", node.get("side_inputs", [])),
        }
        if isinstance(node, dict)
        else node
        for node in program
    ]


def scenes_of(path: Path) -> Callable[[], Iterator[dict[str, Any]]]:
    """A function that yields the scenes of a file, with rotations in degrees.

    CLEVR's code takes a number from 0 to 360 as radians, so that is what images show.
    """

    def scenes() -> Iterator[dict[str, Any]]:
        for n, scene in enumerate(read_list(path, "scenes")):
            check_form(scene, SCENE, path, place=f"scenes[{n}]")
            for thing in scene["objects"]:
                if isinstance(thing, dict) and isinstance(thing.get("rotation"), int | float):
                    thing["rotation"] = math.degrees(thing["rotation"]) % 360.0
            yield scene

    return scenes
