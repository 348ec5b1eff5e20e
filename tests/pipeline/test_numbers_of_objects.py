"""Every split of every pair has all numbers of objects equally often, and places only what it asks about."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from building import Make

from clevrhope._core import PoolScenes
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import read_table
from clevrhope.errors import DatasetError
from clevrhope.scenes import read_world
from clevrhope.splits.hops import paper_hops
from wording import check_refused

HOPS = ("large_rubber", "cyan_cylinder")
SIZES = {"train": 18_000, "complex_iid": 9_000, "complex_ood": 1_000}


@pytest.mark.slow
def test_the_papers_pairs_have_uniform_numbers_at_the_papers_size() -> None:
    world = read_world()
    n_images = {"train": 62_223, "test_iid": 13_334, "test_ood": 15_000}
    for pool, n in n_images.items():
        pool_scenes = PoolScenes(world, seed=1, pool=pool)
        for hop in paper_hops():
            rule = "with" if pool == "test_ood" else "without"
            indices = pool_scenes.eligible(list(hop.held_out or ()), scenes=rule, split="train", n=n)
            assert len(set(indices.tolist())) == n
            counts = np.bincount(world.n_objects(indices, seed=1, pool=pool))[3:]
            assert len(counts) == 8
            assert np.ptp(counts) <= 1, (hop.name, pool, counts)
        assert pool_scenes.n_kept == 0  # nothing is placed to find them


@pytest.mark.slow
def test_all_splits_have_the_same_numbers_of_objects(tmp_path: Path, make: Make) -> None:
    layout = Layout(tmp_path / "out")
    made = make(layout.root, hops=HOPS, sizes=SIZES, render=False)
    rows = [
        row
        for path in layout.root.glob("scenes/t*/*.json")
        for row in json.loads(path.read_bytes())["scenes"]
    ]
    objects = {(row["split"], row["image_index"]): row["objects"] for row in rows}
    for hop in HOPS:
        for split in SIZES:
            table = read_table(layout.questions_h5(hop, split))
            counts = Counter(len(objects[table.pool, index]) for index in table.scenes.tolist())
            assert sorted(counts) == list(range(3, 11))
            mean = sum(n * k for n, k in counts.items()) / counts.total()
            assert abs(mean - 6.5) < 0.1, (hop, split, counts)
            expected = counts.total() / 8
            # far less than chance would give, 18.5 at one in a hundred
            assert sum((k - expected) ** 2 / expected for k in counts.values()) < 3, (hop, split, counts)
    assert made.splits["large_rubber"]["train"]["images"] in (2_000, 2_001)


def test_a_folder_made_by_the_older_rules_is_refused(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "out", render=False)
    manifest = tmp_path / "out" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "version": "1"}))
    check_refused(DatasetError, make, tmp_path / "out", render=False)
