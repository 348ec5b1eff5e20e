"""Every split of every pair has all numbers of objects equally often, and places only what it asks about."""

import json
from pathlib import Path

import numpy as np
import pytest
from building import Make

from clevrhope._core import PoolScenes
from clevrhope.errors import DatasetError
from clevrhope.scenes import read_world
from clevrhope.splits.hops import paper_hops
from wording import check_refused


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


def test_a_folder_made_by_the_older_rules_is_refused(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "out", render=False)
    manifest = tmp_path / "out" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "version": "1"}))
    check_refused(DatasetError, make, tmp_path / "out", render=False)
