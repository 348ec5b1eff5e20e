"""Properties and terms of COVR's questions, against what an independent reading of their JSON finds."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clevrhope import _core
from clevrhope.errors import VocabularyError
from clevrhope.export.covr import PATTERNS
from clevrhope.programs import default_vocabulary
from wording import check_refused, refused

TEMPLATE_OF_KIND = {kind: template for template, kind in PATTERNS.items()}
QUANTIFIERS = ("all", "some", "none", "all_same")

Nodes = list[dict[str, Any]]


def conditions(nodes: Nodes) -> list[Nodes]:
    """The programs among arguments."""
    return [node["arguments"][0] for node in nodes if isinstance(first_argument(node), list)]


def first_argument(node: dict[str, Any]) -> Any:
    return (node.get("arguments") or [None])[0]


def programs_in(nodes: Nodes) -> list[Nodes]:
    """The program and those of its conditions."""
    return [nodes, *(inner for each in conditions(nodes) for inner in programs_in(each))]


def every_node(nodes: Nodes) -> list[tuple[Nodes, dict[str, Any]]]:
    return [(program, node) for program in programs_in(nodes) for node in program]


def anonymised(nodes: Nodes, at: int = -1) -> str:
    """The program's operations as one string, a shared node once for each use."""
    node = nodes[at]
    name, used = node["operation"], node.get("dependencies", [])
    if name == "with_relation_object" and first_argument(node).startswith("same_"):
        name, used = "with_relation", used[::-1]  # having the same value is one relation in both directions
    inner = [anonymised(each) for each in conditions([node])]
    return f"{name}{inner}({' '.join(anonymised(nodes, k) for k in used)})"


def feeds_relation(nodes: Nodes) -> bool:
    return any(
        node["operation"].startswith("with_relation")
        and any(program[k]["operation"].startswith("with_relation") for k in node["dependencies"])
        for program, node in every_node(nodes)
    )


def is_composed(nodes: Nodes) -> bool:
    """Whether a quantifier's scope is neither a `find` nor everything."""
    scopes = [nodes[node["dependencies"][0]] for node in nodes if node["operation"] in QUANTIFIERS]
    return any(scope["operation"] not in ("find", "scene") for scope in scopes)


def properties_of(case: dict[str, Any]) -> dict[str, bool]:
    """All properties but `program`, from the JSON."""
    nodes, template = case["program"], TEMPLATE_OF_KIND[case["kind"]]
    operations = {node["operation"] for _, node in every_node(nodes)}
    arguments = [each for _, node in every_node(nodes) for each in node.get("arguments", [])]
    is_number = type(case["answer"]) is int
    found = {
        "has-count": "count" in operations,
        "has-attr": "filter" in operations,
        "has-groupby": "group_by_images" in operations,
        "has-logic": bool(operations & {"logic_and", "logic_or"}),
        "has-logic-and": "logic_and" in operations,
        "has-quant": bool(operations & set(QUANTIFIERS)),
        "has-quant-all": bool(operations & {"all", "all_same"}),
        "compscope": is_composed(nodes),
        "has-compar": case["kind"] == "compare_count",
        "has-compar-more": nodes[-1]["operation"] == "gt",
        "v-c": feeds_relation(nodes),
        "num-3": 3 in arguments,
        "num-3-ans-3": 3 in arguments or (is_number and case["answer"] == 3),
        "sameattr-color": (case["kind"] == "quantifier_same_attr" and first_argument(nodes[-1]) == "color")
        or (case["kind"] == "specific_same_attr" and first_argument(nodes[-2]) == "color"),
        "ans-num": is_number,
    }
    return found | {f"tpl-{name}".replace("_", "-"): name == template for name in TEMPLATE_OF_KIND.values()}


def terms_of(case: dict[str, Any]) -> set[str]:
    """All that is named but numbers and the types that are asked for, and the answer if it is a word."""
    named = {
        argument
        for _, node in every_node(case["program"])
        if node["operation"] not in ("all_same", "query_attr")
        for argument in node.get("arguments", [])
        if isinstance(argument, str)
    }
    return named | ({case["answer"]} if isinstance(case["answer"], str) else set())


