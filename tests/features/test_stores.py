"""Feature stores: what is in them, whatever run made them; what does not belong together is refused."""

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Cli, Make, build_demo, request

import clevrhope
from clevrhope.audit import audit
from clevrhope.dataset.layout import Layout
from clevrhope.errors import ClevrhopeError, ConfigError, DatasetError
from clevrhope.features import extraction
from clevrhope.features.extraction import make_features
from clevrhope.features.extractor import ExtractorOptions
from clevrhope.features.plain import Attributes
from clevrhope.features.store import open_store
from clevrhope.models.maps import MapsConfig
from clevrhope.pipeline import build
from clevrhope.programs import default_vocabulary
from clevrhope.runtime.progress import Advance
from wording import check_refused, check_words, refused

HOP = "rubber_cylinder"


class Stops:
    """A display whose owner presses Ctrl-C after so many images."""

    def __init__(self, after: int) -> None:
        self._left = after

    @contextmanager
    def stage(self, title: str, *, total: int, unit: str) -> Iterator[Advance]:
        def advance(n: int, /, *, there: bool = False) -> None:
            self._left -= n
            if self._left <= 0:
                raise KeyboardInterrupt

        yield advance


def arrays(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.npy"))}


def test_pixels_are_the_images(folder: Path) -> None:
    made = make_features(folder, kind="pixels", size="image")
    assert made.folder == folder / "features/pixels-48x32"
    assert made.note is None
    store = open_store(folder, kind="pixels")
    for split in ("train", "minimal_ood"):
        questions = clevrhope.load(folder, HOP, split)
        pool = store.pool(questions.pool)
        rows = pool.rows(np.asarray([each["image_index"] for each in questions]))
        for row, each in zip(rows, questions, strict=True):
            np.testing.assert_array_equal(pool.arrays["pixels"][row], each["image"].transpose(2, 0, 1))
    assert made.pools == {pool: len(store.pool(pool).indices) for pool in made.pools}
    assert made.n_made == sum(made.pools.values())


def test_the_default_size_is_what_models_take(folder: Path, cli: Cli) -> None:
    made = make_features(folder, kind="pixels", pools=["test_ood"])
    config = MapsConfig()
    assert made.folder.name == f"pixels-{config.image_width}x{config.image_height}" == "pixels-224x224"
    options = ["--kind", "pixels", "--size", "image", "--pools", "test_ood", "--json"]
    assert json.loads(cli("features", folder, *options).out)["folder"] == f"{folder}/features/pixels-48x32"


def test_attributes_are_those_of_the_scenes(folder: Path) -> None:
    made = make_features(folder, kind="attributes")
    assert made.note == "true attributes, nothing seen"
    pool = open_store(folder, kind="attributes").pool("train")
    scenes = json.loads(Layout(folder).scene_shard("train", 0).read_text())["scenes"]
    listed = json.loads((folder / "manifest.json").read_text())["world"]["attributes"]
    types = {kind: sorted(values) for kind, values in listed.items()}
    assert pool.indices.tolist() == sorted(scene["image_index"] for scene in scenes)
    for scene in scenes:
        row = pool.rows(np.asarray([scene["image_index"]]))[0]
        n = pool.arrays["n_boxes"][row]
        assert n == len(scene["objects"])
        read = [
            {kind: values[k] for (kind, values), k in zip(types.items(), numbers, strict=True)}
            for numbers in pool.arrays["attributes"][row][:n]
        ]
        assert read == [{kind: each[kind] for kind in types} for each in scene["objects"]]
        places = pool.arrays["places"][row][:n]
        axes = np.asarray([scene["directions"][name] for name in ("right", "front", "above")])
        coords = np.asarray([each["3d_coords"] for each in scene["objects"]])
        np.testing.assert_allclose(places @ axes * 3, coords, atol=1e-6)
        # Every relation follows from them.
        for name, column, sign in (("right", 0, 1), ("left", 0, -1), ("front", 1, 1), ("behind", 1, -1)):
            for k, related in enumerate(scene["relationships"][name]):
                others = [j for j in range(n) if j != k]
                ahead = [j for j in others if sign * (places[j, column] - places[k, column]) > 1e-3]
                assert set(related) <= set(ahead), name
        assert (pool.arrays["attributes"][row][n:] == -1).all()
        assert not pool.arrays["places"][row][n:].any()


def test_attributes_have_the_same_numbers_whatever_the_order_of_a_folders_values() -> None:
    def made(order: int, without: str = "") -> Attributes:
        types = default_vocabulary().attribute_types
        values = {kind: [name for name in names if name != without][::order] for kind, names in types}
        return Attributes(ExtractorOptions(None, None, "cpu", values, (480, 320), 10, None))

    scenes = [scene.content for scene in clevrhope.sample_scenes(3, seed=1)]
    one, other = (made(order).rows(np.zeros((3, 2, 2, 3), np.uint8), scenes) for order in (1, -1))
    np.testing.assert_array_equal(one["attributes"], other["attributes"])
    # What a run is bound to tells a world with other values apart, in which a number means another value.
    assert made(1).options == made(-1).options != made(1, without="brown").options


@pytest.mark.parametrize("kind", ["pixels", "attributes"])
def test_stopped_anywhere_and_begun_again_equals_uninterrupted(
    kind: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = partial(make_features, folder, kind=kind, size="image" if kind == "pixels" else None)
    whole = asked(out=tmp_path / "whole")
    monkeypatch.setattr(extraction, "BLOCK", 5)
    stopped = tmp_path / "stopped"
    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            asked(out=stopped, progress=Stops(7))
        with pytest.raises(ClevrhopeError):
            list(map(open_store(folder, kind=kind, name=str(stopped)).pool, whole.pools))
    again = asked(out=stopped)
    assert 0 < again.n_made < whole.n_made, "what was made is not made again"
    assert arrays(stopped) == arrays(tmp_path / "whole")
    assert asked(out=stopped).n_made == 0
    assert not list(stopped.rglob(".*"))


def test_a_dataset_that_grew_has_only_its_new_images_made(folder: Path, make: Make, tmp_path: Path) -> None:
    first = make_features(folder, kind="pixels", size="image")
    make(folder, images="h5", sizes={"train": 200})
    with refused(DatasetError):
        open_store(folder, kind="pixels").pool("train")
    second = make_features(folder, kind="pixels", size="image")
    assert second.n_made == sum(second.pools.values()) - sum(first.pools.values()) > 0
    at_once = make_features(folder, kind="pixels", size="image", out=tmp_path / "at_once")
    assert arrays(second.folder) == arrays(at_once.folder)


def test_images_that_changed_are_made_again(folder: Path) -> None:
    """As if the dataset had been made again with other images under the same name."""
    made = make_features(folder, kind="pixels", size="image", pools=["train"])
    sums = made.folder / "train/sums.npy"
    known = np.load(sums)
    known[3] += 1
    np.save(sums, known)
    (made.folder / "train/pool.json").write_text('{"source": "of other images"}')
    assert make_features(folder, kind="pixels", size="image", pools=["train"]).n_made == 1


def test_a_store_is_of_one_dataset(folder: Path, tmp_path: Path) -> None:
    make_features(folder, kind="attributes")
    check_refused(ConfigError, open_store, folder, kind="attributes", name="atributes")
    other = build_demo(tmp_path / "other", seed=6, images="h5").folder
    check_refused(ConfigError, open_store, other, kind="attributes")
    check_refused(ConfigError, open_store, other, kind="resnet101", reads_pixels=True)
    shutil.copytree(folder / "features", other / "features")
    check_refused(DatasetError, open_store, other, kind="attributes")
    check_refused(DatasetError, make_features, other, kind="attributes")


def test_an_array_that_was_cut_off_is_told(folder: Path) -> None:
    made = make_features(folder, kind="pixels", size="image", pools=["train"])
    whole = arrays(made.folder)
    for name in ("pixels", "indices", "sums"):
        path = made.folder / f"train/{name}.npy"
        for left in (path.read_bytes()[:-10], b"", None):
            path.unlink() if left is None else path.write_bytes(left)
            if name != "sums":
                with refused(DatasetError):
                    open_store(folder, kind="pixels").pool("train")
            again = make_features(folder, kind="pixels", size="image", pools=["train"])
            assert again.n_made == made.n_made
            assert arrays(made.folder) == whole
    assert make_features(folder, kind="pixels", size="image", pools=["train"]).n_made == 0


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("pixels", {"size": (24, 16)}),
        ("attributes", {}),
        pytest.param("scene-boxes", {"weights": "random"}, marks=pytest.mark.slow),
    ],
)
def test_the_command_in_an_error_makes_what_is_missing(
    kind: str, options: dict[str, Any], folder: Path, tmp_path: Path, cli: Cli
) -> None:
    if "weights" in options:
        pytest.importorskip("torchvision")
    make_features(folder, kind=kind, pools=["train"], out=tmp_path / "mine", device="cpu", **options)
    store = open_store(folder, kind=kind, name=str(tmp_path / "mine"))
    with refused(DatasetError) as caught:
        store.pool("test_ood")
    command = re.search(r"run clevrhope (features .*) again$", str(caught.value))
    assert command
    cli(*command[1].split(), "--quiet")
    assert len(store.pool("test_ood").indices)
    assert not (folder / "features").exists()


