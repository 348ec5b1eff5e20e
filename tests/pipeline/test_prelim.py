"""Values that are asked for alone: sizes, prefixes, shared folders, parts, and what each set holds fast."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from building import Cli, Make, request

import clevrhope
from clevrhope._core import CountingPool, World
from clevrhope.audit import audit
from clevrhope.config.presets import PRESETS
from clevrhope.dataset.clevr_json import read_row_lines
from clevrhope.dataset.layout import Layout
from clevrhope.errors import ClevrhopeError
from clevrhope.export import export
from clevrhope.metrics import score
from clevrhope.metrics.score_tables import scores_lines
from clevrhope.pipeline import Limits, build
from clevrhope.pipeline.engine import open_world
from clevrhope.pipeline.forecast import make_plan, plan_json
from clevrhope.pipeline.minimal import first_groups, n_groups
from clevrhope.splits.hops import prelim_hops
from wording import check_words, refused

VALUES = ("cyan", "cylinder")
TIGHT = {"position_range": 1.0, "max_restarts": 5}
"""Of a world that has no room for the five positions."""

SMALL = {"prelim_existence": 4, "prelim_counting": 3}
PAPER_GROUPS = {"size": 960, "color": 168, "material": 960, "shape": 640}
"""Of each value: grids that have it, times combinations of the other types' values, times copies."""


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_row_lines(path)]


def failed(folder: Path) -> set[str]:
    """Checks of the audit that fail, those of images apart: the renderer for tests paints none."""
    found = {each.name for each in audit(folder).checks if each.result == "failed"}
    return found - {"images"}


