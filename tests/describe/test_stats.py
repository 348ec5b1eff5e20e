"""What is counted in questions and scenes: numbers by hand, and two ways of reading that must agree."""

import json
import math
import re
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clevrhope.__main__ import run_command
from clevrhope.dataset.json_rows import read_list
from clevrhope.describe.measure import answer_type, read_scene_counts, relation_of
from clevrhope.describe.measured import (
    by_values,
    guessed,
    total_variation,
    total_variation_by_chance,
    with_baselines,
)
from clevrhope.describe.stats.comparison import StatsFolder
from clevrhope.errors import DatasetError
from clevrhope.pipeline.importing import import_source
from clevrhope.splits.kinds import PAIR_SPLITS
from wording import check_refused


def step(function: str, *inputs: int, value: str = "") -> dict[str, Any]:
    return {"function": function, "inputs": list(inputs), "value_inputs": [value] if value else []}


def question(*values: Any) -> dict[str, Any]:
    names = ("question", "answer", "image_index", "question_family_index", "program")
    return dict(zip(names, values, strict=True))


def solid(*values: str) -> dict[str, Any]:
    named = zip(("size", "color", "material", "shape"), values, strict=True)
    return {**dict(named), "rotation": 1.5, "3d_coords": [0, 0, 0]}


QUESTIONS = [
    question("Is there a cube?", "yes", 4, 85, [step("scene"), step("exist", 0)]),
    question("Is there a thing?", "yes", 4, 85, [step("scene"), step("exist", 0)]),
    question("Are there any balls?", "no", 2, 85, [step("scene"), step("exist", 0)]),
    question(
        "There is a cube; what color is the thing left of it, the other one?",
        "red",
        2,
        72,
        [
            step("scene"),
            step("unique", 0),
            step("relate", 1, value="left"),
            step("unique", 2),
            step("relate", 3, value="left"),
            step("unique", 4),
            step("same_size", 5),
            step("unique", 6),
            step("query_color", 7),
        ],
    ),
]

SCENES = [
    {
        "image_index": 4,
        "objects": [solid("small", "red", "rubber", "cube"), solid("small", "red", "metal", "cube")],
    },
    {"image_index": 3, "objects": [solid("large", "gray", "rubber", "sphere")]},
    {"image_index": 2, "objects": [solid("large", "red", "rubber", "cube")]},
]


def clevr_folder(root: Path, *, one_line: bool = True) -> Path:
    numbered = [
        {**row, "question_index": k, "image_filename": f"CLEVR_val_{row['image_index']:06d}.png"}
        for k, row in enumerate(QUESTIONS)
    ]
    for key, rows in (("questions", numbered), ("scenes", SCENES)):
        (root / key).mkdir(parents=True, exist_ok=True)
        text = json.dumps({"info": {"version": "1.0"}, key: rows}, indent=None if one_line else 1)
        (root / key / f"CLEVR_val_{key}.json").write_text(text)
    return root


@pytest.mark.parametrize("one_line", [True, False])
def test_numbers_by_hand(tmp_path: Path, one_line: bool) -> None:
    import_source(clevr_folder(tmp_path / "CLEVR", one_line=one_line), tmp_path / "out")
    split = StatsFolder(tmp_path / "out").measured("none", "val")
    assert (split["questions"], split["images"], split["objects"]) == (4, 2, 3)
    assert list(split["answers"].items()) == [("yes", 2), ("no", 1), ("red", 1)]
    assert [(each["question_family_index"], each["questions"]) for each in split["families"]] == [
        (72, 1),
        (85, 3),
    ]
    assert split["answer_types"] == {"color": 1, "yes/no": 3}
    assert split["words"] == {"4": 3, "15": 1}  # without ; and , and ?
    assert split["functions"] == {"2": 3, "9": 1}
    assert split["relations"] == {"left": 1, "same size": 1}  # questions that name it, not how often
    assert split["relations_a_question"] == {"0": 3, "2": 1}
    assert split["questions_with_all_relations_needed"] is None
    assert split["objects_an_image"] == {"1": 1, "2": 1}  # the scene that nobody asks about does not count
    assert split["values"] == {"red": 3, "metal": 1, "rubber": 2, "cube": 3, "large": 1, "small": 2}
    pairs = {pair: (each["objects"], each["images"]) for pair, each in by_values(split).items()}
    assert pairs[frozenset({("material", "rubber"), ("shape", "cube")})] == (2, 2)
    assert pairs[frozenset({("color", "red"), ("size", "small")})] == (2, 1)
    assert frozenset({("material", "metal"), ("size", "large")}) not in pairs
    assert split["questions_an_image"] == {"2": 2}
    shown = with_baselines(split, None)
    assert (shown["most_frequent_answer"], shown["baselines"]["most_frequent"]) == ("yes", 0.5)
    assert shown["baselines"]["most_frequent_of_family"] == 0.75


