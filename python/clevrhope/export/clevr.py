"""Export of one HOP as the folders of CLEVR_v1.0.

    images/<split>/CLEVR_<split>_000000.png
    questions/CLEVR_<split>_questions.json
    scenes/CLEVR_<split>_scenes.json

Readers of CLEVR take an image's number to be its row, so the images of each split are renumbered from 0, in
the order of their scenes; the `stream` of a row still names its scene's origin, unless the dataset is a
private edition. A program's nodes are in the order of its tokens. The program is the same as in the dataset's
own question files, where the nodes of some families are in another order.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.clevr_folder import image_name, images_folder, questions_file, scenes_file
from clevrhope.dataset.clevr_json import question_info, rows_file, scene_info, scenes_of
from clevrhope.dataset.detokenizer import Detokenizer, ProgramNodes
from clevrhope.dataset.scene_reader import in_image_pixels
from clevrhope.export.readme import write_readme
from clevrhope.export.source import ExportSource, SplitSource
from clevrhope.runtime.progress import Advance


def write(source: ExportSource, out: Path, advance: Advance) -> None:
    """Writes images, questions and scenes of all splits."""
    for split in source.splits:
        programs, name = ProgramNodes(split.vocab, source.manifest.world["attributes"]), split.split
        with rows_file(questions_file(out, name), key="questions", info=question_info(name)) as add:
            for rows in _questions(split, programs):
                add(rows)
        with rows_file(scenes_file(out, name), key="scenes", info=scene_info(name)) as add:
            scenes = scenes_of(source.layout, split.reader.pool, split.indices)
            for scene in map(in_image_pixels(source.manifest), scenes):
                number = int(np.searchsorted(split.indices, scene["image_index"]))
                place = {"image_index": number, "image_filename": image_name(number, name)}
                add([_line({**scene, "split": name, **place})])
        if split.images is None:
            advance(len(split.reader))
        else:
            names = (image_name(number, name) for number in range(len(split.indices)))
            split.write_images(images_folder(out, name), names, advance)
    write_readme(source, out, "clevr", raster=source.manifest.raster_px)


def _questions(split: SplitSource, programs: ProgramNodes) -> Iterator[list[bytes]]:
    """The rows of a split's question file, a block at a time."""
    reader, detokenizer = split.reader, Detokenizer(split.vocab)
    numbers = np.searchsorted(split.indices, reader.image_idxs).tolist()
    for first, questions, tokens in reader.blocks():
        rows = zip(questions, programs.nodes(tokens), strict=True)
        yield [
            _line(
                {
                    "image_index": numbers[k],
                    "program": nodes,
                    "question_index": k,
                    "image_filename": image_name(numbers[k], split.split),
                    "question_family_index": int(reader.question_families[k]),
                    "split": split.split,
                    "answer": detokenizer.answer(int(reader.answers[k])),
                    "question": detokenizer.question(question),
                }
            )
            for k, (question, nodes) in enumerate(rows, first)
        ]


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode()
