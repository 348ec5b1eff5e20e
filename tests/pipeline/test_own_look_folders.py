"""Folders of a look of one's own: bound to it, extended, audited and given visual tests."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from building import request

from clevrhope.__main__ import run_command
from clevrhope.audit import audit
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.errors import ClevrhopeError, ConfigError, DatasetError
from clevrhope.images.settings import NativeSettings
from clevrhope.pipeline import Request, build
from wording import check_refused, refused

LOOK: Mapping[str, Any] = {
    "camera": {"location": [6.0, -8.0, 4.5], "target": [0.3, 0.0, 0.2], "lens_mm": 30.0},
    "lights": {"back": False, "key": {"power_w": 120.0}},
    "ground": {"color": [0.5, 0.6, 0.7]},
}
SIZES = {"train": 54, "complex_iid": 27, "complex_ood": 4, "minimal_places": 2}


def asked(out: Path, look: Mapping[str, Any] = LOOK, **changes: Any) -> Request:
    rendering = NativeSettings(width=480, height=320, quality="draft")
    return request(out, sizes=SIZES, rendering=rendering, look=look, **changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("own look") / "data"
    build(asked(out))
    return out


def test_a_folder_is_bound_to_its_look(folder: Path) -> None:
    world = existing_manifest(folder / "manifest.json").world
    assert world["look"] == LOOK
    before = (folder / "manifest.json").read_bytes()
    for other in ({}, {**LOOK, "ground": {"color": [0.5, 0.6, 0.8]}}):
        check_refused(DatasetError, build, asked(folder, other))
    assert (folder / "manifest.json").read_bytes() == before


def test_a_folder_of_the_packages_look_does_not_mention_it(tmp_path: Path) -> None:
    build(asked(tmp_path / "plain", {}, render=False))
    assert "look" not in existing_manifest(tmp_path / "plain" / "manifest.json").world


@pytest.mark.slow
def test_the_audit_and_visual_tests_know_the_look(folder: Path) -> None:
    assert audit(folder).ok
    suite = ["suite", "visual", str(folder), "--visual", "4", "--quiet"]
    assert run_command(suite) == 0
    assert audit(folder).ok


def test_clevrs_images_go_with_no_other_look(tmp_path: Path) -> None:
    with refused(ConfigError):
        build(asked(tmp_path / "out", clevr=tmp_path, render=False))
    assert not (tmp_path / "out").exists()


def test_a_manifest_whose_look_was_spoilt_gets_a_sentence(folder: Path, tmp_path: Path) -> None:
    manifest = folder / "manifest.json"
    whole = manifest.read_text()
    for before, after in (
        ('"lens_mm": 30.0', '"lens_mm": 31.0'),
        ('"lens_mm": 30.0', '"lens_mm": -1.0'),
        ('"camera": {', '"camera": 3, "other": {'),
    ):
        assert before in whole
        manifest.write_text(whole.replace(before, after, 1))
        try:
            check_refused(ClevrhopeError, audit, folder)
        finally:
            manifest.write_text(whole)


def test_a_world_whose_corners_are_off_the_ground_is_refused(tmp_path: Path) -> None:
    with refused(ConfigError):
        build(asked(tmp_path / "wide", {}, world={"position_range": 12}))
    assert not (tmp_path / "wide").exists()
    # Still flat there.
    build(asked(tmp_path / "wide", {}, world={"position_range": 3.5}, render=False))
