"""Cards of questions over several images for the contact sheet, made from the files."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from clevrhope._core import Programs, ProgramTokens
from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.question_kinds import PAIR_PLACES, SETS, STRUCTURES
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.describe.contact_sheet import (
    AnsweredSet,
    Box,
    SetCard,
    SetImage,
    SplitCards,
    object_box,
    shown_objects,
    sketch_url,
)
from clevrhope.pipeline import engine
from clevrhope.pipeline.resolution import Resolved
from clevrhope.programs import Program, SceneSet, trace

WIDTH_PX = 240
"""Width of an image in a row of five."""

Thumbnails = Callable[[str, Sequence[int]], Mapping[int, str]]
"""The data URLs, by index, of those images of a pool that exist."""


def set_split_cards(
    hop: str, split: str, entry: Mapping[str, Any], resolved: Resolved, n_shown: int, thumbnails: Thumbnails
) -> SplitCards[SetCard]:
    """The first questions of a split: `n_shown` texts with two answers each; `entry` is the manifest's."""
    path = resolved.layout.questions_h5(hop, split)
    rows = read_table(path, SETS).part(0, 2 * n_shown)
    templates = read_table(path, SETS).templates
    vocab = read_vocab(resolved.layout.covr_vocab)
    sets = list(_sets(rows, entry["pool"], vocab, resolved, thumbnails))
    detokenizer = Detokenizer(vocab)
    cards = [
        SetCard(
            text=detokenizer.question(rows.questions[k], int(rows.question_lengths[k])),
            template=templates[int(rows.question_families[k])],
            structure=STRUCTURES[int(rows.structures[k])],
            pair_place=PAIR_PLACES[int(rows.pair_places[k])],
            sets=sets[k : k + 2],
        )
        for k in range(0, len(rows), 2)
    ]
    return SplitCards(split, entry["questions"], entry["images"], cards)


def _sets(
    rows: QuestionTable, pool: str, vocab: Vocab, resolved: Resolved, thumbnails: Thumbnails
) -> Iterator[AnsweredSet]:
    """The set of each question, with its answer."""
    vocabulary = resolved.engine.world.vocabulary
    programs = Programs.from_tokens(ProgramTokens(vocabulary, vocab.programs()), rows.programs)
    used = np.unique(rows.image_idxs)
    used = used[used >= 0]
    scenes = {scene["image_index"]: scene for scene in scenes_of(resolved.layout, pool, used)}
    images = thumbnails(pool, used.tolist())
    colours = engine.colours(resolved.config)
    detokenizer = Detokenizer(vocab)
    for k in range(len(rows)):
        mine = [scenes[index] for index in rows.image_idxs[k].tolist() if index >= 0]
        program = Program(json.loads(programs.to_json(k)), vocabulary=vocabulary)
        asked, mentioned = shown_objects(trace(program, SceneSet(mine, vocabulary=vocabulary)))
        yield AnsweredSet(
            [
                SetImage(
                    name=str(scene["image_filename"]),
                    image=images.get(scene["image_index"]) or sketch_url(scene, colours),
                    sketch=scene["image_index"] not in images,
                    is_source=place == int(rows.sources[k]),
                    asked=_boxes(scene, place, asked),
                    mentioned=_boxes(scene, place, mentioned),
                )
                for place, scene in enumerate(mine)
            ],
            detokenizer.answer(int(rows.answers[k])),
        )


def _boxes(scene: Mapping[str, Any], place: int, objects: frozenset[tuple[int, int]]) -> list[Box]:
    return [object_box(item) for k, item in enumerate(scene["objects"]) if (place, k) in objects]