def test_a_guesser_who_learned_on_another_split() -> None:
    def measured(answers: dict[int, dict[str, int]]) -> dict[str, Any]:
        of_all: Counter[str] = sum(map(Counter, answers.values()), Counter())
        families = [
            {"question_family_index": family, "questions": sum(counts.values()), "answers": counts}
            for family, counts in answers.items()
        ]
        in_order = dict(sorted(of_all.items(), key=lambda item: (-item[1], item[0])))
        return {"questions": of_all.total(), "answers": in_order, "families": families}

    train = measured({1: {"no": 5, "yes": 1}, 2: {"yes": 2, "no": 2}, 3: {"3": 1}})
    test = measured({1: {"no": 1, "yes": 3}, 2: {"no": 4}, 3: {"3": 2}, 9: {"no": 2}})
    # Family 1: no, 1 right. 2: a tie, so the first by name, no: 4. 3: 3, 2. 9: train's answer of all, no: 2.
    assert guessed(test, train, of_family=True) == pytest.approx(9 / 12)
    assert guessed(test, train, of_family=False) == pytest.approx(7 / 12, abs=1e-6)
    assert guessed(train, train, of_family=True) == pytest.approx((5 + 2 + 1) / 11, abs=1e-6)


def test_distances_by_hand() -> None:
    assert total_variation({"a": 1, "b": 1}, {"a": 3, "b": 1}) == pytest.approx(0.25)
    assert total_variation({"a": 7}, {"b": 2}) == 1
    assert total_variation({"a": 2, "b": 4}, {"a": 1, "b": 2}) == 0
    assert math.isnan(total_variation({}, {"a": 1}))
    # The number that is nearest to the truth, not what floats add up to, which depends on a set's order.
    assert total_variation(dict.fromkeys(range(10), 1), {0: 7, 1: 3}) == 0.8
    assert total_variation(dict(enumerate([7, 11, 2])), dict(enumerate([1, 1, 1]))) == 14 / 60
    # Two shares of one half, 50 + 50 draws: each differs by sqrt(2/pi * 1/4 * (1/50 + 1/50)) on average.
    even = {"a": 25, "b": 25}
    assert total_variation_by_chance(even, even) == pytest.approx(math.sqrt(2 / math.pi / 4 / 25))


@given(st.integers(0, 2**32 - 1))
def test_chance_is_what_draws_show(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(12))
    sizes = (400, 900)
    found, expected = [], []
    for _ in range(40):
        a, b = (dict(enumerate(rng.multinomial(n, shares).tolist())) for n in sizes)
        found.append(total_variation(a, b))
        expected.append(total_variation_by_chance(a, b))
    assert np.mean(found) == pytest.approx(np.mean(expected), rel=0.2)


