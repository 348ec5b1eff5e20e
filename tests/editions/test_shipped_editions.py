"""The editions of the package: their definitions, and that this version makes them or says so."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import h5py
import numpy as np
import pytest
from building import Cli
from freeze_edition import rendered

from clevrhope.config.presets import PRESETS, splits_of
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.editions import edition_names, read_edition, verify
from clevrhope.editions.content import PARTS, image_digest, read_content
from clevrhope.editions.frozen import SHORT, read_frozen
from clevrhope.errors import ConfigError
from clevrhope.images.renderers import open_renderer
from clevrhope.images.settings import NATIVE_REVISION, NativeSettings
from clevrhope.look.definition import read_look
from clevrhope.pipeline import Request, build
from clevrhope.pipeline.resolution import resolve
from clevrhope.runtime.progress import Silent
from clevrhope.scenes import read_world
from clevrhope.splits.hops import HOP_GROUPS, parse_hop
from clevrhope.splits.kinds import GAPS
from clevrhope.splits.nonce.kinds import NONCE_SPLITS, OBJECTS, SCENES
from clevrhope.version import DATASET_VERSION, software_version
from wording import check_refused

PRESET = {"hope-1": "paper", "hope-1-small": "small"}
EPISODES = {"nonce-1": 2200, "nonce-1-small": 110}
PAIR = "cyan_cylinder"


def is_of_this_renderer(name: str) -> bool:
    return bool(read_frozen(read_edition(name)).engine["rendering"]["revision"] == NATIVE_REVISION)


def test_all_editions_are_tested_here() -> None:
    assert edition_names() == sorted([*PRESET, *EPISODES])


@pytest.mark.parametrize("name", PRESET)
def test_a_definition_is_that_of_its_preset(name: str) -> None:
    edition = read_edition(name)
    assert edition.config == replace(PRESETS[PRESET[name]], rendering=NativeSettings())
    assert edition.hops == HOP_GROUPS["all"]
    assert edition.seed == int.from_bytes(sha256(b"hope-1").digest()[:4], "big")


@pytest.mark.parametrize("name", PRESET)
def test_all_of_an_edition_was_frozen(name: str) -> None:
    edition = read_edition(name)
    frozen = read_frozen(edition)
    types = read_world().attribute_types
    assert {hop: set(splits) for hop, splits in frozen.splits.items()} == {
        hop: set(splits_of(parse_hop(hop, types))) for hop in edition.hops
    }
    every = [part for hop in frozen.splits.values() for split in hop.values() for part in split.values()]
    assert len(every) == len(PARTS) * 6 * 29
    assert all(index % edition.every_image == 0 for each in frozen.images.values() for index in each)
    assert all(len(digest) == SHORT for each in frozen.images.values() for digest in each.values())


@pytest.mark.parametrize("name", PRESET)
def test_this_version_makes_an_edition_or_says_so(name: str, tmp_path: Path) -> None:
    edition = read_edition(name)
    assert read_frozen(edition).engine["version"] == DATASET_VERSION
    request = Request(tmp_path / "out", (PAIR,), edition.config, edition.seed, edition=edition)
    assert resolve(replace(request, render=False)).manifest.edition == {"name": name, "private": False}
    if is_of_this_renderer(name):
        assert resolve(request).manifest.edition == {"name": name, "private": False}
    else:
        check_refused(ConfigError, resolve, request)


@pytest.mark.parametrize("name", PRESET)
def test_an_edition_that_this_version_froze_is_not_stale(name: str) -> None:
    frozen = read_frozen(read_edition(name))
    assert frozen.clevrhope != software_version() or is_of_this_renderer(name)


@pytest.mark.parametrize("name", EPISODES)
def test_all_episodes_of_an_edition_were_frozen(name: str) -> None:
    edition = read_edition(name)
    frozen = read_frozen(edition)
    assert (edition.hops, edition.nonce) == (("none",), EPISODES[name])
    assert edition.seed == int.from_bytes(sha256(b"nonce-1").digest()[:4], "big")
    assert {hop: [*splits] for hop, splits in frozen.splits.items()} == {"none": [*NONCE_SPLITS]}
    assert frozen.engine["version"] == DATASET_VERSION
    assert [*frozen.images] == [OBJECTS, SCENES]
    assert all(index % edition.every_image == 0 for each in frozen.images.values() for index in each)


def test_the_small_edition_of_episodes_is_as_it_was_frozen(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = cli("build", "--edition", "nonce-1-small", "--no-render", "--out", out).out
    assert "that of everybody's nonce-1-small: 2 splits, 220 questions, 499 scenes, no images" in said
    assert "it has 110 episodes" in cli("build", "--nonce", 50, "--out", out, code=2).err
    with h5py.File(out / "nonce" / "seen.h5", "r+") as file:
        file["words"][3] = file["words"][30]
    assert "none/nonce_seen: other questions" in cli("verify", out, code=1).out
    chosen = np.arange(0, 110, 20, dtype=np.int32)
    with open_renderer(NativeSettings(), look=read_look()) as renderer:
        images = read_frozen(read_edition("nonce-1-small")).images[SCENES]
        made = {index: image_digest(each) for index, each in rendered(renderer, Layout(out), SCENES, chosen)}
    assert [made[index].hex()[:SHORT] == images[index] for index in chosen.tolist()] == [
        is_of_this_renderer("nonce-1-small")
    ] * 6


@pytest.mark.slow
@pytest.mark.parametrize(("name", "splits"), [("hope-1-small", None), ("hope-1", (GAPS["minimal"].name,))])
def test_a_part_of_an_edition_is_as_it_was_frozen(
    name: str, splits: tuple[str, ...] | None, tmp_path: Path
) -> None:
    """All text of a pair's splits, and some images of each of their pools."""
    edition = read_edition(name)
    frozen = read_frozen(edition)
    layout = Layout(tmp_path / "part")
    config = replace(edition.config, question_json=False)
    build(Request(layout.root, (PAIR,), config, edition.seed, splits, render=False, edition=edition))
    found = verify(layout.root)
    assert found.ok
    assert found.n_splits == (6 if splits is None else 1)
    manifest = existing_manifest(layout.manifest)
    used = read_content(layout, manifest, Silent(), every_image=edition.every_image).checked
    with open_renderer(config.rendering, look=read_look()) as renderer:
        for pool, indices in (each for of_split in used.values() for each in of_split.items()):
            chosen = np.unique(indices[:: max(1, len(indices) // 6)])
            same = [
                image_digest(pixels).hex()[:SHORT] == frozen.images[pool][index]
                for index, pixels in rendered(renderer, layout, pool, chosen)
            ]
            assert len(same) == len(chosen)
            assert not is_of_this_renderer(edition.name) or all(same)
