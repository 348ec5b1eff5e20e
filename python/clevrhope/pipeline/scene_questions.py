"""Asks questions about any scene file in CLEVR's format; they are written in the form of CLEVR's."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.dataset.clevr_json import question_info, rows_file
from clevrhope.dataset.json_rows import read_scenes
from clevrhope.errors import DatasetError, SceneError
from clevrhope.pages import render_lines
from clevrhope.questions import instantiate_questions, read_templates
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.scenes.forms import read_batch
from clevrhope.scenes.vocabulary import default_vocabulary, read_vocabulary

_WRITTEN_AT_ONCE = 1 << 16
"""Questions whose JSON is in memory at a time."""


@dataclass(frozen=True)
class AskedFile:
    """The result of asking about a scene file."""

    file: Path
    n_scenes: int
    n_questions: int
    n_without_relations: int
    """Number of scenes without `relationships`, for which they were computed."""
    n_without_camera: int
    """Number of these without `directions` and `camera`: CLEVR's camera was assumed."""


def ask_about_scene_file(
    scenes: Path,
    out: Path,
    *,
    seed: int,
    questions_per_scene: int = 9,
    templates: Path | None = None,
    properties: Path | None = None,
    progress: Progress | None = None,
) -> AskedFile:
    """Writes questions about the scenes of a file, whose images `render_scene_file` renders.

    The file has CLEVR's form; its `info` records the seed. What a scene may lack, and what is assumed then,
    is as for `instantiate_questions`.

    Raises:
        SceneError: there is no scene file or no scene in it, a scene has an unknown name or lacks something,
            or two have one `image_index`.
        DatasetError: the scene file is broken, or `out` exists.
        TemplateError: the folder of templates is invalid.
        VocabularyError: the properties file is invalid.
    """
    progress = progress or Silent()
    if not scenes.exists():
        raise SceneError(f"{scenes}: no such file; give a scene file in CLEVR's format")
    if os.path.lexists(out):
        raise DatasetError(f"{out}: it exists already; choose another --out")
    vocabulary = default_vocabulary() if properties is None else read_vocabulary(properties)
    asked = read_templates(vocabulary, templates)
    without: Counter[str] = Counter()
    splits: dict[str, None] = {}

    def read() -> Iterator[dict[str, Any]]:
        for scene in read_scenes(scenes):
            without["relations"] += "relationships" not in scene
            without["camera"] += not {"relationships", "directions", "camera"} & scene.keys()
            splits[str(scene.get("split", "new"))] = None
            yield scene

    with progress.stage("Reading scenes", total=0, unit="scenes") as advance:
        batch = read_batch(read(), vocabulary, file=str(scenes))
        advance(len(batch))
    if not len(batch):
        raise SceneError(f'{scenes}: the list "scenes" is empty; there is nothing to ask about')
    split = next(iter(splits)) if len(splits) == 1 else "new"
    with progress.stage("Asking questions", total=0, unit="questions") as advance:
        made = instantiate_questions(
            batch, seed=seed, templates=asked, questions_per_scene=questions_per_scene
        )
        info = {**question_info(split), "seed": seed, "questions_per_scene": questions_per_scene}
        with rows_file(out, key="questions", info=info) as add:
            for start in range(0, len(made), _WRITTEN_AT_ONCE):
                piece = made.take(start, min(start + _WRITTEN_AT_ONCE, len(made)))
                add(piece.json_rows(split=split, start_index=start))
                advance(len(piece))
    return AskedFile(out, len(batch), len(made), without["relations"], without["camera"])


def text_lines(made: AskedFile) -> list[str]:
    """The result of asking about a scene file, as text."""
    return render_lines("questions.md", made=made)