def test_what_functions_ask_for_and_name() -> None:
    assert [
        answer_type(name) for name in ("query_shape", "exist", "equal_integer", "less_than", "count")
    ] == ["shape", "yes/no", "yes/no", "yes/no", "count"]
    for name in ("and", "or", "not", "verify_color[red]", "verify_relation[left]", "count_is[3]"):
        assert answer_type(name) == "yes/no"
    assert [relation_of(name) for name in ("relate[behind]", "same_color", "filter_color[red]")] == [
        "behind",
        "same color",
        "",
    ]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("stats") / "demo"
    arguments = ["--hop", "rubber_cylinder", "--no-render", "--seed", "4", "--quiet", "--out", str(out)]
    assert run_command(["build", *arguments]) == 0
    return out


def counts_of(rows: Sequence[dict[str, Any]], scenes: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """What is counted in questions and scenes, one after the other, as CLEVR's files have them."""
    programs = [[(node["function"], *node["value_inputs"]) for node in row["program"]] for row in rows]
    names = [[f"{of[0]}[{of[1]}]" if len(of) > 1 else of[0] for of in each] for each in programs]
    images = Counter(row["image_index"] for row in rows)
    objects = [thing for index in images for thing in scenes[index]["objects"]]
    kinds = ("shape", "size", "color", "material")
    counts: dict[str, Counter[Any]] = {
        "answers": Counter(row["answer"] for row in rows),
        "answer_types": Counter(answer_type(each[-1]) for each in names),
        "words": Counter(len(re.findall(r"[^\s;,?.]+", row["question"])) for row in rows),
        "functions": Counter(map(len, names)),
        "relations": Counter(
            found for each in names for found in {relation_of(name) for name in each} if found
        ),
        "relations_a_question": Counter(sum("relate[" in name for name in each) for each in names),
        "objects_an_image": Counter(len(scenes[index]["objects"]) for index in images),
        "questions_an_image": Counter(images.values()),
        "values": Counter(thing[kind] for thing in objects for kind in kinds),
    }
    return {
        "questions": len(rows),
        "images": len(images),
        "objects": len(objects),
        **{name: {str(key): n for key, n in of.items()} for name, of in counts.items()},
    }


@pytest.mark.parametrize("split", PAIR_SPLITS)
def test_arrays_and_json_give_the_same_numbers(demo: Path, split: str) -> None:
    """HDF5 numbers and searched scenes on one side, parsed JSON on the other."""
    measured = StatsFolder(demo).measured("rubber_cylinder", split)
    rows = json.loads((demo / f"hops/rubber_cylinder/{split}_questions.json").read_text())["questions"]
    scenes = {
        scene["image_index"]: scene
        for shard in (demo / "scenes" / measured["pool"]).glob("*.json")
        for scene in json.loads(shard.read_text())["scenes"]
    }
    assert counts_of(rows, scenes).items() <= measured.items()
    families = {
        (each["file"], each["place"], answer): n
        for each in measured["families"]
        for answer, n in each["answers"].items()
    }
    of_rows = Counter(
        (row["template_filename"].removesuffix(".json"), row["template_index"], row["answer"]) for row in rows
    )
    assert families == of_rows


def test_scenes_without_all_attributes_are_an_error(tmp_path: Path) -> None:
    row = '{"image_index":7,"objects":[{"shape":"cube","3d_coords":[0,0,0]},{"3d_coords":[0,0,0]}]}'
    path = tmp_path / "0000.json"
    path.write_text(f'{{"scenes": [\n{row}\n]}}\n')
    attributes = {"size": ["small"], "color": ["red"], "material": ["metal"], "shape": ["cube"]}
    check_refused(DatasetError, read_scene_counts, [path], attributes)
    check_refused(DatasetError, read_scene_counts, [tmp_path / "nowhere.json"], attributes)


@pytest.mark.slow
def test_a_long_file_is_never_whole_in_memory(tmp_path: Path) -> None:
    row = json.dumps(QUESTIONS[3])
    path = tmp_path / "long.json"
    path.write_text('{"info": {}, "questions": [' + ",".join([row] * 20_000) + "]}")
    assert path.stat().st_size > 8_000_000
    tracemalloc.start()
    n_rows = sum(1 for _ in read_list(path, "questions"))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_rows == 20_000
    assert most < 8_000_000  # parsed at once, it would take some ten times that
