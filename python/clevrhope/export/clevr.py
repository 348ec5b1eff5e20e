"""The splits of one HOP in, the folders of CLEVR_v1.0 out.

    images/<split>/CLEVR_<split>_000000.png
    questions/CLEVR_<split>_questions.json
    scenes/CLEVR_<split>_scenes.json

Readers of CLEVR take an image's number for its row, so the images of each split are numbered anew from 0,
in the order of their scenes; where a scene comes from stays in the `stream` of its row. A program's nodes
stand in the order in which its tokens give them: the same program as in the dataset's own question files,
where the nodes of some families stand in another order.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.clevr_json import question_info, read_rows, scene_info
from clevrhope.dataset.image_source import prefetch
from clevrhope.dataset.layout import SCENES_A_SHARD
from clevrhope.dataset.spoken import ProgramNodes, Spoken
from clevrhope.errors import DatasetError
from clevrhope.export.source import Source, SplitSource
from clevrhope.runtime.progress import Advance


def write(source: Source, out: Path, advance: Advance) -> None:
    """Writes images, questions and scenes of all splits."""
    spoken = Spoken(source.vocab)
    programs = ProgramNodes(source.vocab, source.manifest.world["attributes"])
    for name in ("questions", "scenes", *(["images"] if source.rendered else [])):
        (out / name).mkdir()
    for split in source.splits:
        _write_questions(split, spoken, programs, out / "questions")
        _write_scenes(source, split, out / "scenes")
        if split.images is None:
            advance(len(split.reader))
        else:
            _write_images(split, out / "images" / split.split, advance)


def image_name(split: str, number: int) -> str:
    """An image's name, as CLEVR has them."""
    return f"CLEVR_{split}_{number:06d}.png"


def _write_questions(split: SplitSource, spoken: Spoken, programs: ProgramNodes, folder: Path) -> None:
    reader, name = split.reader, split.split
    numbers = split.numbers()
    with _rows(folder / f"CLEVR_{name}_questions.json", "questions", question_info(name)) as add:
        for first, questions, tokens in reader.blocks():
            for row, nodes in enumerate(programs.nodes(tokens)):
                k = first + row
                add(
                    {
                        "image_index": int(numbers[k]),
                        "program": nodes,
                        "question_index": k,
                        "image_filename": image_name(name, int(numbers[k])),
                        "question_family_index": int(reader.question_families[k]),
                        "split": name,
                        "answer": spoken.answer(int(reader.answers[k])),
                        "question": spoken.question(questions[row], int(reader.question_lengths[k])),
                    }
                )


def _write_scenes(source: Source, split: SplitSource, folder: Path) -> None:
    name, pool, indices = split.split, split.reader.pool, split.indices
    with _rows(folder / f"CLEVR_{name}_scenes.json", "scenes", scene_info(name)) as add:
        for shard in np.unique(indices // SCENES_A_SHARD).tolist():
            here = indices[indices // SCENES_A_SHARD == shard]
            path = source.layout.scene_shard(pool, shard)
            found = 0
            for scene in _scenes(path, frozenset(here.tolist())):
                number = int(np.searchsorted(indices, scene["image_index"]))
                add(
                    {
                        **scene,
                        "split": name,
                        "image_index": number,
                        "image_filename": image_name(name, number),
                    }
                )
                found += 1
            if found != len(here):
                raise DatasetError(
                    f"{path}: {len(here) - found:,} of {len(here):,} scenes are missing; run its build again"
                )


def _scenes(path: Path, wanted: frozenset[int]) -> Iterator[dict[str, Any]]:
    return (scene for scene in read_rows(path) if scene["image_index"] in wanted)


def _write_images(split: SplitSource, folder: Path, advance: Advance) -> None:
    assert split.images is not None
    folder.mkdir()
    png = split.images.png
    contents = prefetch(png(index) for index in split.indices.tolist())
    for number, (content, count) in enumerate(zip(contents, split.counts.tolist(), strict=True)):
        (folder / image_name(split.split, number)).write_bytes(content)
        advance(count)


@contextmanager
def _rows(path: Path, key: str, info: Mapping[str, str]) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Gives a function that adds a row to a file of CLEVR's kind: one JSON object, written a row a line."""
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{json.dumps({"info": dict(info)})[:-1]}, "{key}": [')
        separator = "\n"

        def add(row: Mapping[str, Any]) -> None:
            nonlocal separator
            file.write(separator + json.dumps(row, ensure_ascii=False))
            separator = ",\n"

        yield add
        file.write("\n]}\n")