@pytest.fixture(scope="module")
def world() -> World:
    return open_world(PRESETS["demo"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All values, at the size of the preset small, without images."""
    out = tmp_path_factory.mktemp("prelim") / "all"
    build(request(out, hops=(), prelim=("all",), render=False, config=PRESETS["small"]))
    return out


def test_all_fifteen_values_have_whole_groups_and_sets(made: Path, world: World) -> None:
    manifest = json.loads((made / "manifest.json").read_bytes())
    values = [(kind, value) for kind, each in world.attribute_types for value in each]
    assert sorted(manifest["splits"]) == sorted(f"prelim_{value}" for _, value in values)
    assert len(values) == 15
    for kind, value in values:
        splits = manifest["splits"][f"prelim_{value}"]
        assert splits["existence"] == {"pool": f"minimal_{kind}", "questions": 40, "images": 40, "sets": 20}
        assert splits["counting"] == {"pool": f"counting_{kind}", "questions": 60, "images": 60, "sets": 10}


def test_a_set_changes_one_object_at_a_time_and_a_group_the_value_alone(made: Path, world: World) -> None:
    """Read with nothing but json: places, camera, lights and all other values stay, answers count."""
    layout = Layout(made)
    for kind, values in world.attribute_types:
        scenes = {
            pool: {row["image_index"]: row for row in rows(layout.scene_shard(pool, 0))}
            for pool in (f"minimal_{kind}", f"counting_{kind}")
        }
        for value in values:
            for split, of_a_set, pool in (
                ("existence", 2, f"minimal_{kind}"),
                ("counting", 6, f"counting_{kind}"),
            ):
                asked = rows(layout.questions_json(f"prelim_{value}", split))
                for first in range(0, len(asked), of_a_set):
                    group = asked[first : first + of_a_set]
                    shown = [scenes[pool][row["image_index"]] for row in group]
                    assert len({row["question"] for row in group}) == 1
                    assert len({kept(scene, kind) for scene in shown}) == 1
                    matching = [[each[kind] == value for each in scene["objects"]] for scene in shown]
                    if split == "existence":
                        assert [row["answer"] for row in group] == ["yes", "no"]
                        assert matching == [[True], [False]]
                        continue
                    assert [row["answer"] for row in group] == [str(sum(each)) for each in matching]
                    assert [sum(each) for each in matching] == [*range(6)]
                    for before, after in pairwise(matching):
                        assert sum(a != b for a, b in zip(before, after, strict=True)) == 1


def kept(scene: dict[str, Any], kind: str) -> str:
    """All of a scene that may not change within a set: what of each object does not follow from its value."""
    follows = {kind, "pixel_coords", "bbox", "visible_pixels", "visible_fraction", "3d_coords"}
    objects = [{k: v for k, v in each.items() if k not in follows} for each in scene["objects"]]
    ground = [each["3d_coords"][:2] for each in scene["objects"]]
    return json.dumps([objects, ground, *(scene[key] for key in ("camera", "lights", "directions"))])


def test_the_five_positions_are_the_same_everywhere(made: Path, world: World) -> None:
    found = Counter()
    for kind, _ in world.attribute_types:
        for scene in rows(Layout(made).scene_shard(f"counting_{kind}", 0)):
            found[tuple(tuple(each["3d_coords"][:2]) for each in scene["objects"])] += 1
    assert found == {tuple(CountingPool(world, value=("color", "cyan")).positions): 15 * 60}


def test_the_whole_sets_are_as_many_as_the_minimal_ones_of_a_type_would_be(world: World) -> None:
    sizes = PRESETS["paper"].sizes
    assert (sizes.prelim_existence, sizes.prelim_counting) == (0, 100)
    for hop in prelim_hops(["all"], world.attribute_types):
        ((kind, _),) = hop.target
        pool = clevrhope._core.MinimalPool(world, held_out=list(hop.target))
        assert n_groups(pool, 0) == PAPER_GROUPS[kind]
        everything = first_groups(pool, n_groups(pool, 0), seed=1)
        assert len(set(everything)) == PAPER_GROUPS[kind]
        assert first_groups(pool, 11, seed=1) == everything[:11]
        assert first_groups(pool, 11, seed=2) != everything[:11]


def test_a_large_plan_is_estimated_around_them(tmp_path: Path) -> None:
    splits = ("train", "counting", "existence")
    asked = request(tmp_path, prelim=VALUES, splits=splits, config=PRESETS["paper"], render=False)
    planned = plan_json(make_plan(asked))
    assert not planned["exact"]
    assert planned["pools"]["counting_color"] == planned["pools"]["counting_shape"] == 600
    assert planned["pools"]["minimal_color"] == 2 * 168


def test_they_are_loaded_scored_and_exported_like_any_split(tmp_path: Path, make: Make) -> None:
    out = tmp_path / "out"
    make(out, hops=("rubber_cylinder",), prelim=VALUES, sizes=SMALL)
    loaded = clevrhope.load(out, "prelim_cyan", "counting", text=True)
    assert [each["answer_text"] for each in loaded] == ["0", "1", "2", "3", "4", "5"] * 3
    assert loaded[0]["image"].shape == (32, 48, 3), "those of the renderer for tests"
    assert all("cyan" in each["question_text"] for each in loaded)

    predictions = tmp_path / "predictions.jsonl"
    with predictions.open("w") as file:
        for value in VALUES:
            for split, answer in (("existence", "no"), ("counting", "5")):
                n = len(clevrhope.load(out, f"prelim_{value}", split))
                for k in range(n):
                    row = {"hop": f"prelim_{value}", "split": split, "question_index": k, "answer": answer}
                    file.write(json.dumps(row) + "\n")
    scores = score(out, predictions, seed=1, hops=[f"prelim_{value}" for value in VALUES])
    for condition in scores.conditions:
        assert condition.accuracies == {"existence": pytest.approx(50), "counting": pytest.approx(100 / 6)}
        for each in (split.mean["accuracy"] for split in condition.splits.values()):
            # One answer to all is right about one image of each set, so all draws of sets are equal.
            assert each.interval is not None
            assert each.interval.low < each.value < each.interval.high
    check_words("\n".join(scores_lines(scores)))
    written = export(out, tmp_path / "parquet", format="parquet", hops=["prelim_cylinder"])
    assert written.n_questions == 2 * 4 + 6 * 3
    assert "Configs `prelim_...` hold nothing out" in (tmp_path / "parquet" / "README.md").read_text()


def test_without_json_and_with_shared_places_elsewhere(tmp_path: Path, make: Make) -> None:
    """Neither option concerns sets whose images have one object or five."""
    plain, other = tmp_path / "plain", tmp_path / "other"
    make(plain, hops=(), prelim=("small",), sizes=SMALL)
    make(other, hops=(), prelim=("small",), sizes=SMALL, question_json=False, minimal_pool="shared")
    assert not list(other.glob("hops/*/*_questions.json"))
    for split in ("existence", "counting"):
        name = Layout(plain).questions_h5("prelim_small", split).relative_to(plain)
        assert (plain / name).read_bytes() == (other / name).read_bytes()
    assert failed(other) == set()


@pytest.mark.slow
def test_another_vocabulary_has_sets_of_its_own_values(tmp_path: Path) -> None:
    properties = json.loads((clevrhope.runtime.assets.blender_assets() / "properties.json").read_bytes())
    properties["colors"] = {"orange": [255, 140, 0], "red": [173, 35, 35], "dark_red": [90, 0, 0]}
    properties["sizes"]["middle"] = 0.5
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(properties))
    asked = {"hops": (), "prelim": ("all",), "sizes": SMALL, "properties": path, "render": False}
    build(request(tmp_path / "out", **asked))
    assert audit(tmp_path / "out", properties=path).ok
    assert {"prelim_dark_red", "prelim_middle"} <= {each.name for each in (tmp_path / "out/hops").iterdir()}


@pytest.mark.parametrize(
    "changes",
    [
        {"prelim": ("cian",)},
        {"hops": ("prelim_cubes",)},
        {"hops": ("prelim_cyan-d8",)},
        {"prelim": ("cyan",), "limits": Limits(diversities=(8,))},
        {"prelim": ("cyan",), "splits": ("train",)},
        {"prelim": ("cyan",), "world": TIGHT},
        {"prelim": ("cyan",), "sizes": {"prelim_counting": 10**9, "prelim_existence": 10**9}},
    ],
    ids=["value", "name", "name with a palette", "palette", "split", "positions", "sets"],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    with refused(ClevrhopeError):
        build(request(tmp_path / "out", **{"hops": (), "render": False, **changes}))


def test_the_command_line_takes_values(tmp_path: Path, cli: Cli) -> None:
    options = ["--prelim", "cyan,cube", "--prelim", "small", "--prelim-sets", "2", "--no-render", "--json"]
    splits = json.loads(cli("build", *options, "--out", tmp_path / "out").out)["splits"]
    assert {hop: [each["questions"] for each in those.values()] for hop, those in splits.items()} == {
        f"prelim_{value}": [4, 12] for value in ("cube", "cyan", "small")
    }
    sheet = (tmp_path / "out" / "DATASHEET.md").read_text()
    assert "Test sets on 3 single values; 28 possible answers" in sheet
    assert "windows of" not in sheet, "nothing of it is balanced so"
    many = ["--prelim", "cyan", "--splits", "existence", "--no-render", "--prelim-sets", "200", "--json"]
    made = json.loads(cli("build", *many, "--out", tmp_path / "many", "--seed", "1").out)
    assert made["splits"]["prelim_cyan"]["existence"]["questions"] == 2 * 168, "there are no more"
