"""Names of pairs: the paper's table, free order, suggestions."""

import csv
from pathlib import Path

import pytest
from program_strategies import VALUES

from clevrhope.errors import ConfigError
from clevrhope.scenes import read_world
from clevrhope.splits.hops import NONE, Hop, paper_hops, parse_hop
from wording import check_refused

CLEVR = list(VALUES.items())


def test_the_papers_table_has_29_pairs_of_four_diversities() -> None:
    hops = paper_hops()
    assert len({hop.name for hop in hops}) == 29
    counts = {d: sum(hop.diversity == d for hop in hops) for d in (4, 6, 16, 24)}
    assert counts == {4: 4, 6: 10, 16: 10, 24: 5}


def test_the_table_agrees_with_the_facts(test_data: Path) -> None:
    table = test_data.parent / "facts" / "hops.csv"
    if not table.is_file():
        pytest.skip(f"needs the facts beside the test data: no {table}")
    with table.open() as file:
        rows = [
            (r["hop"], ((r["type_a"], r["value_a"]), (r["type_b"], r["value_b"])), int(r["diversity"]))
            for r in csv.DictReader(file)
        ]
    assert [(hop.name, hop.held_out, hop.diversity) for hop in paper_hops()] == rows


def test_each_pair_parses_to_itself_in_either_order() -> None:
    for hop in paper_hops():
        assert hop.held_out is not None
        (_, a), (_, b) = hop.held_out
        assert parse_hop(f"{a}_{b}", CLEVR) == hop
        assert parse_hop(f"{b}_{a}", CLEVR) == hop


def test_other_pairs_none_and_values_with_underscores_parse() -> None:
    assert parse_hop("yellow_metal", CLEVR).name == "metal_yellow"
    assert parse_hop(NONE, CLEVR).held_out is None
    types = [*CLEVR[:1], ("color", ["red", "dark_red"]), *CLEVR[2:]]
    hop = parse_hop("cube_dark_red", types)
    assert (hop.name, hop.diversity) == ("dark_red_cube", 6)


def test_wider_conjunctions_have_one_name_however_they_are_given() -> None:
    wide = Hop("metal_red_cube", (("material", "metal"), ("color", "red"), ("shape", "cube")), 48)
    assert parse_hop("color=red,shape=cube,material=metal", CLEVR) == wide
    assert parse_hop("cube_metal_red", CLEVR) == wide
    assert wide.corners == 8
    assert parse_hop("shape=cylinder, material=rubber", CLEVR) == parse_hop("rubber_cylinder", CLEVR)
    assert parse_hop("small_red_rubber_cube", CLEVR).diversity == 96
    # A value's own underscore does not make a conjunction of a pair.
    types = [*CLEVR[:1], ("color", ["red", "dark", "dark_red"]), *CLEVR[2:]]
    assert parse_hop("dark_red_cube", types).held_out == (("color", "dark_red"), ("shape", "cube"))


@pytest.mark.parametrize(
    "name",
    [
        "color=red,shape=cub",
        "colour=red,shape=cube",
        "color=red",
        "color=red,color=blue",
        "color=red,weight=heavy",
        "metal_red_rubber",
        "rubber_cilinder",
        "nnone",
        "red_blue",
        "red_red",
        "rubber_banana",
        "",
        "rubber",
        "cylindr_ruber",
    ],
)
def test_other_names_get_a_sentence(name: str) -> None:
    check_refused(ConfigError, parse_hop, name, CLEVR)


def test_a_pair_without_a_shape_is_a_thing_after_an_article() -> None:
    """For "no rubber cylinder in any image", and not "no large rubber in any image"."""
    nouns = [parse_hop(name, CLEVR).noun for name in ("rubber_cylinder", "large_rubber", "cyan_cylinder")]
    assert nouns == ["rubber cylinder", "large rubber thing", "cyan cylinder"]


def test_a_palette_may_have_the_name_of_a_value() -> None:
    types = read_world().attribute_types
    hop = parse_hop("cyan_cylinder-metal", types)
    assert (hop.name, hop.palette) == ("cyan_cylinder-metal", "metal")
    check_refused(ConfigError, parse_hop, "rubber-cylinder", types)
