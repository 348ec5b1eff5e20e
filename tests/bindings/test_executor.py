"""The executor as an import: dictionaries, files and arrays in, answers out."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clevrhope import Program, ProgramError, Scene, SceneError, _core, execute, execute_batch, trace
from clevrhope.executor import ILL_FORMED, INVALID, answer_text, default_vocabulary, read_scenes

PARTS = ("val", "train")


def nodes(text: str) -> list[dict[str, Any]]:
    """A program from "function[value] inputs; ..."."""
    program = []
    for step in text.split("; "):
        name, *inputs = step.split()
        function, _, value = name.partition("[")
        values = [value.rstrip("]")] if value else []
        program.append({"function": function, "inputs": [int(i) for i in inputs], "value_inputs": values})
    return program


@pytest.fixture
def program() -> list[dict[str, Any]]:
    """What color is the thing left of the cube?"""
    return nodes("scene; filter_shape[cube] 0; unique 1; relate[left] 2; unique 3; query_color 4")


def test_each_kind_of_answer_has_its_own_type(scene: dict[str, Any], program: list[dict[str, Any]]) -> None:
    assert execute(program, scene) == "cyan"
    assert execute(nodes("scene; count 0"), scene) == 2
    assert type(execute(nodes("scene; count 0"), scene)) is int
    assert execute(nodes("scene; filter_color[blue] 0; exist 1"), scene) is False
    assert [answer_text(answer) for answer in (True, False, 7, "cyan")] == ["yes", "no", "7", "cyan"]


def test_questions_and_handles_are_programs_too(scene: dict[str, Any], program: list[dict[str, Any]]) -> None:
    question = {"question": "What color is it?", "program": program, "answer": "cyan"}
    assert execute(question, scene) == "cyan"
    assert execute(Program(question), Scene(scene)) == "cyan"
    assert Program(question).nodes() == program
    assert len(Scene(scene)) == 2


def test_both_spellings_mean_the_same(scene: dict[str, Any], program: list[dict[str, Any]]) -> None:
    spelt = [
        {"type": n["function"], "inputs": n["inputs"], "side_inputs": n["value_inputs"]} for n in program
    ]
    assert execute(spelt, scene) == execute(program, scene)


def test_a_trace_shows_every_step(scene: dict[str, Any], program: list[dict[str, Any]]) -> None:
    steps = trace(program, scene)
    assert [step.output for step in steps] == [[0, 1], [0], 0, [1], 1, "cyan"]
    assert [step.type for step in steps] == [
        "ObjectSet",
        "ObjectSet",
        "Object",
        "ObjectSet",
        "Object",
        "color",
    ]
    assert (steps[3].function, steps[3].value, steps[3].inputs) == ("relate", "left", (2,))


def test_a_trace_ends_where_there_is_no_answer(scene: dict[str, Any]) -> None:
    program = nodes("scene; unique 0; query_color 1")
    assert [step.output for step in trace(program, scene)] == [[0, 1], None, None]
    with pytest.raises(ProgramError, match="unique"):
        execute(program, scene)


def test_faults_are_named(scene: dict[str, Any], program: list[dict[str, Any]]) -> None:
    with pytest.raises(ProgramError, match=r'program\[0\]: unknown function "scenes" \(did you mean "scene"'):
        execute([{"function": "scenes", "inputs": []}], scene)
    with pytest.raises(ProgramError, match='no "program"'):
        execute({"question": "Any?"}, scene)
    with pytest.raises(ProgramError, match="not what"):
        execute([{"function": {1, 2}}], scene)
    scene["objects"][1]["shape"] = "spere"
    with pytest.raises(SceneError, match=r'objects\[1\].*"spere".*did you mean "sphere"'):
        execute(program, scene)


@pytest.mark.parametrize("part", PARTS)
def test_published_programs_give_the_published_answers(test_data: Path, part: str) -> None:
    questions, scenes = _published(test_data, part)
    by_index = {scene["image_index"]: scene for scene in scenes}
    assert questions
    for question in questions:
        answer = execute(question["program"], by_index[question["image_index"]])
        assert answer_text(answer) == question["answer"]


@pytest.mark.parametrize("part", PARTS)
def test_files_give_the_published_answers(test_data: Path, part: str) -> None:
    answers = execute_batch(_file(test_data, part, "questions"), _file(test_data, part, "scenes"))
    questions, _ = _published(test_data, part)
    texts = default_vocabulary().answers
    assert [texts[number] for number in answers] == [question["answer"] for question in questions]


def test_tokens_give_what_files_give(test_data: Path) -> None:
    file = _file(test_data, "train", "questions")
    scenes = read_scenes(_file(test_data, "train", "scenes"))
    programs, image_idxs = _core.Programs.from_questions(default_vocabulary(), file.read_bytes(), file="q")
    tokens = _core.ProgramTokens(default_vocabulary())
    rows = programs.to_tokens(tokens, 40)
    expected = execute_batch(file, scenes)
    assert np.array_equal(execute_batch(rows, scenes, image_idxs=image_idxs), expected)
    again = _core.Programs.from_tokens(tokens, rows)
    assert np.array_equal(again.to_tokens(tokens, 40), rows)
    # With a vocab.json, numbers of functions and answers are the file's.
    shuffled = tokens.names[:4] + tokens.names[:3:-1]
    vocab = {
        "program_token_to_idx": {name: i for i, name in enumerate(shuffled)},
        "answer_token_to_idx": {name: i + 4 for i, name in enumerate(sorted(default_vocabulary().answers))},
    }
    renumbered = np.array([shuffled.index(name) for name in tokens.names], dtype=np.int32)[rows]
    answers = execute_batch(renumbered, scenes, image_idxs=image_idxs, vocab=vocab)
    texts = default_vocabulary().answers
    assert [sorted(texts)[number - 4] for number in answers] == [texts[number] for number in expected]


def test_rows_that_have_no_answer_are_marked(scene: dict[str, Any]) -> None:
    vocabulary = default_vocabulary()
    scenes = _core.SceneGraphs.from_json(vocabulary, json.dumps([scene]).encode(), file="scene")
    names = _core.ProgramTokens(vocabulary).names
    row = lambda *functions: [1, *map(names.index, functions), 2, 0, 0]  # noqa: E731
    rows = np.array(
        [row("query_color", "unique", "scene")[:7], row("count", "scene", "scene")[:7]], dtype=np.int32
    )
    tokens, where = _core.ProgramTokens(vocabulary), np.zeros(2, dtype=np.uint32)
    answers = _core.execute_tokens(tokens, rows, scenes, where, mark_ill_formed=True)
    assert answers.tolist() == [INVALID, ILL_FORMED]
    with pytest.raises(ProgramError, match=r"programs\[1\]\[3\]"):
        _core.execute_tokens(tokens, rows, scenes, where)


def test_a_picture_without_a_scene_is_named(test_data: Path) -> None:
    with pytest.raises(SceneError, match=r"image_idxs\[0\] is 7000"):
        execute_batch(
            np.zeros((1, 9), dtype=np.int32), _file(test_data, "val", "scenes"), image_idxs=np.array([7000])
        )


def _file(test_data: Path, part: str, kind: str) -> Path:
    return test_data / "real_clevr" / f"CLEVR_{part}_{kind}.json"


def _published(test_data: Path, part: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    questions, scenes = (
        json.loads(_file(test_data, part, kind).read_bytes())[kind] for kind in ("questions", "scenes")
    )
    return questions, scenes
