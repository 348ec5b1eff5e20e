"""The executor as an import, on dictionaries, files and arrays."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clevrhope import Program, ProgramError, Scene, SceneError, _core, execute, execute_batch, find, trace
from clevrhope.errors import VocabularyError
from clevrhope.programs import answer_text, default_vocabulary, read_scenes, read_vocabulary
from wording import check_refused, refused


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
    assert " ".join(step.type for step in steps) == "ObjectSet ObjectSet Object ObjectSet Object color"
    assert (steps[3].function, steps[3].value, steps[3].inputs) == ("relate", "left", (2,))


def test_a_trace_ends_where_there_is_no_answer(scene: dict[str, Any]) -> None:
    program = nodes("scene; unique 0; query_color 1")
    assert [step.output for step in trace(program, scene)] == [[0, 1], None, None]
    check_refused(ProgramError, execute, program, scene)


RED_AND_BLUE = {"objects": [{"color": "red"}, {"color": "blue"}, {"color": "red"}]}


@pytest.mark.parametrize(
    "written",
    [
        "filter_color[red](scene)",
        "filter_color[red] scene",
        nodes("scene; filter_color[red] 0"),
        [{"operation": "scene"}, {"operation": "filter", "dependencies": [0], "arguments": ["red"]}],
    ],
)
def test_a_referring_expression_finds_objects(written: Any) -> None:
    assert find(written, RED_AND_BLUE) == [0, 2]
    assert find(Program(written), Scene(RED_AND_BLUE)) == [0, 2]
    assert find(written, [RED_AND_BLUE, {"objects": []}]) == [[0, 2], []]
    assert trace(written, RED_AND_BLUE)[-1].output == [0, 2]
    check_refused(ProgramError, execute, written, RED_AND_BLUE)


def test_it_may_find_one_object_or_none() -> None:
    assert find("unique(filter_color[blue](scene))", RED_AND_BLUE) == [1]
    assert find("filter_color[green](scene)", RED_AND_BLUE) == []
    tokens = _core.ProgramTokens(default_vocabulary())
    row = np.array([1, tokens.names.index("filter_color[blue]"), tokens.names.index("scene"), 2], np.int32)
    assert find(row, RED_AND_BLUE) == [1]


def test_it_says_why_it_finds_nothing() -> None:
    check_refused(ProgramError, find, "unique(filter_color[red](scene))", RED_AND_BLUE)
    check_refused(ProgramError, find, "count(filter_color[red](scene))", RED_AND_BLUE)


def test_images_are_no_answer_either() -> None:
    program = Program("unique_images(filter_color[red](scene))")
    assert trace(program, RED_AND_BLUE)[-1].output == [0]
    check_refused(ProgramError, execute, program, RED_AND_BLUE)
    check_refused(ProgramError, find, program, RED_AND_BLUE)


def test_rows_of_a_file_end_in_answers() -> None:
    tokens = _core.ProgramTokens(default_vocabulary())
    rows = np.array([[1, tokens.names.index("scene"), 2]], np.int32)
    check_refused(ProgramError, _core.Programs.from_tokens, tokens, rows)
    assert len(_core.Programs.from_tokens(tokens, rows, any_ending=True)) == 1


def test_counts_are_subtracted_down_to_zero() -> None:
    taken = nodes("scene; filter_shape[cube] 0; filter_color[red] 1; count 1; count 2; subtraction 3 4")
    colors = ("red", "blue", "red", "green")
    scene = {"objects": [{"color": color, "shape": "cube"} for color in colors]}
    assert execute(taken, scene) == 2
    assert execute("subtraction(count(scene), count(scene))", scene) == 0
    check_refused(ProgramError, execute, "subtraction(count(filter_color[red](scene)), count(scene))", scene)


def test_faults_are_named(scene: dict[str, Any], program: list[dict[str, Any]]) -> None:
    check_refused(ProgramError, execute, [{"function": "scenes", "inputs": []}], scene)
    check_refused(ProgramError, execute, {"question": "Any?"}, scene)
    check_refused(ProgramError, execute, [{"function": {1, 2}}], scene)
    scene["objects"][1]["shape"] = "spere"
    check_refused(SceneError, execute, program, scene)


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


def test_tokens_of_a_suite_come_after_those_of_a_dataset(scene: dict[str, Any]) -> None:
    vocabulary = default_vocabulary()
    own = _core.ProgramTokens(vocabulary)
    assert len(own.names) == 44
    suite = own.extended(["verify_size", "not", "count", "count_is", "verify_size"])
    further = ["verify_size[small]", "verify_size[large]", "not", *(f"count_is[{n}]" for n in range(11))]
    assert suite.names == own.names + further
    names = {name: i for i, name in enumerate(suite.names)}
    row = [1, *(names[name] for name in ("not", "count_is[3]", "count", "scene")), 2]
    scenes = _core.SceneGraphs.from_json(vocabulary, json.dumps([scene]).encode(), file="scene")
    answers = _core.execute_tokens(suite, np.array([row], np.int32), scenes, np.zeros(1, np.uint32))
    assert vocabulary.answers[answers[0]] == ("no" if len(scene["objects"]) == 3 else "yes")
    check_refused(ProgramError, own.extended, ["verify_sizes"])


def _file(test_data: Path, part: str, kind: str) -> Path:
    return test_data / "real_clevr" / f"CLEVR_{part}_{kind}.json"


def test_a_whole_scene_file_has_an_answer_for_each_scene(
    scene: dict[str, Any], program: list[dict[str, Any]]
) -> None:
    one = execute(program, scene)
    file = {"info": {"split": "val"}, "scenes": [scene, scene]}
    for given in (file, [scene, scene]):
        assert execute(program, given) == [one, one]
    for given in ({"scenes": []}, []):
        assert execute(program, given) == []
    check_refused(SceneError, Scene, file)


def test_values_of_any_length_are_shown_short(scene: dict[str, Any], program: list[dict[str, Any]]) -> None:
    long = "x" * 100_000
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    spoilt_scene = {**scene, "objects": [{**scene["objects"][0], "color": long}]}
    for spoilt in (spoilt_scene, {"objects": long}, {"objects": deep}, long, 3, None, {"objects": {long}}):
        with pytest.raises(SceneError) as scene_error:
            execute(program, spoilt)  # type: ignore[arg-type]
        assert len(str(scene_error.value)) < 600
    for nodes_ in ([{"function": long}], [{"function": "scene", "inputs": [long]}], long, {"program": deep}):
        with pytest.raises(ProgramError) as program_error:
            execute(nodes_, scene)  # type: ignore[arg-type]
        assert len(str(program_error.value)) < 600
    check_refused(SceneError, execute, program, {"objects": float("nan")})


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    scenes, missing = no_scenes(), tmp_path / "missing.json"
    check_refused(VocabularyError, read_vocabulary, missing)
    check_refused(SceneError, read_scenes, missing)
    check_refused(ProgramError, execute_batch, missing, scenes)
    check_refused(SceneError, execute_batch, missing, missing)
    with refused(ProgramError):
        execute_batch(np.zeros((0, 3), np.int32), scenes, image_idxs=np.zeros(0, np.int64), vocab=missing)


def test_arrays_that_do_not_fit_are_refused() -> None:
    scenes = no_scenes()
    one = np.zeros(1, np.int64)
    odd_shapes = [np.zeros(shape, np.int32) for shape in (3, (1, 0), (1, 2, 3))]
    for rows in (*odd_shapes, [[1.5]], [["a"]], [[1], [1, 2]], np.array([[2**40]])):
        with refused(ProgramError):
            execute_batch(rows, scenes, image_idxs=one)  # type: ignore[arg-type]
    for idxs in (np.zeros(2, np.int64), np.zeros((1, 1), np.int64), np.zeros(1), np.array(["a"]), None):
        with refused(SceneError):
            execute_batch(np.zeros((1, 3), np.int32), scenes, image_idxs=idxs)  # type: ignore[arg-type]
    check_refused(SceneError, execute_batch, np.zeros((1, 3), np.int32), scenes, image_idxs=one - 1)


def no_scenes() -> _core.SceneBatch:
    return _core.SceneBatch.from_json(default_vocabulary(), b"[]", file="scenes")


def numbered(programs: Any, answers: Any = None) -> dict[str, Any]:
    return {"program_token_to_idx": programs, "answer_token_to_idx": answers or {}}


@pytest.mark.parametrize(
    "vocab",
    [
        [],
        {"program_token_to_idx": {}},
        {"answer_token_to_idx": {}},
        numbered([]),
        numbered({"a": "b"}),
        numbered({"a": -1}),
        numbered({"a": 1}),
        numbered({"a": 0}, {"a": 1 << 40}),
    ],
)
def test_a_vocab_that_is_none_is_refused(vocab: Any, tmp_path: Path) -> None:
    path = tmp_path / "vocab.json"
    path.write_text(json.dumps(vocab))
    with refused(ProgramError):
        execute_batch(np.zeros((0, 3), np.int32), no_scenes(), image_idxs=np.zeros(0, np.int64), vocab=path)
