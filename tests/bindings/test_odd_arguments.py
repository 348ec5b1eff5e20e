"""Arguments that nobody means: the native module answers each with an exception, and never with a panic.

A panic would be a `PanicException`, which is no `Exception`.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from small_worlds import PAIR, SPECIAL, asked_on, asset, sampled, studio, world_of, zero_hop

from clevrhope import _core
from clevrhope.errors import MAX_SHOWN

HUGE = 2**63
LONG = "x" * 100_000
DIRECTIONS = ("left", "right", "behind", "front", "above", "below")


def ints(*shape: int, kind: Any = np.int32) -> np.ndarray[Any, Any]:
    return np.zeros(shape, dtype=kind)


@pytest.fixture(scope="module")
def templates(world: _core.World) -> _core.Templates:
    return zero_hop(world)


@pytest.fixture(scope="module")
def scenes(world: _core.World) -> _core.SceneBatch:
    return sampled(world, 0, 1, 2)


def refused(call: Callable[..., Any], *args: Any, **named: Any) -> str:
    """The message of the exception that a call ends in."""
    with pytest.raises(Exception) as info:  # noqa: PT011 (any exception but a panic)
        call(*args, **named)
    message = str(info.value)
    assert len(message) < 2_000, message[:300]
    return message


def test_no_scenes_and_no_programs_are_none(world: _core.World, templates: _core.Templates) -> None:
    vocabulary = world.vocabulary
    empty = _core.SceneBatch.from_json(vocabulary, b"[]", file="s.json")
    none = ints(0, kind=np.uint32)
    programs, images = _core.Programs.from_questions(vocabulary, b'{"questions": []}', file="q.json")
    assert (len(empty), len(empty.graphs), len(programs), len(images)) == (0, 0, 0, 0)
    assert _core.execute_batch(programs, empty.graphs, none, none).shape == (0,)
    assert empty.to_json() == b"[]"
    assert len(empty.take(none)) == 0
    assert _core.object_ids(world, empty).shape[0] == 0
    tokens = _core.ProgramTokens(vocabulary)
    assert _core.execute_tokens(tokens, ints(0, 9), empty.graphs, none).shape == (0,)
    assert "0 of 0" in refused(_core.execute, programs, 0, empty.graphs, 0)
    assert "of 0" in refused(
        _core.execute_batch, programs, empty.graphs, ints(1, kind=np.uint32), ints(1, kind=np.uint32)
    )
    assert len(asked_on(empty, templates, 3)) == 0


def test_rows_of_odd_shapes_are_refused(world: _core.World, scenes: _core.SceneBatch) -> None:
    tokens = _core.ProgramTokens(world.vocabulary)
    graphs, place = scenes.graphs, ints(2, kind=np.uint32)
    for rows in (ints(2, 0), ints(3, 9), ints(2, 9).T, ints(2), ints(2, 9, 1), ints(2, 9, kind=np.int64)):
        refused(_core.execute_tokens, tokens, rows, graphs, place)
    strided = ints(2, 18)[:, ::2]
    refused(_core.execute_tokens, tokens, strided, graphs, place)
    refused(_core.execute_tokens, tokens, ints(2, 9), graphs, place)
    refused(_core.execute_tokens, tokens, ints(2, 9), graphs, place + 7)
    refused(_core.Programs.from_tokens, tokens, ints(2, 0))
    refused(_core.ProgramTokens, world.vocabulary, [LONG])
    refused(_core.ProgramTokens, world.vocabulary, [])
    refused(scenes.take, np.array([3], dtype=np.uint32))
    for rows in (ints(2, 0, kind=np.int64), ints(0, 0, kind=np.int64)):
        refused(_core.plan_levels, rows, ints(3, kind=np.int8))
    assert len(_core.plan_runs(ints(2, 5, kind=np.int64) - 9, ints(0, kind=np.int8))[0]) == 0
    refused(_core.program_arities, [LONG])


def test_widths_without_bound_are_refused(
    world: _core.World, scenes: _core.SceneBatch, templates: _core.Templates
) -> None:
    tokens = _core.ProgramTokens(world.vocabulary)
    program = json.dumps([{"function": "scene", "inputs": []}, {"function": "exist", "inputs": [0]}])
    programs = _core.Programs.from_json(world.vocabulary, program.encode(), file="p.json")
    questions = asked_on(scenes, templates, 2)
    assert len(questions) > 0
    written = (
        (programs.to_tokens, tokens),
        (questions.program_tokens, tokens),
        (questions.question_tokens, [*SPECIAL, *templates.words]),
    )
    for width in (HUGE, 2**40, 2**17):
        for call, table in written:
            assert f"a width of {width}; expected" in refused(call, table, width)
    for width in (0, 1, 2):
        for call, table in written:
            refused(call, table, width)
    refused(questions.take, 2, 1)
    refused(questions.take, 0, HUGE)
    refused(questions.take, -1, 1)


def test_odd_places_and_names_of_pools_are_refused(world: _core.World, templates: _core.Templates) -> None:
    last = np.array([2**64 - 1], dtype=np.uint64)
    refused(_core.sample_scenes, world, seed=1, pool="minimal_material_shape", indices=last)
    odd = ["train", "counting_color", "minimal_", "minimal_x_y", "minimal_shape_shape", "counting_", "-"]
    for pool in (*odd, "", LONG):
        made = _core.sample_scenes(world, seed=2**64 - 1, pool=pool, indices=last)
        assert made.indices.shape == (1,)
    minimal = _core.MinimalPool(world, held_out=PAIR)
    assert not minimal.has_held_out(2**64 - 1)
    refused(minimal.questions, templates, seed=1, kind="iid", places=last)
    refused(minimal.questions, templates, seed=1, kind=LONG, places=ints(1, kind=np.uint64))
    counting = _core.CountingPool(world, value=("color", "red"))
    refused(counting.questions, templates, seed=1, first=2**64 - 1, n=2**64 - 1)
    for value in (("color", LONG), (LONG, "red"), ("", "")):
        refused(_core.CountingPool, world, value=value)
    for pair in ([], PAIR[:1] * 2, [("material", LONG), PAIR[1]], [(LONG, "rubber"), PAIR[1]]):
        refused(_core.MinimalPool, world, held_out=pair)
        refused(templates.families_that_can_mention, pair)
    for diversity in (0, 1, 2**63):
        refused(world.seen_palette, PAIR, diversity=diversity, mode="nested", seed=1)
    refused(world.seen_palette, PAIR, diversity=3, mode=LONG, seed=1)


def test_scenes_of_another_vocabulary_have_no_raster_here(world: _core.World) -> None:
    properties = json.loads(asset("properties.json"))
    properties["shapes"] |= {f"ball{i}": "sphere" for i in range(9)}
    other = world_of(properties=json.dumps(properties).encode())
    assert "two vocabularies" in refused(_core.object_ids, world, sampled(other, *range(9)))


def test_questions_on_scenes_of_no_objects_and_of_many(
    world: _core.World, templates: _core.Templates
) -> None:
    thing = {"size": "large", "color": "red", "material": "metal", "shape": "cube", "rotation": 0.0}
    thing |= {"3d_coords": [0, 0, 0.7], "pixel_coords": [1, 1, 9.0]}
    directions = {key: [1.0, 0.0, 0.0] for key in DIRECTIONS}
    rows = [
        {"split": "x", "image_index": n, "objects": [thing] * n, "directions": directions}
        for n in (0, 11, 32)
    ]
    scenes = _core.SceneBatch.from_json(world.vocabulary, json.dumps(rows).encode(), file="s.json")
    for questions in ("any", "with", "without", "unimplied"):
        pair = None if questions == "any" else PAIR
        asked = _core.instantiate_questions(
            scenes, templates, seed=1, held_out=pair, questions=questions, questions_per_scene=2**32 - 1
        )
        assert set(asked.column("image_idxs").tolist()) <= {0, 11, 32}
        assert (asked.column("answers") < len(world.answers)).all()


def test_audit_readers_refuse_what_does_not_fit(world: _core.World) -> None:
    vocabulary = world.vocabulary
    words = [("red", 0, True, False), (LONG, 10**6, True, True)]
    tokens = [*SPECIAL, "scene", "count"]
    names: dict[str, Any] = {"question_tokens": tokens, "program_tokens": tokens, "answers": []}
    pair = [("color", "red"), ("shape", "cube")]
    refused(_core.AuditReader, vocabulary, **names, held_out=pair, words=words)
    refused(_core.AuditReader, vocabulary, **names, held_out=[("color", LONG)], words=[])
    reader = _core.AuditReader(vocabulary, **names, held_out=pair, words=words[:1])
    none = _core.AuditScenes.read(vocabulary, [])
    assert len(none) == 0
    assert none.attributes.shape == (0, 4)
    refused(reader.read, ints(2, 0), ints(2, 5), none, ints(2, kind=np.int64))
    refused(reader.read, ints(2, 5), ints(3, 5), none, ints(2, kind=np.int64))
    refused(reader.read, ints(2, 5), ints(2, 5), none, ints(2, kind=np.int64))
    absent = ints(2, kind=np.int64) - 1
    findings = reader.read(ints(2, 5), ints(2, 5), none, absent)
    assert findings.answers.tolist() == [reader.NO_SCENE] * 2
    by_column = np.asfortranarray(ints(2, 5))  # its numbers are stored in another order
    refused(reader.read, by_column, ints(2, 5), none, absent)
    refused(reader.read, ints(2, 5), by_column, none, absent)
    refused(reader.relations_needed, by_column, none, absent, 5)
    refused(findings.violations, ints(3), "never", 5)
    refused(findings.violations, ints(2), "sometimes", 5)
    assert findings.violations(ints(2), "never", HUGE) == ([], {})
    refused(reader.relations_needed, ints(2, 5), none, absent, HUGE)
    refused(reader.encode, [b"{}"], 5, 5)
    row = {"question": "a", "program": [{"function": "scene", "value_inputs": [], "inputs": []}], "answer": 3}
    row |= {"image_index": 0, "image_filename": LONG, "question_family_index": 0}
    refused(reader.encode, [json.dumps(row).encode()], HUGE, 5)
    assert reader.encode([json.dumps(row).encode()], 0, 2)[0][1].tolist() == [3]
    refused(reader.encode, [json.dumps(row | {"answer": [LONG]}).encode()], 5, 5)
    one, some = ints(1), [[], [1]]
    assert _core.find_windows(one, one - 5, one, some, window=HUGE, unseen=HUGE) == (None, 0)
    assert _core.find_windows(ints(0), one, one, [], window=0, unseen=0)[1] is None


def test_chunks_images_and_placements_of_odd_sizes_are_refused() -> None:
    refused(_core.encode_png, np.asfortranarray(np.zeros((4, 5, 3), np.uint8)))
    rows = ints(4, 8, kind=np.uint8)
    wrong = ((0, 2, 4), (3, 2, 4), (4, 0, 4), (4, HUGE, 4), (4, 2, 99), (4, 2, -1))
    for item_size, chunk_rows, level in wrong:
        refused(_core.deflate_chunks, rows, item_size=item_size, chunk_rows=chunk_rows, level=level)
    refused(_core.deflate_chunks, rows[:, :0], item_size=1, chunk_rows=1, level=1)
    for chunk_size in (0, 7, 2**40, 2**62):
        refused(_core.inflate_chunks, [b"x" * 9], item_size=4, chunk_size=chunk_size)
    assert len(_core.inflate_chunks([], item_size=4, chunk_size=2**62)) == 0
    for shape in ((0, 0, 3), (2, 2, 4), (0, 5, 3), (5, 0, 3)):
        refused(_core.encode_png, ints(*shape, kind=np.uint8))
    native = studio()
    placement = json.dumps({"camera": [7, -6, 5], "lights": {}, "things": []}).encode()
    for width, height in ((0, 5), (5, 0), (2**32 - 1, 2**32 - 1), (8193, 1)):
        refused(native.render, placement, width=width, height=height, quality="draft")
        refused(native.passes, placement, width=width, height=height)
        refused(native.path_trace, placement, width=width, height=height, samples=1)
    assert len(refused(native.render, placement, width=2, height=2, quality=LONG)) < MAX_SHOWN + 100
    assert native.path_trace(placement, width=2, height=2, samples=0).shape == (2, 2, 3)
