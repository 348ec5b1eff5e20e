"""Words that depend on what they are about: a or an, one or several; and an orange that looks like one."""

import colorsys
import json
import re
from pathlib import Path

import numpy as np
import pytest
from building import Cli
from PIL import Image

from clevrhope.errors import counted, with_article
from clevrhope.pages import render_lines
from clevrhope.pipeline.matching import noun
from clevrhope.runtime.assets import blender_assets
from clevrhope.splits.hops import Hop

PAGE = Path(__file__).parents[2] / "docs" / "own_values.md"


@pytest.mark.parametrize(
    "words",
    [
        *("an orange cube", "an Ultramarine thing", "an ellipsoid", "an unusual cube", "an unlit thing"),
        *("an hourglass", "an honest thing", "an L-shaped thing", "an 8-sided prism", "an 11-sided prism"),
        *("a uniform thing", "a used thing", "a European cube", "a one-eyed thing", "a u-shaped thing"),
        *("a hollow cube", "a yellow thing", "a rubber cylinder", "a 12-sided prism", "a ukulele"),
    ],
)
def test_articles_follow_the_sound_of_the_word(words: str) -> None:
    bare = words.partition(" ")[2]
    assert with_article(bare) == words


def test_pages_and_captions_have_the_article_of_their_pair() -> None:
    hop = Hop("orange_cube", (("color", "orange"), ("shape", "cube")), 24)
    assert hop.an_object == "an orange cube"
    assert noun({"color": "orange"}) == "an orange thing"
    assert noun({"color": "orange", "size": "uniform"}) == "a uniform orange thing"


def test_what_is_one_is_not_named_as_several() -> None:
    assert (counted(1, "scene"), counted(0, "scene"), counted(2_000, "scene")) == (
        *("1 scene", "0 scenes", "2,000 scenes"),
    )
    made = {"file": "q.json", "n_without_relations": 1, "n_without_camera": 1}
    lines = render_lines("questions.md", made={**made, "n_scenes": 1, "n_questions": 1})
    assert lines[0] == "q.json: 1 question about 1 scene"
    assert lines[1].startswith("1 scene has no relationships")


def test_the_suggested_orange_is_rendered_as_orange(cli: Cli, tmp_path: Path) -> None:
    """Properties are amounts of light, so the orange of web pages would come out as amber."""
    (triple,) = re.findall(r'"orange": (\[[\d, ]+\])', PAGE.read_text("utf-8"))
    (amber,) = re.findall(r"the orange of web pages,\s+(\[[\d, ]+\])", PAGE.read_text("utf-8"))
    properties = json.loads((blender_assets() / "properties.json").read_text("utf-8"))
    properties["colors"] |= {"orange": json.loads(triple), "amber": json.loads(amber)}
    (tmp_path / "properties.json").write_text(json.dumps(properties))
    hues = {}
    for name in ("orange", "amber"):
        item = {"color": name, "shape": "sphere", "size": "large", "material": "rubber", "rotation": 0}
        scene = {
            "image_index": 0,
            "objects": [{**item, "3d_coords": [0, 0, 0.7], "pixel_coords": [48, 32, 9]}],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps({"scenes": [scene]}))
        options = ("--renderer", "native", "--quality", "draft", "--width", 96, "--height", 64)
        options += ("--properties", tmp_path / "properties.json")
        cli("render", tmp_path / f"{name}.json", *options, "--out", tmp_path / name)
        with Image.open(tmp_path / name / "000000.png") as image:
            pixels = np.asarray(image.convert("RGB")).reshape(-1, 3) / 255
        vivid = max(pixels, key=lambda pixel: pixel.max() - pixel.min())
        hues[name] = 360 * colorsys.rgb_to_hsv(*vivid)[0]
    assert 15 < hues["orange"] < 33
    assert hues["amber"] > 36
