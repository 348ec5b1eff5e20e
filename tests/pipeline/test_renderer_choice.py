"""Folders with images of the native renderer: bound to it, resumed, grown, joined and audited."""

import html
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from building import Cli, request, tree

from clevrhope.audit import audit
from clevrhope.config.sources import resolve_config
from clevrhope.dataset.manifest import existing_manifest, read_manifest, write_manifest
from clevrhope.errors import DatasetError
from clevrhope.images.settings import NATIVE_REVISION, BlenderSettings, NativeSettings
from clevrhope.pipeline import Summary, build
from wording import check_refused

#: A fifth of an image's sides: whoever looks at what is in them takes whole ones.
TINY = NativeSettings(width=96, height=64, quality="draft")
SIZES = {"train": 54, "complex_iid": 27, "complex_ood": 4, "minimal_places": 2}


def make(out: Path, rendering: NativeSettings | BlenderSettings = TINY, **changes: Any) -> Summary:
    return build(request(out, rendering=rendering, **{"sizes": SIZES, **changes}))


#: The command line as it is where `import bpy` fails, whatever is installed.
WITHOUT_BPY = "import sys; sys.modules['bpy'] = None; from clevrhope.start import main; main()"


def command(*arguments: str | Path, threads: int = 2) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WITHOUT_BPY, *map(str, arguments)],
        env={**os.environ, "RAYON_NUM_THREADS": str(threads)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_without_blender_the_error_names_the_native_renderer_and_that_one_works(tmp_path: Path) -> None:
    few = ("--hop", "none", "--splits", "val", "--test-questions", "18", "--seed", "3")
    refused = command("build", *few, "--out", tmp_path / "refused")
    _, errors = refused.communicate()
    assert refused.returncode == 1
    assert "rendering needs Blender's module bpy, which is not installed" in errors
    assert errors.strip().endswith("or use --renderer native, which needs no Blender")
    assert not (tmp_path / "refused").exists()

    native = command("build", *few, "--renderer", "native", "--quality", "draft", "--out", tmp_path / "made")
    _, errors = native.communicate()
    assert native.returncode == 0, errors
    assert existing_manifest(tmp_path / "made" / "manifest.json").rendering == {
        "renderer": "native",
        "width": 480,
        "height": 320,
        "quality": "draft",
        "revision": NATIVE_REVISION,
    }


@pytest.mark.parametrize(
    ("there", "wanted"),
    [(TINY, BlenderSettings()), (BlenderSettings(samples=8), TINY), (TINY, replace(TINY, quality="high"))],
    ids=["native", "blender", "quality"],
)
@pytest.mark.slow
def test_a_folder_is_bound_to_what_made_its_images(
    there: Any, wanted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clevrhope.images.blender.cycles.CyclesRenderer", _painted)
    make(tmp_path, there)
    before = tree(tmp_path)
    check_refused(DatasetError, make, tmp_path, wanted)
    assert tree(tmp_path) == before
    assert make(tmp_path, there).n_rendered == 0
    # Text alone asks for no renderer.
    make(tmp_path, wanted, render=False)


@pytest.mark.slow
def test_images_of_another_revision_are_not_added_to(tmp_path: Path) -> None:
    make(tmp_path)
    path = tmp_path / "manifest.json"
    manifest = existing_manifest(path)
    assert manifest.rendering is not None
    other = {**manifest.rendering, "revision": NATIVE_REVISION + 1}
    write_manifest(path, replace(manifest, rendering=other))
    check_refused(DatasetError, make, tmp_path, sizes={**SIZES, "train": 63})
    assert make(tmp_path, render=False).n_rendered == 0


@pytest.mark.slow
def test_a_folder_without_images_can_still_choose(tmp_path: Path) -> None:
    make(tmp_path / "late", BlenderSettings(), render=False)
    make(tmp_path / "late", TINY)
    make(tmp_path / "whole", TINY)
    assert tree(tmp_path / "late") == tree(tmp_path / "whole")


@pytest.mark.slow
def test_merge_takes_renderer_and_passes_from_the_parts(tmp_path: Path, cli: Cli) -> None:
    settings = tmp_path / "native.toml"
    settings.write_text('[rendering]\nrenderer = "native"\nwidth = 96\nheight = 64\n')
    few = ["--hop", "none", "--splits", "val,test", "--test-questions", "18", "--quiet"]
    made = ["build", *few, "--seed", "3", "--config", str(settings), "--passes", "mask,depth"]
    for part in ("1/2", "2/2"):
        cli(*made, "--shard", part, "--out", tmp_path / part[0])
    parts = [str(tmp_path / "1"), str(tmp_path / "2")]
    cli("merge", *parts, *few, "--out", tmp_path / "joined")
    cli(*made, "--out", tmp_path / "w")
    assert tree(tmp_path / "joined") == tree(tmp_path / "w")
    manifests = [read_manifest(tmp_path / name / "manifest.json") for name in ("joined", "w")]
    assert manifests[0] == manifests[1], "the requests of the parts are those of the whole"
    other = ["merge", *parts, *few, "--quality", "draft", "--out", str(tmp_path / "other")]
    assert 'quality is "standard" there, "draft" asked for' in cli(*other, code=2).err


@pytest.mark.slow
def test_pages_say_what_rendered_the_images_and_the_audit_passes_them(tmp_path: Path) -> None:
    out = tmp_path / "whole"
    rendering = resolve_config(renderer="native", quality="draft").rendering
    assert isinstance(rendering, NativeSettings)
    make(out, rendering, sizes={"train": 18, "complex_iid": 9, "complex_ood": 1, "minimal_places": 1})
    by = "rendered by clevrhope's native renderer (quality draft)"
    assert by in html.unescape((out / "index.html").read_text())
    sheets = [out / "DATASHEET.md", out / "hops" / "rubber_cylinder" / "DATASHEET.md"]
    for sheet in sheets:
        text = sheet.read_text()
        assert "from the scenes by clevrhope's native renderer (quality draft)" in text
        assert "Blender, which renders images" not in text
    checks = {check.name: check for check in audit(out).checks}
    assert all(check.n_faults == 0 for check in checks.values())


PLAN = ("plan", "--hop", "none", "--splits", "val", "--test-questions", "9", "--seed", "1")
PLAN_NATIVE = (*PLAN, "--renderer", "native", "--quality", "draft")


@pytest.mark.slow
def test_plan_measures_with_the_renderer_that_was_chosen(tmp_path: Path, cli: Cli) -> None:
    arguments = [*PLAN_NATIVE, "--out", str(tmp_path / "none")]
    planned = json.loads(cli(*arguments, "--json").out)
    assert planned["rendering"]["renderer"] == "native"
    assert planned["seconds_per_image"] > 0
    assert planned["seconds"] > planned["seconds_per_image"]
    assert "an image with --renderer native --quality draft, measured now" in cli(*arguments).out
    assert not (tmp_path / "none").exists()


def _painted(*, look: object, settings: BlenderSettings, workers: int | None, folder: Path) -> Any:
    """In Blender's place, where only the choice of it matters."""
    from fake_renderer import FakeRenderer

    return FakeRenderer(settings=settings, workers=workers)
