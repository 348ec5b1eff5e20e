"""The engine gives what a slow and obvious executor gives, on random scenes and programs and on real ones."""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import slow_executor
from hypothesis import given, settings
from hypothesis import strategies as st
from program_strategies import (
    BEYOND_CLEVR,
    SIGNATURES,
    Nodes,
    Scene,
    random_program,
    random_scene,
    scenes_and_programs,
)

from clevrhope import ProgramError, _core, execute, execute_batch, select_split, trace
from clevrhope.programs import INVALID, answer_text, default_vocabulary
from clevrhope.questions import read_templates
from clevrhope.scenes import read_world


def answer_number(outputs: list[Any]) -> int:
    """The number of the last output among the vocabulary's answers; INVALID where a node failed."""
    if outputs[-1] == slow_executor.FAILED:
        return INVALID
    text = {True: "yes", False: "no"}[outputs[-1]] if isinstance(outputs[-1], bool) else str(outputs[-1])
    return default_vocabulary().answers.index(text)


@settings(max_examples=3000)
@given(scenes_and_programs())
@pytest.mark.slow
def test_every_output_is_the_slow_one(pair: tuple[Scene, Nodes]) -> None:
    scene, nodes = pair
    expected = slow_executor.run(nodes, scene)
    steps = trace(nodes, scene)
    assert [step.function for step in steps] == [node["function"] for node in nodes]
    outputs = [step.output for step in steps]
    if expected[-1] == slow_executor.FAILED:
        done = len(expected) - 1
        assert outputs == expected[:-1] + [None] * (len(nodes) - done)
        with pytest.raises(ProgramError, match="has no result"):
            execute(nodes, scene)
    else:
        assert outputs == expected
        assert [type(output) for output in outputs] == [type(output) for output in expected]
        answer = execute(nodes, scene)
        assert (answer, type(answer)) == (expected[-1], type(expected[-1]))


@settings(max_examples=150)
@given(st.lists(scenes_and_programs(), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_a_batch_of_all_pairs_is_the_slow_one(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[Scene, Nodes]], random: Any
) -> None:
    folder = tmp_path_factory.getbasetemp()
    scenes = [scene | {"image_index": 7 * i} for i, (scene, _) in enumerate(drawn)]
    questions = [
        {"question": "?", "program": nodes, "image_index": scene["image_index"]}
        for _, nodes in drawn
        for scene in scenes
    ]
    random.shuffle(questions)
    (folder / "scenes.json").write_text(json.dumps({"info": {}, "scenes": [_full(s) for s in scenes]}))
    (folder / "questions.json").write_text(json.dumps({"info": {}, "questions": questions}))

    answers = execute_batch(folder / "questions.json", folder / "scenes.json")
    by_index = {scene["image_index"]: scene for scene in scenes}
    expected = [
        answer_number(slow_executor.run(question["program"], by_index[question["image_index"]]))
        for question in questions
    ]
    assert answers.tolist() == expected


@settings(max_examples=500)
@given(scenes_and_programs())
def test_tokens_are_the_public_models(pair: tuple[Scene, Nodes]) -> None:
    scene, nodes = pair
    vocabulary = default_vocabulary()
    tokens = _core.ProgramTokens(vocabulary).extended(BEYOND_CLEVR)
    names = tokens.names
    programs = _core.Programs.from_json(vocabulary, json.dumps(nodes).encode(), file="program")
    expected = slow_executor.prefix_tokens(nodes)
    if len(expected) > 60:
        with pytest.raises(ProgramError, match=f"needs {len(expected) + 2} tokens"):
            programs.to_tokens(tokens, 62)
        return
    rows = programs.to_tokens(tokens, 64)
    written = [names[number] for number in rows[0]]
    padding = ["<NULL>"] * (62 - len(expected))
    assert written == ["<START>", *expected, "<END>", *padding]

    graphs = _core.SceneGraphs.from_json(vocabulary, json.dumps([scene]).encode(), file="scene")
    number = int(_core.execute_tokens(tokens, rows, graphs, np.zeros(1, dtype=np.uint32))[0])
    slow = answer_number(slow_executor.run(nodes, scene))
    # Tokens leave out nodes that the last does not need, and with them what these would have ruled out.
    assert number == slow or slow == INVALID
    tree = json.loads(_core.Programs.from_tokens(tokens, rows).to_json(0))
    assert slow_executor.prefix_tokens(tree) == expected
    assert number == answer_number(slow_executor.run(tree, scene))


def test_the_random_programs_are_worth_running() -> None:
    """Every function runs often, and programs end in every way: else the tests above would say little."""
    functions: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    for seed in range(1000):
        rng = Random(seed)
        scene = random_scene(rng)
        nodes = random_program(rng, scene)
        outputs = slow_executor.run(nodes, scene)
        functions.update(node["function"] for node, _ in zip(nodes, outputs, strict=False))
        ends["failed" if outputs[-1] == slow_executor.FAILED else type(outputs[-1]).__name__] += 1
    assert all(functions[name] >= 15 for name in SIGNATURES), functions
    assert all(ends[kind] >= 30 for kind in ("bool", "int", "str", "failed")), ends


@pytest.mark.parametrize("part", ["val", "train"])
def test_the_slow_executor_gives_the_published_answers(test_data: Path, part: str) -> None:
    questions, scenes = (
        json.loads((test_data / "real_clevr" / f"CLEVR_{part}_{kind}.json").read_bytes())[kind]
        for kind in ("questions", "scenes")
    )
    by_index = {scene["image_index"]: scene for scene in scenes}
    assert questions
    for question in questions:
        outputs = slow_executor.run(question["program"], by_index[question["image_index"]])
        assert default_vocabulary().answers[answer_number(outputs)] == question["answer"]
        assert [step.output for step in trace(question, by_index[question["image_index"]])] == outputs


def _full(scene: Scene) -> Scene:
    """The scene with all that a scene file holds of it."""
    objects = [
        thing | {"3d_coords": [0.0, 0.0, 0.7], "pixel_coords": [0, 0, 9.0], "rotation": 0.0}
        for thing in scene["objects"]
    ]
    directions = {name: [1.0, 0.0, 0.0] for name in ("left", "right", "behind", "front", "above", "below")}
    return scene | {"objects": objects, "directions": directions, "split": "x", "image_filename": "x.png"}


def test_questions_of_a_split_have_the_slow_executors_answers() -> None:
    world = read_world()
    (batch,) = select_split(
        2_000,
        seed=3,
        world=world,
        templates=read_templates(world),
        split="train",
        pool="train",
        held_out=[("material", "rubber"), ("shape", "cylinder")],
        scenes="without",
        questions="without",
    )
    questions = json.loads(batch.to_json(split="train"))
    indices = np.unique(batch.column("image_idxs")).astype(np.uint64)
    sampled = _core.sample_scenes(world, seed=3, pool="train", indices=indices)
    scenes = {scene["image_index"]: scene for scene in json.loads(sampled.to_json())}
    assert len({question["question_family_index"] for question in questions}) == 90
    for question in questions:
        nodes = [{"value_inputs": [], **node} for node in question["program"]]
        outputs = slow_executor.run(nodes, scenes[question["image_index"]])
        assert answer_text(outputs[-1]) == question["answer"], question["question"]
