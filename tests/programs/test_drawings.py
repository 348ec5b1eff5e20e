"""What a notebook shows of scenes, programs and traces is well-formed, complete and escaped."""

import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Any

import pytest

from clevrhope import Program, Scene, SceneSet, sample_scenes, trace
from clevrhope.look.definition import read_look
from clevrhope.programs.graph import MAX_LABEL, program_svg
from clevrhope.scenes.sketch import SIZE_PX, box_px, scene_svg, swatch_svg

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '"><script>alert(1)</script>'
COMPARISON = (
    "x = unique(filter_shape[sphere](filter_size[large](scene))); "
    "equal_color(query_color(x), query_color(unique(relate[left](x))))"
)


class Tags(HTMLParser):
    """Counts the tags of a page, and collects its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def titles(svg: str) -> list[str]:
    return [str(each.text) for each in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def centres(svg: str) -> dict[str, tuple[float, float]]:
    """Where the texts of a drawing are."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return {str(each.text): (float(each.attrib["x"]), float(each.attrib["y"])) for each in found}


def test_a_scene_draws_its_objects_where_they_are() -> None:
    for scene in sample_scenes(5, seed=2):
        svg = scene._repr_svg_()
        assert len(titles(svg)) == len(scene)
        places = centres(svg)
        for number, item in enumerate(scene.content["objects"]):
            left, top, right, bottom = box_px(item)
            assert places[str(number)] == pytest.approx(((left + right) / 2, (top + bottom) / 2 + 5), abs=0.1)
            said = " ".join(item[kind] for kind in ("size", "color", "material", "shape"))
            assert f"{number}: {said}" in titles(svg)
        shown = Tags(scene._repr_html_())
        assert shown.found.count("li") == len(scene)


def test_coordinates_are_drawn_as_the_camera_sees_them() -> None:
    for scene in sample_scenes(5, seed=2):
        content = scene.content
        placed = [{"3d_coords": item["3d_coords"]} for item in content["objects"]]
        places = centres(scene_svg({"objects": placed, "camera": content["camera"]}, numbered=True))
        for number, item in enumerate(content["objects"]):
            u, v, _ = item["pixel_coords"]
            assert places[str(number)] == pytest.approx((u, v + 5), abs=1.0)


def test_far_objects_are_drawn_first() -> None:
    for scene in sample_scenes(5, seed=3):
        depths = [item["pixel_coords"][2] for item in scene.content["objects"]]
        order = [int(title.partition(":")[0]) for title in titles(scene._repr_svg_())]
        assert [depths[number] for number in order] == sorted(depths, reverse=True)


def test_objects_without_a_place_stand_beside_each_other() -> None:
    for n in range(12):
        svg = scene_svg({"objects": [{"shape": "cube"}] * n}, numbered=True)
        places = list(centres(svg).values())
        assert len(set(places)) == n
        assert all(0 < x < SIZE_PX[0] and 0 < y < SIZE_PX[1] for x, y in places)


@pytest.mark.parametrize(
    "places",
    [
        {"3d_coords": "a"},
        {"3d_coords": [1, 2]},
        {"3d_coords": None, "pixel_coords": {}},
        {"bbox": [1], "pixel_coords": [0, 0, 0]},
        {"3d_coords": [0, 0, 1], "pixel_coords": [0, 0, 0]},
        {"bbox": ["a", "b", "c", "d"], "pixel_coords": [0, 0, 0]},
        {"bbox": [None, 0, 1, 1], "pixel_coords": [0, 0, 0]},
        {"bbox": [0, 0, 1, "1e999"], "pixel_coords": [0, 0, 0]},
        {"bbox": [0, 0, 1, 1], "pixel_coords": [0, 0, None]},
        {"bbox": [0, 0, 1, 1], "pixel_coords": [0, 0, "a"]},
    ],
)
def test_places_that_are_none_are_drawn_as_if_missing(places: dict[str, Any]) -> None:
    scene = Scene({"objects": [{"color": "red", **places}], "relationships": {}})
    assert "<li>" in scene._repr_html_()
    assert centres(scene._repr_svg_())["0"] == pytest.approx((SIZE_PX[0] / 2, SIZE_PX[1] / 2 + 5))
    strange = Scene({"objects": [{"3d_coords": [0, 0, 1]}], "camera": 3})
    assert "0" in centres(strange._repr_svg_())


def test_materials_look_different() -> None:
    def drawn(material: str) -> str:
        return swatch_svg({"shape": "cylinder", "color": "red", "size": "large", "material": material})

    assert drawn("metal").count("url(#clevrhope-gloss)") == 1
    assert "url(#clevrhope-gloss)" not in drawn("rubber")


