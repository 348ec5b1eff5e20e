"""A folder that grew, or was joined from parts, has the bytes of one that was made at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from building import renderer, request, tree
from clevr_making import make_clevr

from clevrhope.images.settings import NativeSettings
from clevrhope.pipeline import Limits, Request, build, build_part, merge, parse_shard

TINY = NativeSettings(width=96, height=64, quality="draft")
HOPS = ("rubber_cylinder", "cyan_cylinder")
SIZES = {"train": 450, "complex_iid": 90, "complex_ood": 21}
FEW = {"train": 18, "complex_iid": 18, "minimal_places": 1}
SETS = {"covr_train": 1_400, "covr_dev": 40, "covr_test": 61}


class Way(NamedTuple):
    """A request, and a smaller one from which its folder can grow; `rendering` if a real renderer is used."""

    whole: Mapping[str, Any]
    first: Mapping[str, Any]
    rendering: NativeSettings | None = None


WAYS = {
    "h5": Way({"hops": HOPS, "sizes": SIZES, "images": "h5"}, {"hops": HOPS[:1], "images": "h5"}),
    "both": Way({"hops": HOPS, "sizes": SIZES}, {"hops": HOPS[1:], "splits": ("complex_ood",)}),
    "text": Way({"hops": HOPS, "sizes": SIZES, "render": False}, {"render": False}),
    "images after text": Way({}, {"render": False}),
    "JSON later": Way({"render": False}, {"question_json": False, "render": False}),
    "implied": Way(
        {"hops": (HOPS[0], "none"), "strictness": "implied", "render": False, "sizes": SIZES},
        {"strictness": "implied", "render": False},
    ),
    "diversities": Way(
        {"hops": ("cyan_cylinder",), "limits": Limits((8, 4)), "render": False},
        {"hops": ("cyan_cylinder",), "limits": Limits((4,)), "render": False},
    ),
    "single values": Way(
        {
            "hops": HOPS[:1],
            "prelim": ("cyan", "cylinder"),
            "sizes": {"prelim_existence": 9, "prelim_counting": 5},
        },
        {"hops": (), "prelim": ("cyan",), "sizes": {"prelim_existence": 4, "prelim_counting": 3}},
    ),
    "several images": Way(
        {"hops": (HOPS[0], "none"), "covr": True, "sizes": SETS, "render": False},
        {"hops": (HOPS[0], "none"), "covr": True, "render": False},
    ),
    "several images, drawn": Way(
        {"covr": True, "sizes": {"covr_train": 60}, "images": "png"},
        {"sizes": {"covr_train": 60}, "images": "png"},
    ),
    "CLEVR": Way(
        {"hops": HOPS, "clevr_share": 0.3, "sizes": {"train": 900}, "render": False},
        {"clevr_share": 0.3, "render": False},
    ),
    "native with passes": Way(
        {"sizes": {**FEW, "train": 45}, "passes": ("mask", "depth", "normal")},
        {"sizes": FEW, "passes": ("mask",)},
        TINY,
    ),
}


def asked(out: Path, way: Way, choices: Mapping[str, Any], clevr: Path, **changes: Any) -> Request:
    of_clevr = {"clevr": clevr} if "clevr_share" in choices else {}
    rendering = {"rendering": way.rendering} if way.rendering else {}
    return request(out, **{**choices, **of_clevr, **rendering, **changes})


@pytest.fixture(scope="module")
def clevr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clevr(tmp_path_factory.mktemp("clevr") / "CLEVR_v1.0", 3_000).root


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_any_way_gives_the_bytes_of_one_build(name: str, clevr: Path, tmp_path: Path) -> None:
    way = WAYS[name]
    maker = {} if way.rendering else {"make_renderer": renderer}
    made = build(asked(tmp_path / "whole", way, way.whole, clevr, workers=1), **maker)
    whole = tree(tmp_path / "whole")

    build(asked(tmp_path / "grown", way, way.first, clevr), **maker)
    build(asked(tmp_path / "grown", way, way.whole, clevr, workers=3), **maker)
    assert tree(tmp_path / "grown") == whole

    parts = [tmp_path / f"part{number}" for number in (1, 2, 3)]
    for number, part in enumerate(parts, 1):
        build_part(asked(part, way, way.whole, clevr), parse_shard(f"{number}/3"), **maker)
    before = [tree(part) for part in parts]
    images = [{path.name for path in part.glob("images/*/*.png")} for part in parts]
    assert not images[0] & images[1] | images[0] & images[2] | images[1] & images[2]
    joined = merge(parts[::-1], asked(tmp_path / "joined", way, way.whole, clevr), **maker)
    assert tree(tmp_path / "joined") == whole
    assert joined.n_rendered <= 3, "nearly all images were in the parts"
    assert [tree(part) for part in parts] == before, "a part was changed"
    assert made.n_questions == joined.n_questions
    # Once more: nothing changes, what is smaller takes nothing away, and a part may be run twice.
    again = build(asked(tmp_path / "whole", way, way.first, clevr, seed=None), **maker)
    assert (again.n_rendered, again.n_annotated) == (0, 0)
    assert tree(tmp_path / "whole") == whole
    build_part(asked(parts[0], way, way.whole, clevr), parse_shard("1/3"), **maker)
    assert tree(parts[0]) == before[0]
