"""Checks sentences about the steps of answers.

Each sentence is parsed back. It passes if all that it says is so on the scenes, if this is what its step's
data say, and if executing the program gives the same.
"""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from clevrhope.audit.sentences import Images, Object, Reading
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.errors import DatasetError, shown
from clevrhope.programs import SceneSet, TracedStep, answer_text, trace
from clevrhope.runtime.extras import check_extra
from clevrhope.sources.exports import METADATA


def check_steps(path: Path | str, *, size: tuple[int, int] | None = None) -> list[str]:
    """Returns what is wrong with the sentences in a Parquet file of `clevrhope export --steps`; [] is right.

    Args:
        path: the file, which also has the scenes, programs and answers.
        size: width and height of the images, if the file does not have them.

    Raises:
        ConfigError: pyarrow is missing.
        DatasetError: the file lacks a column.
    """
    check_extra("a check of steps needs", "pyarrow", "export")
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    about = json.loads((file.schema_arrow.metadata or {}).get(METADATA.encode(), b"{}"))
    names = set(file.schema_arrow.names)
    if not about or not {"steps", "program", "answer"} <= names:
        raise DatasetError(f"{path}: no steps of an export; make it with export --format parquet --steps")
    image, scene = ("images", "scenes") if "scenes" in names else ("image", "scene")
    if size is None and image in names:
        first = next(file.iter_batches(1, columns=[image])).to_pylist()[0][image]
        size = Image.open(io.BytesIO((first if image == "image" else first[0])["bytes"])).size
    constraints, vocabulary = about["constraints"], vocabulary_with(about["attributes"])
    faults: list[str] = []
    rows = (row for each in file.iter_batches(256, columns=["steps", "program", "answer", scene])
            for row in each.to_pylist())  # fmt: skip
    for number, row in enumerate(rows):
        texts = row[scene] if scene == "scenes" else [row[scene]]
        scenes = [json.loads(text) for text in texts]
        asked = SceneSet(scenes, vocabulary=vocabulary) if scene == "scenes" else scenes[0]
        traced = trace(row["program"], asked, vocabulary=vocabulary)
        images = Images(scenes, about["attributes"], size or (constraints["width"], constraints["height"]))
        found = faults_of(json.loads(row["steps"]), traced, images, row["answer"])
        faults += [f"{path}, row {number}: {fault}" for fault in found]
    return faults


def faults_of(
    steps: Sequence[Mapping[str, Any]], traced: Sequence[TracedStep], images: Images, answer: str
) -> Iterator[str]:
    """What is wrong with the sentences of a question; `traced` is its program, executed on the images."""

    def output(node: int) -> Any:
        step = traced[node]
        if not step.is_of_objects:
            return step.output
        objects = [each if isinstance(each, tuple) else (0, each) for each in step.objects]
        return objects[0] if step.type == "Object" else objects

    it: Object | None = None
    for step in steps:
        node = traced[step["node"]]
        inputs = [output(each) for each in node.inputs]
        is_listed = node.is_of_objects or node.function in ("count", "exist")
        members = (inputs[0] if not node.is_of_objects else output(step["node"])) if is_listed else []
        objects = frozenset(members if isinstance(members, list) else [members])
        value = None if node.is_of_objects or node.type == "Images" else node.output
        listed = frozenset(tuple(each) if isinstance(each, list) else (0, each) for each in step["objects"])
        claims = Reading(step["text"], images, it).claims(node.function, node.value, inputs)
        about = [one for claimed, said, one in claims if (claimed, repr(said)) == (objects, repr(value))]
        if not about or (node.name, listed, value) != (step["function"], objects, step["value"]):
            yield f"{shown(step['text'])} is not what {node.call} gives, {node.result}"
        it = about[0] if about else None
    if not steps or answer_text(steps[-1]["value"]) != answer:
        yield f"the last sentence does not lead to the answer, {shown(answer)}"