def as_rows(cases: list[dict[str, Any]]) -> tuple[Any, Any]:
    """Properties and terms of the cases, as the engine finds them."""
    vocabulary, read = default_vocabulary(), _core.Programs.from_covr_json
    texts = [json.dumps(case["program"]).replace("CHOOSE_REL", "choose_relation").encode() for case in cases]
    programs = [read(vocabulary, text, file="programs.jsonl") for text in texts]
    templates = [_core.covr_template_names().index(TEMPLATE_OF_KIND[case["kind"]]) for case in cases]
    spelled = [{True: "yes", False: "no"}[a] if isinstance(a := c["answer"], bool) else str(a) for c in cases]
    answers = [vocabulary.set_answers.index(answer) for answer in spelled]
    rows = [
        _core.covr_properties(program, np.asarray([template], np.uint32), np.asarray([answer], np.uint32))
        for program, template, answer in zip(programs, templates, answers, strict=True)
    ]
    return np.concatenate([row[0] for row in rows]), np.concatenate([row[1] for row in rows])


@pytest.fixture(scope="module")
def cases(test_data: Path) -> list[dict[str, Any]]:
    file = test_data / "covr_public" / "programs.jsonl"
    if not file.is_file():
        pytest.skip(f"needs programs of COVR: no {file}")
    every = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [case for case in every if case["kind"] in TEMPLATE_OF_KIND]


def test_properties_are_those_of_the_json(cases: list[dict[str, Any]]) -> None:
    names = _core.covr_property_names()
    properties, _ = as_rows(cases)
    assert (properties.shape, properties.dtype) == ((300, len(names)), np.int8)
    counts: Counter[str] = Counter()
    for case, row in zip(cases, properties, strict=True):
        found = dict(zip(names, map(bool, row), strict=True))
        del found["program"]
        assert found == properties_of(case), case
        counts.update(name for name, holds in found.items() if holds)
    assert set(counts) == set(names) - {"program"}  # the cases have each of them


def test_the_program_split_holds_out_whole_anonymised_programs(cases: list[dict[str, Any]]) -> None:
    properties, _ = as_rows(cases)
    held_out = properties[:, _core.covr_property_names().index("program")]
    by_program: dict[str, set[int]] = {}
    for case, flag in zip(cases, held_out.tolist(), strict=True):
        by_program.setdefault(anonymised(case["program"]), set()).add(flag)
    assert len(by_program) > 100
    assert all(len(flags) == 1 for flags in by_program.values())
    share = sum(flags == {1} for flags in by_program.values()) / len(by_program)
    assert 0.1 < share < 0.3


def test_terms_are_those_of_the_json(cases: list[dict[str, Any]]) -> None:
    names = _core.covr_term_names(default_vocabulary())
    assert len(names) == len(set(names)) == 23
    _, masks = as_rows(cases)
    assert masks.dtype == np.int64
    for case, mask in zip(cases, masks.tolist(), strict=True):
        assert {name for bit, name in enumerate(names) if mask >> bit & 1} == terms_of(case), case


def question(vocabulary: _core.Vocabulary) -> _core.Programs:
    nodes = [{"operation": "scene"}, {"operation": "count", "dependencies": [0]}]
    return _core.Programs.from_covr_json(vocabulary, json.dumps(nodes).encode(), file="p.json")


def test_numbers_and_lengths_are_checked() -> None:
    vocabulary = default_vocabulary()

    def call(templates: list[int], answers: list[int]) -> None:
        _core.covr_properties(
            question(vocabulary), np.asarray(templates, np.uint32), np.asarray(answers, np.uint32)
        )

    check_refused(IndexError, call, [15], [0])
    check_refused(IndexError, call, [0], [len(vocabulary.set_answers)])
    with pytest.raises(ValueError, match="arrays of 1 and of 2 entries"):
        call([0, 0], [0])
    with pytest.raises(ValueError, match="arrays of 1 and of 0 entries"):
        call([0], [])


def test_no_questions_have_no_rows() -> None:
    tokens = _core.ProgramTokens(default_vocabulary())
    none = _core.Programs.from_tokens(tokens, np.zeros((0, 4), np.int32))
    properties, terms = _core.covr_properties(none, np.zeros(0, np.uint32), np.zeros(0, np.uint32))
    assert (properties.shape, terms.shape) == ((0, len(_core.covr_property_names())), (0,))


def test_a_vocabulary_of_many_values_has_no_masks() -> None:
    colors = {f"c{number}": [number, 0, 0] for number in range(60)}
    properties = {"sizes": {"s": 1}, "colors": colors, "materials": {"m": "m"}, "shapes": {"b": "b"}}
    vocabulary = _core.Vocabulary(json.dumps(properties).encode(), file="p.json")
    check_refused(VocabularyError, _core.covr_term_names, vocabulary)
    with refused(VocabularyError):
        _core.covr_properties(question(vocabulary), np.zeros(1, np.uint32), np.zeros(1, np.uint32))
