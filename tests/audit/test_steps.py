"""Sentences about the steps of answers say what is so, on questions of every kind and on random programs.

Each sentence is parsed back by `audit.sentences`, whose meanings are its own. The outputs that it has to
match are those of the slow executor where that knows the functions, and otherwise of `trace`.
"""

import json
import pickle
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
import slow_executor
from building import SET_SIZES, Cli, build_demo, cli
from program_strategies import VALUES, random_program
from syrupy.assertion import SnapshotAssertion

from clevrhope import SceneSet, _core, load, trace
from clevrhope.audit.sentences import Images
from clevrhope.audit.steps import check_steps, faults_of
from clevrhope.export import export
from clevrhope.pipeline.suites import make_suite
from clevrhope.programs import TracedStep
from clevrhope.runtime import assets
from clevrhope.scenes import read_world

__all__ = ["cli"]

HOP = "rubber_cylinder"
SIZE = (480, 320)


class Asked(NamedTuple):
    """Scenes, a program's nodes on them, and the steps that were written."""

    scenes: list[dict[str, Any]]
    nodes: list[dict[str, Any]]
    steps: list[dict[str, Any]]


def sampled(n: int, seed: int, world: _core.World | None = None) -> _core.SceneBatch:
    indices = np.arange(n, dtype=np.uint64)
    return _core.sample_scenes(world or read_world(), seed=seed, pool="steps", indices=indices)


def written(batch: _core.SceneBatch, nodes: list[dict[str, Any]], *places: int) -> Asked:
    """The steps of a program on the scenes at these places."""
    programs = _core.Programs.from_json(batch.vocabulary, json.dumps(nodes).encode(), file="program")
    part = batch.take(np.asarray(places, dtype=np.uint32))
    rows = np.arange(len(places), dtype=np.int32)[np.newaxis]
    (content,) = _core.write_steps(programs, part, rows, width=SIZE[0], height=SIZE[1])
    return Asked([json.loads(row) for row in part.json_rows()], nodes, json.loads(content))


def slow_trace(asked: Asked) -> list[TracedStep]:
    """The steps of a program with the outputs of the slow executor."""
    outputs = slow_executor.run(asked.nodes, asked.scenes[0])
    traced = []
    for node, output in zip(asked.nodes, outputs, strict=True):
        value = node["value_inputs"][0] if node["value_inputs"] else None
        kind = "ObjectSet" if isinstance(output, list) else "Bool" if isinstance(output, bool) else "Integer"
        if node["function"] == "unique" or node["function"].startswith("offer_"):
            kind = "Object"
        traced.append(TracedStep(node["function"], value, tuple(node["inputs"]), kind, output))
    return traced


def faults(asked: Asked, steps: list[dict[str, Any]] | None = None, answer: str | None = None) -> list[str]:
    traced = slow_trace(asked)
    images = Images(asked.scenes, VALUES, SIZE)
    said = asked.steps if steps is None else steps
    return list(faults_of(said, traced, images, answer or _answer(traced[-1].output)))


def _answer(output: Any) -> str:
    return ("yes" if output else "no") if isinstance(output, bool) else str(output)


def text_of(asked: Asked) -> str:
    return " ".join(step["text"] for step in asked.steps)


