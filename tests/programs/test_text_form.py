"""Programs as text and as tokens: what is written is read back, and faults are named where they are."""

from random import Random
from typing import Any

import numpy as np
import pytest
import slow_executor
from hypothesis import given, settings
from program_strategies import Nodes, Scene, answer_if_any, random_program, random_scene, scenes_and_programs

from clevrhope import Program, ProgramError, execute
from clevrhope._core import ProgramTokens
from clevrhope.programs import default_vocabulary
from clevrhope.programs.text import MAX_FUNCTIONS, text_of_tokens
from wording import check_refused

SCENE = {"objects": [{"color": "red", "shape": "cube"}, {"color": "blue", "shape": "cube"}]}


@settings(max_examples=1000)
@given(scenes_and_programs())
def test_the_text_of_any_program_is_read_back(pair: tuple[Scene, Nodes]) -> None:
    scene, nodes = pair
    text = str(Program(nodes))
    again = Program(text)
    assert str(again) == text
    assert slow_executor.prefix_tokens(again.nodes()) == slow_executor.prefix_tokens(nodes)
    # A text leaves out nodes that the last does not need, and with them what these would have ruled out.
    expected = answer_if_any(nodes, scene)
    assert expected is None or answer_if_any(text, scene) == expected


@settings(max_examples=300)
@given(scenes_and_programs())
def test_tokens_are_read_by_name_and_by_number(pair: tuple[Scene, Nodes]) -> None:
    scene, nodes = pair
    tokens = slow_executor.prefix_tokens(nodes)
    if len(tokens) > MAX_FUNCTIONS:
        return
    expected = answer_if_any(str(Program(nodes)), scene)
    framed = ["<START>", *tokens, "<END>", "<NULL>", "<NULL>"]
    for given_tokens in (tokens, " ".join(tokens), framed, " ".join(framed), tuple(tokens)):
        assert answer_if_any(given_tokens, scene) == expected
    assert str(Program(tokens)) == str(Program(text_of_tokens(tokens)))


def test_rows_of_a_dataset_are_read() -> None:
    program = Program("exist(relate[left](unique(filter_color[red](scene))))")
    tokens = ProgramTokens(default_vocabulary())
    numbers = [tokens.names.index(name) for name in ("exist", "relate[left]", "unique", "filter_color[red]")]
    row = np.array([1, *numbers, tokens.names.index("scene"), 2, 0, 0])
    assert str(Program(row)) == str(program)
    assert str(Program(row.astype(np.int16))) == str(program)
    check_refused(ProgramError, Program, np.array([1, 99, 2]))
    check_refused(ProgramError, Program, row[np.newaxis])
    check_refused(ProgramError, Program, np.array([1, 2**40, 2]))


def test_shared_results_are_written_once() -> None:
    nodes: Nodes = [{"function": "scene", "inputs": [], "value_inputs": []}]
    for number in range(MAX_FUNCTIONS - 2):
        nodes.append({"function": "union", "inputs": [number, number], "value_inputs": []})
    nodes.append({"function": "count", "inputs": [len(nodes) - 1], "value_inputs": []})
    text = str(Program(nodes))
    assert text.startswith("x1 = scene; x2 = union(x1, x1); x3 = union(x2, x2); ")
    assert len(text) < 30 * len(nodes)
    assert execute(text, SCENE) == 2
    assert str(Program(text)) == text
    assert repr(Program(text)) == f"Program({text})"


def test_programs_over_several_images_have_a_text() -> None:
    left: list[dict[str, Any]] = [
        {"operation": "find", "arguments": ["sphere"]},
        {"operation": "find", "arguments": ["cube"]},
        {"operation": "with_relation", "dependencies": [0, 1], "arguments": ["left"]},
        {"operation": "unique", "dependencies": [2]},
        {"operation": "choose_relation", "dependencies": [3, 1], "arguments": ["right", "left"]},
    ]
    text = str(Program(left))
    assert text == (
        "x1 = filter_shape[cube](scene); "
        "choose_relation[right](unique(with_relation[left](filter_shape[sphere](scene), x1)), x1)"
    )
    assert str(Program(text)) == text
    choice = "choose_color[red](unique(scene), option_color[blue])"
    assert str(Program(choice)) == choice


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (" count ( filter_color[ red ](\nscene() ) ) ", "count(filter_color[red](scene))"),
        ("a = scene; count(a)", "count(scene)"),
        ("count scene", "count(scene)"),
        ("count=scene;count(count)", "count(scene)"),
    ],
)
def test_spaces_and_names_are_free(text: str, same: str) -> None:
    assert str(Program(text)) == same


@pytest.mark.parametrize(
    "text",
    [
        "count(filter_colour[red](scene))",
        "count(filter_color[redd](scene))",
        "count(filter_color(scene))",
        "count(scene, scene)",
        "query_size(filter_color[red](scene))",
        "count(scene",
        "count(scene]",
        "count(scene scene)",
        "count(scene))",
        "count(scene); exist(scene)",
        "count(,)",
        "count(",
        "x = scene",
        "x = unique(scene)",
        "x = unique(scene) count(x)",
        "x = scene; count(y)",
        "x = y = scene; count(x)",
        "exist(filter_color[(node 9)](scene))",
        "exist filter_color[program[7]] scene",
        "count filter_colr[red] scene",
        "count filter_color[red]",
        "count scene scene",
        "<START> <END>",
        "",
    ],
)
def test_faults_are_named_where_they_are(text: str) -> None:
    check_refused(ProgramError, Program, text)


@pytest.mark.parametrize(
    "text", ["count(" * 100_000, "count " * 100_000, "(" * 9, "x" * 10**6, ";=;", "[[", "x=" * 99]
)
def test_no_text_does_more_than_fail(text: str) -> None:
    with pytest.raises(ProgramError) as error:
        Program(text)
    assert len(str(error.value)) < 400


def test_damaged_texts_fail_in_a_sentence_or_are_programs() -> None:
    rng = Random(3)
    failed = 0
    for _ in range(400):
        text = str(Program(random_program(rng, random_scene(rng))))
        place = rng.randrange(len(text))
        start = text[:place]
        for damaged in (start, start + text[place + 1 :], start + rng.choice("(),;=[] x") + text[place:]):
            problem = fault(damaged)
            failed += bool(problem)
            assert problem.startswith("program") or not problem, damaged
    assert failed > 600


def fault(text: str) -> str:
    """What is wrong with a text; "" if nothing is."""
    try:
        Program(text)
    except ProgramError as error:
        return str(error)
    return ""
