"""A request made in parts by several machines, and joined: the bytes that one machine would have written."""

from pathlib import Path
from typing import Any

import pytest
from building import renderer, request, tree
from fake_renderer import FakeRenderer

from clevrhope.dataset.layout import Layout
from clevrhope.errors import ClevrhopeError, ConfigError, DatasetError
from clevrhope.pipeline import PartSummary, Shard, Summary, build, build_part, merge, parse_shard
from wording import check_refused, refused

HOPS = ("rubber_cylinder", "cyan_cylinder")
SIZES = {"train": 2_500, "complex_iid": 190, "complex_ood": 31}


def part(out: Path, shard: str, **changes: Any) -> PartSummary:
    asked = request(out, **{"hops": HOPS, "sizes": SIZES, **changes})
    return build_part(asked, parse_shard(shard), make_renderer=renderer)


def joined(parts: list[Path], out: Path, **changes: Any) -> Summary:
    return merge(parts, request(out, **{"hops": HOPS, "sizes": SIZES, **changes}), make_renderer=renderer)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("parts")
    made = [part(folder / str(number), f"{number}/3") for number in (1, 2, 3)]
    assert all(each.n_splits > 0 and each.n_images > 50 for each in made)
    return [each.folder for each in made]


def test_what_does_not_belong_together_is_told(parts: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"

    def merge_refused(folders: list[Path], **changes: Any) -> None:
        check_refused(ClevrhopeError, joined, folders, out, **changes)
        assert not Layout(out).manifest.exists()

    merge_refused(parts[:2])
    before = [tree(folder) for folder in parts]
    merge_refused(parts[1:2])
    merge_refused([*parts, parts[0]])
    merge_refused([*parts[:2], tmp_path])
    merge_refused(parts, hops=HOPS[:1])
    merge_refused(parts, sizes={**SIZES, "train": 2_501})
    merge_refused(parts, passes=("mask",))
    merge_refused(parts, seed=6)
    smaller = part(tmp_path / "world", "1/3", world={"max_objects": 9}, render=False).folder
    merge_refused([smaller, *parts[1:]])
    merge_refused([*parts[:2], tmp_path / "nowhere"])
    other = part(tmp_path / "other", "1/2", render=False).folder
    merge_refused([parts[0], other])
    assert [tree(folder) for folder in parts] == before
    assert not out.exists()


def test_sizes_of_splits_that_are_not_made_do_not_matter(tmp_path: Path) -> None:
    one = part(tmp_path / "1", "1/1", sizes={"train": 50, "covr_train": 12}, render=False).folder
    assert joined([one], tmp_path / "out", sizes={"train": 50}, render=False)


def test_an_unfinished_part_is_told(parts: list[Path], tmp_path: Path) -> None:
    asked = request(tmp_path / "part", hops=HOPS, sizes=SIZES)

    class Stopped(FakeRenderer):
        def __init__(self) -> None:
            super().__init__(settings=asked.config.rendering, fails_on=40)

    check_refused(ClevrhopeError, build_part, asked, Shard(3, 3), make_renderer=lambda *_: Stopped())
    check_refused(DatasetError, joined, [*parts[:2], tmp_path / "part"], tmp_path / "out")
    build_part(asked, Shard(3, 3), make_renderer=renderer)
    assert tree(tmp_path / "part") == tree(parts[2])


def test_a_folder_is_a_part_or_a_whole(parts: list[Path], tmp_path: Path) -> None:
    check_refused(DatasetError, build, request(parts[0], hops=HOPS, sizes=SIZES), make_renderer=renderer)
    check_refused(DatasetError, part, parts[0], "2/3")
    before = tree(parts[0])
    check_refused(DatasetError, joined, parts, parts[0])
    assert tree(parts[0]) == before
    build(request(tmp_path / "whole", render=False))
    check_refused(DatasetError, part, tmp_path / "whole", "1/2", render=False)


def test_without_a_seed_parts_would_differ(tmp_path: Path) -> None:
    with refused(ConfigError):
        build_part(request(tmp_path / "part", seed=None), Shard(1, 2))
