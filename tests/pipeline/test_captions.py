"""Captions: what groups hold, how they are made, and the audit that reads them."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from building import Cli, build_demo, cli, tree
from fake_renderer import FakeRenderer

from clevrhope.audit import audit
from clevrhope.dataset.captions import CaptionTable, read_captions, write_captions
from clevrhope.errors import ConfigError, RenderError
from clevrhope.pipeline.captions import make_captions
from clevrhope.runtime import assets
from clevrhope.runtime.atomic import record

__all__ = ["cli"]

HOPS = ("rubber_cylinder", "large_rubber", "cyan_cylinder")
N = 12

SIZES = {
    "train": 9,
    "val_iid": 9,
    "complex_iid": 9,
    "complex_ood": 1,
    "val": 9,
    "test": 9,
    "minimal_copies": 1,
}

Rows = list[dict[str, Any]]


def fake_renderer(rendering: Any, **_: object) -> FakeRenderer:
    return FakeRenderer(settings=rendering)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("captions") / "dataset"
    build_demo(root, hops=(*HOPS, "none"), sizes=SIZES)
    return root


@pytest.fixture(scope="module")
def made(dataset: Path) -> Path:
    out = dataset.parent / "captions"
    make_captions(dataset, out, N, make_renderer=fake_renderer)
    return out


def rows_of(folder: Path, hop: str, split: str) -> Rows:
    rows: Rows = pq.read_table(folder / hop / f"{split}.parquet").to_pylist()
    return [{**row, "scene": json.loads(row["scene"])} for row in rows]


def groups_of(folder: Path, hop: str, split: str) -> list[Rows]:
    rows = rows_of(folder, hop, split)
    return [[row for row in rows if row["group"] == k] for k in range(rows[-1]["group"] + 1)]


def values(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        tuple(item[kind] for kind in ("size", "color", "material", "shape"))
        for item in row["scene"]["objects"]
    ]


@pytest.mark.parametrize("hop", HOPS)
def test_only_the_binding_differs_in_a_matching_group(made: Path, hop: str) -> None:
    held = set(hop.split("_"))
    splits = [table.split for table in read_captions(made) if table.hop == hop]
    assert ("matching_iid" in splits) == (hop != "large_rubber")
    for split in {"matching_ood", "matching_iid"}.intersection(splits):
        groups = groups_of(made, hop, split)
        assert len(groups) == N
        for one, other in groups:
            assert Counter(one["caption"].split()) == Counter(other["caption"].split())
            assert one["caption"] != other["caption"]
            bags = [Counter(value for item in values(row) for value in item) for row in (one, other)]
            assert bags[0] == bags[1]
            assert Counter(values(one)) != Counter(values(other))
            shown = [any(held <= set(item) for item in values(row)) for row in (one, other)]
            assert shown == [one["has_pair"], other["has_pair"]]
            assert sum(shown) == (split == "matching_ood")
            for row in (one, other):
                assert min(item["visible_pixels"] for item in row["scene"]["objects"]) > 0
                for noun, item in zip(
                    row["caption"].split(" and "), described(row), strict=True
                ):  # no caption says where an object is
                    assert set(noun.split()) - {"a", "thing"} <= set(item)


def described(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The objects in the order in which the caption names them."""
    first = set(row["caption"].split(" and ")[0].split()) - {"a", "thing"}
    return sorted(values(row), key=lambda item: not first <= set(item))


def test_groups_with_and_without_the_pair_differ_in_one_value_of_one_object(made: Path) -> None:
    for hop in ("rubber_cylinder", "cyan_cylinder"):
        replaced = Counter[str]()
        for ood, iid in zip(
            groups_of(made, hop, "matching_ood"), groups_of(made, hop, "matching_iid"), strict=True
        ):
            for one, other in zip(ood, iid, strict=True):
                assert one["place"] == other["place"]
                ours, theirs = one["scene"], other["scene"]
                assert [ours[key] for key in ("camera", "lights")] == [
                    theirs[key] for key in ("camera", "lights")
                ]
                places = [[item["3d_coords"][:2] for item in scene["objects"]] for scene in (ours, theirs)]
                assert places[0] == places[1]
                changed = [
                    (mine, yours)
                    for a, b in zip(values(one), values(other), strict=True)
                    for mine, yours in zip(a, b, strict=True)
                    if mine != yours
                ]
                assert len(changed) == 1
                replaced[changed[0][0]] += 1
        # Both held-out values are replaced if both have a third value to take their place.
        free = {"rubber_cylinder": {"cylinder"}}.get(hop, set(hop.split("_")))
        assert set(replaced) == free


