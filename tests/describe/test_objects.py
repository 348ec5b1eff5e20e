"""Objects that are described in words: what is understood, and which images and questions are found."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clevrhope
from clevrhope.__main__ import run_command
from clevrhope.dataset.folder import Folder
from clevrhope.describe.measure import SceneCounts, read_scene_counts
from clevrhope.errors import ConfigError
from clevrhope.scenes.descriptions import MANY, ObjectPart, parse_description, shows
from wording import check_refused, check_words

WORLD = {
    "size": ["small", "large"],
    "color": ["red", "light_blue"],
    "material": ["rubber", "metal"],
    "shape": ["cube", "sphere"],
}

HOP = "rubber_cylinder"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("objects") / "demo"
    arguments = ["--hop", HOP, "--no-render", "--seed", "4", "--quiet", "--out", str(out)]
    assert run_command(["build", *arguments]) == 0
    return out


@pytest.fixture(scope="module")
def counts(demo: Path) -> SceneCounts:
    folder = Folder.open(demo)
    return read_scene_counts(list(folder.layout.scene_files("test_iid")), folder.attributes)


def part(least: int, most: int | None, **values: str) -> ObjectPart:
    return ObjectPart(frozenset(values.items()), least, MANY if most is None else most)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("small red metal cube", [part(1, None, size="small", color="red", material="metal", shape="cube")]),
        (
            "A tiny, Shiny BLOCKS",
            [part(1, None, size="small"), part(1, None, material="metal", shape="cube")],
        ),
        ("two or more cubes", [part(2, None, shape="cube")]),
        ("at least 2 light blue balls", [part(2, None, color="light_blue", shape="sphere")]),
        ("light_blue", [part(1, None, color="light_blue")]),
        ("no matte thing and one red one", None),
        ("no matte thing and one red object", [part(0, 0, material="rubber"), part(1, 1, color="red")]),
        ("exactly 3 objects", [part(3, 3)]),
        ("12 objects", [part(12, 12)]),
        (
            "at most one cube, more than two spheres",
            [part(0, 1, shape="cube"), part(3, None, shape="sphere")],
        ),
        ("fewer than ten things", [part(0, 9)]),
        ("three or fewer reds", [part(0, 3, color="red")]),
        ("reddish cube", None),
        ("red light blue cube", None),
        ("cube sphere", None),
        ("noisy cube", None),
        ("red cube, and a sphere", [part(1, None, color="red", shape="cube"), part(1, None, shape="sphere")]),
        *(
            (text, None)
            for text in ("red cube and", "and red cube", "red cube,, sphere", "a cube and and ball", ",")
        ),
    ],
)
def test_words_of_the_world_and_their_synonyms_are_understood(
    text: str, parts: list[ObjectPart] | None
) -> None:
    if parts is None:
        with pytest.raises(ConfigError) as raised:
            parse_description(text, WORLD)
        check_words(str(raised.value))
    else:
        assert [*parse_description(text, WORLD)] == parts


def descriptions() -> st.SearchStrategy[tuple[ObjectPart, ...]]:
    values = st.fixed_dictionaries(
        {}, optional={"color": st.sampled_from(["red", "cyan"]), "shape": st.sampled_from(["cube", "sphere"])}
    )
    amounts = st.tuples(st.integers(0, 4), st.none() | st.integers(0, 4))
    parts = st.builds(lambda amount, of: part(*amount, **of), amounts, values)
    return st.lists(parts, max_size=3).map(tuple)


@given(description=descriptions())
def test_counts_of_scenes_find_what_the_scenes_show(
    demo: Path, counts: SceneCounts, description: tuple[ObjectPart, ...]
) -> None:
    found = {scene["image_index"]: shows(description, scene) for scene in scenes_of(demo)}
    assert dict(zip(counts.indices.tolist(), counts.shows(description).tolist(), strict=True)) == found


def scenes_of(demo: Path) -> Iterator[dict]:
    return clevrhope.load_scenes(demo, "test_iid")


def test_each_scene_comes_once_in_order(demo: Path) -> None:
    indices = [scene["image_index"] for scene in scenes_of(demo)]
    files = sorted((demo / "scenes/test_iid").glob("*.json"))
    in_files = [scene["image_index"] for file in files for scene in json.loads(file.read_text())["scenes"]]
    assert indices == in_files
    assert len(set(indices)) == len(indices) > 0


def test_a_wrong_pool_or_word_is_said_at_once(demo: Path) -> None:
    check_refused(ConfigError, clevrhope.load_scenes, demo, "test_idd")
    check_refused(ConfigError, clevrhope.load_scenes, demo, "train", objects="cub")


def test_stats_count_images_and_questions(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ("rubber cylinder", "two or more cubes")
    asked = [word for text in texts for word in ("--objects", text)]
    assert run_command(["stats", str(demo), *asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["hops"][HOP]["objects"]
    assert tuple(found) == texts
    assert found["rubber cylinder"]["train"]["images"] == 0
    of_pair = found["rubber cylinder"]["complex_ood"]
    assert of_pair["images"] == of_pair["all_images"] > 0
    images = np.array(
        [each["image_index"] for each in clevrhope.load(demo, HOP, "complex_iid", images=False)]
    )
    such = [each["image_index"] for each in clevrhope.load_scenes(demo, "test_iid", objects=texts[1])]
    assert found[texts[1]]["complex_iid"] == {
        "images": len(set(images.tolist()) & set(such)),
        "all_images": len(set(images.tolist())),
        "questions": int(np.isin(images, such).sum()),
    }
    assert run_command(["stats", str(demo), *asked, "--splits", "complex_ood"]) == 0
    assert "Images that show two or more cubes" in capsys.readouterr().out