def test_a_program_is_drawn_with_each_step_below_its_inputs() -> None:
    program = Program(COMPARISON)
    svg = program._repr_svg_()
    drawn = ElementTree.fromstring(svg)
    nodes = program.nodes()
    texts = [(float(each.attrib["x"]), float(each.attrib["y"])) for each in drawn.iter(f"{SVG}text")]
    assert len(texts) == len(nodes) == len(set(texts))
    assert len(list(drawn.iter(f"{SVG}path"))) == sum(len(node["inputs"]) for node in nodes)
    for node, (_, y) in zip(nodes, texts, strict=True):
        assert all(texts[source][1] < y for source in node["inputs"])
    assert texts[-1][1] == max(y for _, y in texts)
    assert str(program) in Tags(program._repr_html_()).text


def test_boxes_of_a_program_do_not_meet() -> None:
    union = "union(filter_color[red](x), union(filter_color[blue](x), filter_shape[cube](x)))"
    drawn = ElementTree.fromstring(Program(f"x = filter_size[small](scene); count({union})")._repr_svg_())
    boxes = [
        [float(each.attrib[key]) for key in ("x", "y", "width", "height")]
        for each in drawn.iter(f"{SVG}rect")
    ]
    assert len(boxes) == 8
    for k, (x, y, width, height) in enumerate(boxes):
        assert x >= 0
        for other_x, other_y, other_width, other_height in boxes[:k]:
            apart = x >= other_x + other_width or other_x >= x + width
            assert apart or y >= other_y + other_height or other_y >= y + height


def test_a_trace_is_a_table_with_results() -> None:
    scene = Scene(
        {
            "objects": [
                {"color": "red", "shape": "cube"},
                {"color": "blue", "shape": "cube"},
                {"color": "red", "shape": "sphere"},
            ]
        }
    )
    steps = trace("query_shape(unique(filter_color[red](scene)))", scene)
    assert repr(steps) == (
        "0  scene                 objects 0, 1, 2\n"
        "1  filter_color[red](0)  objects 0, 2\n"
        "2  unique(1)             no result\n"
        "3  query_shape(2)        no result"
    )
    assert [len(steps), steps[1].name, [step.function for step in steps[2:]]] == [
        4,
        "filter_color[red]",
        ["unique", "query_shape"],
    ]
    shown = Tags(steps._repr_html_())
    assert shown.found.count("tr") == 1 + len(steps)
    assert shown.found.count("svg") == 3 + 2
    counted = trace("count(filter_color[blue](scene))", scene)
    assert [step.result for step in counted] == ["objects 0, 1, 2", "object 1", "1"]
    assert [step.result for step in trace("exist(filter_shape[cylinder](scene))", scene)] == [
        "objects 0, 1, 2",
        "no objects",
        "no",
    ]
    drawn = "scene|objects 0, 1, 2|filter_color[blue]|object 1|count|1"
    assert "|".join(centres(counted._repr_svg_())) == drawn


def test_a_trace_over_several_images_names_image_and_object() -> None:
    both = SceneSet([{"objects": [{"color": "red"}]}, {"objects": [{"color": "blue"}, {"color": "red"}]}])
    steps = trace("count_images(unique_images(filter_color[red](scene)))", both)
    assert [step.result for step in steps] == [
        "objects 0.0, 1.0, 1.1",
        "objects 0.0, 1.1",
        "images 0, 1",
        "2",
    ]
    assert Tags(steps._repr_html_()).found.count("svg") == 5
    assert Tags(both._repr_html_()).found.count("svg") == 2
    single = trace("query_color(unique(filter_color[blue](scene)))", both)
    assert [step.result for step in single][-2:] == ["object 1.0", "blue"]


def test_names_are_escaped() -> None:
    item = dict.fromkeys(("size", "color", "material", "shape"), HOSTILE)
    for drawn in (
        scene_svg({"objects": [item]}, numbered=True),
        swatch_svg(item),
        program_svg([{"function": HOSTILE, "inputs": [], "value_inputs": [HOSTILE]}], [HOSTILE]),
    ):
        assert "script" not in Tags(drawn).found
        ElementTree.fromstring(drawn)
    long = program_svg([{"function": "scene", "inputs": [], "value_inputs": []}], ["x" * 500])
    assert max(map(len, centres(long))) == MAX_LABEL


def test_what_objects_show_of_themselves() -> None:
    shown = "count(union(filter_color[red](scene), filter_shape[cube](scene)))"
    assert repr(Program(shown)) == f"Program({shown})"
    assert repr(read_look()) == "Look(2 sizes, 8 colors, 2 materials, 3 shapes)"
    (scene,) = sample_scenes([3], seed=1)
    assert scene.content["image_index"] == 3
    assert repr(scene) == f"Scene({len(scene)} objects)"
    (question, *_) = scene.ask(1, seed=1)
    assert repr(question) == f"Question({question.text!r}, answer={question.answer!r})"
    assert question.text in Tags(question._repr_html_()).text