def test_minimal_groups_are_the_datasets(dataset: Path, made: Path) -> None:
    for split, n_with_pair in (("minimal_ood", 1), ("minimal_iid", 0)):
        for group in groups_of(made, "rubber_cylinder", split):
            captions = [row["caption"] for row in group]
            assert len(set(captions)) == len(group) == 4
            assert captions.count("a rubber cylinder") == sum(row["has_pair"] for row in group) == n_with_pair
            names = [row["image"]["path"] for row in group]
            there = [path for name in names for path in (dataset / "images").rglob(name)]
            assert [path.read_bytes() for path in there] == [row["image"]["bytes"] for row in group]


def test_the_audit_finds_no_fault(made: Path) -> None:
    report = audit(made)
    assert report.ok
    assert all(check.n_checked and check.result == "passed" for check in report.checks)
    assert report.hops == tuple(sorted(HOPS))


def respelt(rows: Rows) -> None:
    """Puts another word into one caption, which stays true of its image alone."""
    noun, words = "cylinder", ("rubber", "metal")
    row = next(row for row in rows if row["has_pair"])
    assert noun in row["caption"]
    color = next(item for item in values(row) if {noun, words[0]} <= set(item))[1]
    row["caption"] = row["caption"].replace(f"a {words[0]} {noun}", f"a {color} {words[0]} {noun}")


def moved(rows: Rows) -> None:
    rows[1]["scene"]["objects"][0]["3d_coords"][0] += 1


def exchanged(rows: Rows) -> None:
    rows[0]["caption"], rows[1]["caption"] = rows[1]["caption"], rows[0]["caption"]


def unmarked(rows: Rows) -> None:
    for row in rows[:2]:
        row["has_pair"] = False


@pytest.mark.parametrize(
    ("spoil", "found"),
    [(respelt, {"words"}), (moved, {"words"}), (exchanged, {"truth", "pair"}), (unmarked, {"pair"})],
)
def test_the_audit_finds_faults(
    made: Path, tmp_path: Path, spoil: Callable[[Rows], None], found: set[str]
) -> None:
    spoilt = only_table(made, tmp_path, "matching_ood")
    path = spoilt.path(tmp_path)
    rows = rows_of(tmp_path, spoilt.hop, spoilt.split)
    spoil(rows)
    schema = pq.read_schema(path)
    stored = [{**row, "scene": json.dumps(row["scene"])} for row in rows]
    pq.write_table(pa.Table.from_pylist(stored, schema=schema), path)
    assert failed(tmp_path) == {"files", *found}
    write_captions(tmp_path, {}, [replace(spoilt, sha256=record(path).sha256)])
    assert failed(tmp_path) == found


def only_table(made: Path, folder: Path, split: str, hop: str = "rubber_cylinder") -> CaptionTable:
    """Copies one table into a folder of captions of its own."""
    table = next(each for each in read_captions(made) if (each.hop, each.split) == (hop, split))
    table.path(folder).parent.mkdir(parents=True)
    table.path(folder).write_bytes(table.path(made).read_bytes())
    write_captions(folder, {}, [table])
    return table


def failed(folder: Path) -> set[str]:
    return {check.name.removeprefix("captions: ") for check in audit(folder).checks if check.n_faults}


def test_a_table_that_shows_the_pair_is_not_iid(made: Path, tmp_path: Path) -> None:
    table = only_table(made, tmp_path, "matching_ood")
    as_iid = replace(table, split="matching_iid")
    table.path(tmp_path).rename(as_iid.path(tmp_path))
    write_captions(tmp_path, {}, [as_iid])
    (check,) = (each for each in audit(tmp_path).checks if each.n_faults)
    assert (check.name, check.n_faults) == ("captions: pair", N)


def test_tables_that_cannot_be_read_are_named(made: Path, tmp_path: Path, cli: Cli) -> None:
    table = only_table(made, tmp_path, "matching_ood")
    table.path(tmp_path).write_bytes(b"PAR1")
    said = cli("audit", tmp_path, code=1).out
    assert "rubber_cylinder/matching_ood.parquet: it cannot be read" in said
    write_captions(tmp_path, {}, [])
    assert "tables is a list of 0" not in cli("audit", tmp_path, code=1).err
    (tmp_path / "captions.json").write_text(json.dumps({"tables": [{**asdict(table), "split": "train"}]}))
    assert "captions.json: tables[0].split" in cli("audit", tmp_path, code=1).err