def nodes_of(text: str) -> list[dict[str, Any]]:
    """The nodes of "scene; filter_color[red] 0; count 1"."""
    nodes = []
    for each in text.split("; "):
        head, *inputs = each.split()
        name, _, value = head.partition("[")
        nodes.append(
            {"function": name, "inputs": [*map(int, inputs)], "value_inputs": [value[:-1]] * bool(value)}
        )
    return nodes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo with questions over several images and a suite, without images."""
    out = tmp_path_factory.mktemp("steps") / "data"
    build_demo(out, render=False, covr=True, sizes={**SET_SIZES, "train": 200, "complex_iid": 100})
    make_suite(out, "carets")
    return out


def count_checked(folder: Path, split: str, suite: str | None, limit: int | None) -> Counter[str]:
    """The functions of the sentences of a split's questions, or of a suite's pairs, which are all so."""
    found: Any = load(
        folder, HOP, split, suite=suite, limit=limit, images=False, text=True, scenes=True, steps=True
    )
    functions: Counter[str] = Counter()
    for item in ((each["original"], each["partner"]) if suite else (each,) for each in found):
        for question in item:
            scenes = question.get("scenes") or [question["scene"]]
            traced = trace(question["program_text"], SceneSet(scenes) if "scenes" in question else scenes[0])
            images = Images(scenes, VALUES, SIZE)
            wrong = faults_of(question["steps"], traced, images, question["answer_text"])
            assert [*wrong] == [], question["question_text"]
            functions.update(step["function"].partition("[")[0] for step in question["steps"])
    return functions


SETS = [("train", None), ("complex_ood", None), ("minimal_ood", None), ("covr_train", None),
        ("covr_test", None), ("complex_iid", "carets")]  # fmt: skip


@pytest.mark.parametrize(("split", "suite"), SETS)
def test_every_sentence_is_so(folder: Path, split: str, suite: str | None) -> None:
    assert count_checked(folder, split, suite, 8)


@pytest.mark.slow
def test_every_sentence_of_thousands_of_questions_is_so(tmp_path: Path) -> None:
    """All families and templates are among them, and all functions that they have."""
    out = tmp_path / "data"
    build_demo(out, render=False, covr=True, sizes={"train": 3000, "complex_ood": 900})
    make_suite(out, "carets")
    functions = Counter[str]()
    for split, suite in SETS:
        functions += count_checked(out, split, suite, None)
    assert functions.total() > 10_000
    assert {"all", "none", "choose_color", "choose_relation", "count_images", "with_relation", "and"} < set(
        functions
    )


def test_random_programs_say_what_a_slow_executor_finds() -> None:
    batch, rng, done, functions = sampled(60, seed=1), Random(7), 0, Counter[str]()
    scenes = [json.loads(row) for row in batch.json_rows()]
    while done < 300:
        place = rng.randrange(len(scenes))
        nodes = random_program(rng, scenes[place])
        asked = written(batch, nodes, place)
        if slow_executor.FAILED in slow_executor.run(nodes, scenes[place]):
            assert asked.steps == []
            continue
        done += 1
        assert faults(asked) == [], text_of(asked)
        functions.update(re.split(r"[_\[]", step["function"])[0] for step in asked.steps)
    assert set(functions) > {
        "count",
        "exist",
        "union",
        "intersect",
        "relate",
        "same",
        "query",
        "equal",
        "less",
        "and",
    }


RED = "scene; filter_color[red] 0"
BY_HAND = {
    "none": f"{RED}; count 1",
    "all objects": "scene; count 0",
    "same": "scene; filter_shape[cylinder] 0; unique 1; same_color 2; exist 3",
    "verify": "scene; filter_shape[cylinder] 0; unique 1; verify_color[red] 2; verify_shape[cylinder] 2; "
    "or 3 4; not 5",
    "union": f"{RED}; filter_shape[cylinder] 0; union 1 2; filter_size[large] 3; count 4",
    "quantifiers": f"{RED}; filter_shape[cube] 0; all 1 2; none 1 2; and 3 4; some 1 2; or 5 6",
    "of images": f"{RED}; unique_images 1; count_images 2; count_at_least[2] 3",
    "groups": f"{RED}; group_by_images 1; keep_if_values_count_leq[2] 2; keys 3; count_images 4; "
    "count_is[2] 5",
    "relation of sets": f"{RED}; filter_shape[sphere] 0; with_relation[left] 1 2; filter_material[metal] 0; "
    "with_relation_object[behind] 3 4; count 5",
    "likeness of sets": "scene; filter_shape[cube] 0; with_same_color 1 1; all_same_size 2",
    "long": f"{RED}; filter_shape[cube] 0; union 1 2; filter_shape[sphere] 0; with_relation[front] 4 3; "
    "with_relation[left] 1 5; union 6 3; intersect 7 2; count 8",
}
"""Programs with functions and nestings that few questions have."""


@pytest.fixture(scope="module")
def batch() -> _core.SceneBatch:
    return sampled(40, seed=2)


@pytest.mark.parametrize("name", BY_HAND)
def test_wording(name: str, batch: _core.SceneBatch, snapshot: SnapshotAssertion) -> None:
    nodes, said = nodes_of(BY_HAND[name]), []
    for places in ((0,), (1, 2), (3, 4, 5)):
        asked = written(batch, nodes, *places)
        images = Images(asked.scenes, VALUES, SIZE)
        asked_of = SceneSet(asked.scenes)
        traced = trace(nodes, asked_of)
        if asked.steps:
            answer = _answer(traced[-1].output)
            of_one = [] if len(places) > 1 else asked.steps
            assert not of_one or all(isinstance(one, int) for step in of_one for one in step["objects"])
            assert [*faults_of(asked.steps, traced, images, answer)] == []
        said.append(text_of(asked))
    if name != "long":
        assert said == snapshot


def test_names_are_the_shortest(batch: _core.SceneBatch) -> None:
    """No fewer values single an object out, and one with a place has a twin."""
    n_with_place = 0
    for place in range(len(batch)):
        asked = written(batch, nodes_of("scene; count 0"), place)
        (text,) = (step["text"] for step in asked.steps)
        objects = asked.scenes[0]["objects"]
        names = re.split(r", | and ", text.partition(": ")[2].removesuffix("."))
        assert len(names) == len(objects)
        for item, name in zip(objects, names, strict=True):
            shortest = next(
                (
                    n
                    for n in range(5)
                    for kinds in combinations(VALUES, n)
                    if sum(all(other[kind] == item[kind] for kind in kinds) for other in objects) == 1
                ),
                None,
            )
            n_values = sum(word in VALUES[kind] for kind in VALUES for word in name.split())
            assert (" at the " in name) == (shortest is None)
            n_with_place += shortest is None
            assert shortest is None or n_values == shortest, name
    assert n_with_place


CHANGES = {
    "a number": (r"\b(\d+) (?=\w+s?\b)", lambda m: f"{int(m[1]) + 1} "),
    "a value": (r"\bred\b", lambda m: "blue"),
    "a shape": (r"\bcube", lambda m: "sphere"),
    "a relation": (r"\bleft of\b", lambda m: "right of"),
    "a place": (r"at the (upper|lower) (\w+)", lambda m: f"at the {m[2].replace('middle', 'center')}"),
    "a name": (r"(: the [a-z ]+?)(?:, the | and ).*", lambda m: f"{m[1]}."),
    "a truth": (r" is not ", lambda m: " is "),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_sentence_is_found(change: str, batch: _core.SceneBatch) -> None:
    pattern, replacement = CHANGES[change]
    rng, n_changed = Random(3), 0
    scenes = [json.loads(row) for row in batch.json_rows()]
    while n_changed < 12:
        place = rng.randrange(len(scenes))
        asked = written(batch, random_program(rng, scenes[place]), place)
        for number, step in enumerate(asked.steps):
            changed = re.sub(pattern, replacement, step["text"], count=1)
            # Of what is not there, something else may be true as well.
            if changed != step["text"] and " no " not in step["text"].lower():
                steps = [*asked.steps[:number], {**step, "text": changed}, *asked.steps[number + 1 :]]
                assert faults(asked, steps) != [], (step["text"], changed)
                n_changed += 1


def test_changed_data_and_answers_are_found(batch: _core.SceneBatch) -> None:
    asked = written(batch, nodes_of("scene; count 0"), 0)
    (step,) = asked.steps
    right = str(step["value"])
    assert faults(asked, [step], right) == []
    assert len(faults(asked, [step], "yes")) == 1
    assert len(faults(asked, [{**step, "objects": step["objects"][1:]}], right)) == 1
    assert len(faults(asked, [{**step, "value": 1}], right)) == 2
    assert len(faults(asked, [{**step, "function": "exist"}], right)) == 1
    assert faults(asked, [], right) == [f'the last sentence does not lead to the answer, "{right}"']
    asked = written(batch, nodes_of(f"{RED}; exist 1; filter_color[blue] 0; exist 3; and 2 4"), 0)
    *before, last = asked.steps
    assert faults(asked) == []
    for text in ("Both parts are true.", "Both parts are false.", "This is true, so the opposite is false."):
        assert text == last["text"] or faults(asked, [*before, {**last, "text": text}]) != []


@pytest.mark.parametrize("splits", [["complex_ood"], ["covr_test"]])
def test_an_export_is_checked(folder: Path, splits: list[str], tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    export(folder, tmp_path / "out", format="parquet", splits=splits, steps=True)
    paths = sorted((tmp_path / "out").glob(f"{HOP}*/{splits[0]}-*.parquet"))
    assert paths
    assert [fault for path in paths for fault in check_steps(path)] == []
    path, table = paths[0], pq.read_table(paths[0])
    content = [text.replace("There are ", "Here are ") for text in table["steps"].to_pylist()]
    n_changed = sum(old != new for old, new in zip(table["steps"].to_pylist(), content, strict=True))
    place = table.schema.get_field_index("steps")
    pq.write_table(table.set_column(place, "steps", pa.array(content)), path)
    found = check_steps(path)
    assert 0 < n_changed <= len(found)
    assert all(": " in fault and "row " in fault for fault in found)


def test_sentences_about_a_world_of_ones_own_are_so(tmp_path: Path) -> None:
    """Its shapes and sizes have other names, and there are more colors."""
    import pyarrow.parquet as pq

    own = json.loads((assets.blender_assets() / "properties.json").read_text())
    own["colors"] |= {"orange": [250, 120, 10], "olive": [110, 120, 20]}
    own["shapes"] = {
        {"cube": "block", "sphere": "ball"}.get(name, name): mesh for name, mesh in own["shapes"].items()
    }
    own["sizes"] = {{"large": "huge"}.get(name, name): size for name, size in own["sizes"].items()}
    (tmp_path / "own.json").write_text(json.dumps(own))
    sizes = {"train": 200, "complex_ood": 100}
    build_demo(tmp_path / "data", render=False, properties=tmp_path / "own.json", sizes=sizes)
    export(tmp_path / "data", tmp_path / "out", format="parquet", splits=["train", "complex_ood"], steps=True)
    paths = sorted((tmp_path / "out").glob(f"{HOP}*/*.parquet"))
    said = " ".join(text for path in paths for text in pq.read_table(path)["steps"].to_pylist())
    assert all(f" {word}" in said for word in ("orange", "olive", "block", "ball", "huge"))
    assert not re.search("cube|sphere|large", said)
    assert [fault for path in paths for fault in check_steps(path)] == []


def test_steps_are_loaded_in_other_processes_and_shown(folder: Path, cli: Cli) -> None:
    split = load(folder, HOP, "complex_ood", limit=3, images=False, steps=True)
    again = pickle.loads(pickle.dumps(split))
    assert [item["steps"] for item in again] == [item["steps"] for item in split]
    words = ("show", folder, "--hop", HOP, "--split", "complex_ood", "--question", "0")
    assert json.loads(cli(*words, "--json").out)["sentences"] == split[0]["steps"]
    assert all(f"  {step['text']}\n" in cli(*words).out for step in split[0]["steps"])
    cli("export", folder, "--format", "webdataset", "--steps", "--out", folder.parent / "wds", code=2)
