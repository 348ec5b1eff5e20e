"""The official detector features train LXMERT without a detector of ours."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from building import Cli
from official_files import write_hdf5

from clevrhope.features.store import open_store
from clevrhope.pipeline.importing import import_source

HOP = "rubber_cylinder"


@pytest.fixture
def source(dataset: Path, tmp_path: Path) -> Path:
    """Official-like files with `user_<split>_vg_frcnn.h5` beside the images."""
    out = write_hdf5(dataset, tmp_path / "official")
    generator = np.random.default_rng(0)
    for path in out.rglob("*_ims.h5"):
        with h5py.File(path) as images:
            n = len(images["features"])
        name = {"val_iid_ims": "val"}.get(path.stem, path.stem.partition("_")[0])
        with h5py.File(path.with_name(f"user_{name}_vg_frcnn.h5"), "w") as file:
            file["roi_features"] = generator.random((n, 36, 2048), dtype=np.float32)
            file["normalized_boxes"] = generator.random((n, 36, 4), dtype=np.float32)
            file["preds_per_image"] = np.full(n, 36)
        path.unlink()
    return out


def test_each_image_has_its_row(source: Path, tmp_path: Path) -> None:
    import_source(source, tmp_path / "out", hops=[HOP], features=True)
    store = open_store(tmp_path / "out", kind="frcnn")
    pool = store.pool("test_ood_official_00")
    with h5py.File(next((source / "held_out_CLEVR").rglob("user_test_vg_frcnn.h5"))) as file:
        for row, index in enumerate(pool.indices.tolist()):
            np.testing.assert_array_equal(
                pool.arrays["vectors"][row], file["roi_features"][index].astype(np.float16)
            )
            np.testing.assert_array_equal(pool.arrays["boxes"][row], file["normalized_boxes"][index])


@pytest.mark.slow
def test_lxmert_trains_on_them(source: Path, tmp_path: Path, cli: Cli) -> None:
    pytest.importorskip("torch")
    cli("import", source, "--out", tmp_path / "out", "--hop", HOP, "--features")
    sizes = ["hidden=48", "heads=4", "intermediate=96"]
    layers = ["language_layers=1", "object_layers=1", "cross_layers=1", "recipe.precision=float32"]
    settings = [word for each in (*sizes, *layers) for word in ("--set", each)]
    run = ["--size", "100", "--updates", "2", "--seed", "1", "--device", "cpu", "--out", tmp_path / "run"]
    cli("train", "lxmert_s", tmp_path / "out", "--hop", HOP, *settings, *run)
    assert (tmp_path / "run" / "run.json").is_file()