def test_a_smaller_number_gives_the_first_groups(dataset: Path, made: Path, tmp_path: Path) -> None:
    make_captions(dataset, tmp_path / "few", 3, hops=["cylinder_cyan"], make_renderer=fake_renderer)
    assert {table.hop for table in read_captions(tmp_path / "few")} == {"cyan_cylinder"}
    for split in ("matching_ood", "matching_iid", "minimal_ood"):
        few = rows_of(tmp_path / "few", "cyan_cylinder", split)
        assert few == rows_of(made, "cyan_cylinder", split)[: len(few)]
        assert few[-1]["group"] == 2 or split.startswith("minimal")


def test_a_stopped_run_is_resumed(dataset: Path, tmp_path: Path) -> None:
    rendered: list[int] = []

    def renderer(fails_on: int | None) -> Callable[..., FakeRenderer]:
        class Counting(FakeRenderer):
            def render(self, scenes: Any) -> Any:
                for each in super().render(scenes):
                    rendered.append(1)
                    yield each

        return lambda rendering, **_: Counting(settings=rendering, fails_on=fails_on)

    out, whole = tmp_path / "out", tmp_path / "whole"
    arguments: dict[str, Any] = {"hops": ["rubber_cylinder"]}
    with pytest.raises(RenderError):
        make_captions(dataset, out, 5, make_renderer=renderer(7), **arguments)
    assert not (out / "captions.json").exists()
    make_captions(dataset, out, 5, make_renderer=renderer(None), **arguments)
    assert len(rendered) == 4 * 5
    make_captions(dataset, whole, 5, make_renderer=fake_renderer, **arguments)
    assert tree(out) == tree(whole)


def test_what_has_no_captions(dataset: Path, made: Path, tmp_path: Path, cli: Cli) -> None:
    assert (
        "--hop none: captions are of held-out pairs"
        in cli("captions", dataset, "--hop", "none", "--out", tmp_path / "out", code=2).err
    )
    assert "only audit and score take it" in cli("info", made, code=2).err
    assert "captions: it has captions already" in cli("captions", dataset, "--out", made, code=2).err
    (tmp_path / "other").mkdir()
    for name in ("README.md", "thesis.txt"):
        (tmp_path / "other" / name).touch()
        said = cli("captions", dataset, "--out", tmp_path / "other", code=2).err
        assert "other: not empty (README.md)" in said
    bare = tmp_path / "bare"
    build_demo(bare, render=False, sizes=SIZES)
    with pytest.raises(ConfigError, match="it has no images; captions need a dataset that was built with"):
        make_captions(bare, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_datasets_reads_the_tables(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    found = datasets.load_dataset(str(made), "cyan_cylinder", cache_dir=str(tmp_path))
    assert {*found} == {"matching_ood", "matching_iid", "minimal_ood", "minimal_iid"}
    row = found["matching_ood"][0]
    assert row["image"].size == (48, 32)
    assert row["caption"] == rows_of(made, "cyan_cylinder", "matching_ood")[0]["caption"]


@pytest.mark.slow
def test_other_worlds_wider_pairs_and_shared_places(tmp_path: Path) -> None:
    raw = json.loads((assets.blender_assets() / "properties.json").read_text())
    raw["colors"]["orange"], raw["sizes"]["medium"] = [250, 120, 10], 0.5
    own = tmp_path / "own.json"
    own.write_text(json.dumps(raw))
    for name, hops, changes in (
        ("own", ("metal_orange_cube", "medium_rubber"), {"properties": own}),
        ("shared", ("rubber_cyan",), {"minimal_pool": "shared"}),
    ):
        build_demo(tmp_path / name, hops=hops, sizes=SIZES, **changes)
        out = tmp_path / f"{name}_captions"
        make_captions(
            tmp_path / name, out, N, properties=changes.get("properties"), make_renderer=fake_renderer
        )
        assert audit(out).ok
        assert len(read_captions(out)) == 4 * len(hops)
    assert "an orange metal cube" in " ".join(
        row["caption"] for row in rows_of(tmp_path / "own_captions", "metal_orange_cube", "matching_ood")
    )
    minimal = groups_of(tmp_path / "own_captions", "metal_orange_cube", "minimal_ood")
    assert {len(group) for group in minimal} == {8}