def test_the_audit_passes_a_dataset_with_features(folder: Path) -> None:
    make_features(folder, kind="attributes")
    (files,) = (check for check in audit(folder).checks if check.name == "files")
    assert not files.n_faults, "made images fail other checks"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--kind", "pixel"],
        ["--kind", "pixels", "--size", "96"],
        ["--kind", "pixels", "--weights", "w.pth"],
        ["--kind", "attributes", "--size", "9x9"],
        ["--kind", "pixels", "--pools", "trian"],
    ],
)
def test_what_cannot_be_made(arguments: list[str], folder: Path, cli: Cli) -> None:
    check_words(cli("features", folder, *arguments, code=2).err)
    assert not (folder / "features").exists()


def test_the_command_tells_what_it_made(folder: Path, cli: Cli) -> None:
    told = json.loads(cli("features", folder, "--kind", "attributes", "--json").out)
    assert told["note"] == "true attributes, nothing seen"
    assert told["made"] == sum(told["pools"].values())
    refusal = cli("features", folder.parent, "--kind", "attributes", code=2).err
    assert "not a dataset of clevrhope" in refusal


def test_a_dataset_without_images(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    build(request(folder, render=False))
    assert make_features(folder, kind="attributes").n_made > 0
    for size in (None, "image"):
        check_refused(ConfigError, make_features, folder, kind="pixels", size=size)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system cannot reserve space")
def test_a_full_disk_is_told_before_a_mapped_file_is_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DatasetError, match="no space left"):
        make_features(folder, kind="attributes", out=tmp_path / "features")
