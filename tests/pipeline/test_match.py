"""--match objects: every split of every pair has the same numbers of objects an image."""

import json
from collections import Counter
from pathlib import Path

import pytest
from building import Make, request

from clevrhope.dataset.clevr_json import read_rows
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.questions_h5 import read_scenes_in_use
from clevrhope.errors import DatasetError
from clevrhope.pipeline.forecast import make_plan, plan_lines

HOPS = ("large_rubber", "cyan_cylinder")
SIZES = {"train": 18_000, "complex_iid": 9_000, "complex_ood": 1_000}


@pytest.mark.slow
def test_all_splits_have_the_same_numbers_of_objects(tmp_path: Path, make: Make) -> None:
    layout = Layout(tmp_path / "out")
    made = make(layout.root, hops=HOPS, sizes=SIZES, match="objects", render=False)
    rows = [row for path in layout.root.glob("scenes/t*/*.json") for row in read_rows(path)]
    n_objects = {(row["split"], row["image_index"]): len(row["objects"]) for row in rows}
    for hop in HOPS:
        for split in SIZES:
            pool, indices = read_scenes_in_use(layout.questions_h5(hop, split))
            counts = Counter(n_objects[pool, index] for index in indices.tolist())
            assert sorted(counts) == list(range(3, 11))
            mean = sum(n * k for n, k in counts.items()) / counts.total()
            # 6.5 but for the last block of 2,000 scenes, of which the first are taken
            assert abs(mean - 6.5) < 0.15, (hop, split, counts)
    assert made.splits["large_rubber"]["train"]["pictures"] == 2_000


def test_a_folder_is_bound_to_it(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "out", match="objects", render=False)
    with pytest.raises(DatasetError, match=r"made with other question settings .*match"):
        make(tmp_path / "out", render=False)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["questions"]["match"] == "objects"
    assert "With `--match objects` scenes are thinned" in (tmp_path / "out" / "DATASHEET.md").read_text()


@pytest.mark.slow
def test_the_plan_says_how_many_scenes_more_it_takes(tmp_path: Path) -> None:
    asked = {"hops": HOPS, "sizes": {**SIZES, "train": 400_000}, "render": False}
    plain = make_plan(request(tmp_path / "a", **asked))
    matched = make_plan(request(tmp_path / "b", match="objects", **asked))
    assert not plain.exact
    # A quarter of all objects are large and rubber, so few scenes with many objects are free of them.
    free = [0.75**n for n in range(3, 11)]
    n_scenes = 400_000 / 9
    assert plain.scanned["train"] == pytest.approx(n_scenes / (sum(free) / 8), rel=0.15)
    assert matched.scanned["train"] == pytest.approx(n_scenes / min(free), rel=0.4)
    assert plain.images["train"] < matched.scanned["train"]
    assert n_scenes < matched.images["train"] < 2 * n_scenes
    assert "scenes are thinned until all numbers of objects are equally likely" in "\n".join(
        plan_lines(matched)
    )


@pytest.mark.slow
def test_what_is_planned_is_what_is_made(tmp_path: Path, make: Make) -> None:
    asked = {"hops": HOPS, "match": "objects", "render": False}
    plan = make_plan(request(tmp_path / "out", **asked))
    made = make(tmp_path / "out", **asked)
    assert plan.exact
    assert sum(plan.images.values()) == made.n_images
