"""Killed, stopped, out of space: started again, the folder has the bytes of a run that was never stopped."""

import json
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from building import Cli, Make, command, request, tree
from fake_renderer import FakeRenderer

from clevrhope.dataset.image_store import stored_images
from clevrhope.dataset.layout import Layout
from clevrhope.describe.info.overview import Overview
from clevrhope.errors import RenderError
from clevrhope.images.blender.pool import ScenesFailedError
from clevrhope.images.renderer import Pixels, Scene
from clevrhope.pipeline import build
from clevrhope.pipeline.engine import Engine
from clevrhope.pipeline.text import write_vocabularies
from waiting import wait_until
from wording import refused

BUILD = ("build", "--hop", "rubber_cylinder", "--preset", "demo", "--seed", "5", "--quiet")


@pytest.mark.parametrize(
    "rendering",
    [
        (),
        ("--images", "h5"),
        ("--no-render",),
        ("--no-render", "--strictness", "implied"),
        ("--no-render", "--covr"),
        ("--no-render", "--splits", "complex_iid", "--nonce", "90"),
        ("--renderer", "native", "--quality", "draft", "--splits", "complex_ood", "--passes", "mask,depth"),
    ],
    ids=["rendered", "h5", "no-render", "implied", "covr", "nonce", "native with passes"],
)
@pytest.mark.slow
def test_killed_at_any_point_and_resumed_equals_uninterrupted(
    tmp_path: Path, rendering: tuple[str, ...]
) -> None:
    began = time.monotonic()
    whole = command(*BUILD, *rendering, "--out", tmp_path / "whole", delay_s=0.01)
    _, errors = whole.communicate()
    assert whole.returncode == 0, errors
    lasted_s = time.monotonic() - began

    chance = random.Random(20)
    n_killed = 0
    while n_killed < 3:
        running = command(*BUILD, *rendering, "--out", tmp_path / "killed", delay_s=0.01)
        try:
            _, errors = running.communicate(timeout=chance.uniform(0.1, 1.0) * lasted_s)
        except subprocess.TimeoutExpired:
            running.kill()
            running.communicate()
            n_killed += 1
            continue
        assert running.returncode == 0, errors
        # Done before it could be killed: once more from nothing, and sooner.
        shutil.rmtree(tmp_path / "killed")
        lasted_s *= 0.7
    last = command(*BUILD, *rendering, "--out", tmp_path / "killed")
    _, errors = last.communicate()
    assert last.returncode == 0, errors
    assert tree(tmp_path / "killed") == tree(tmp_path / "whole")


def test_a_failing_renderer_leaves_what_is_finished(tmp_path: Path, make: Make) -> None:
    with refused(RenderError):
        build(
            request(tmp_path / "failed"),
            make_renderer=lambda settings, workers: FakeRenderer(settings=settings, fails_on=7),
        )
    assert len(list((tmp_path / "failed" / "images").rglob("*.png"))) == 7
    make(tmp_path / "failed")
    make(tmp_path / "whole")
    assert tree(tmp_path / "failed") == tree(tmp_path / "whole")


def first_file_written(layout: Layout, engine: Engine, *, of_sets: bool) -> None:
    write_vocabularies(layout, engine, of_sets=of_sets)
    signal.raise_signal(signal.SIGINT)


class Interrupted(FakeRenderer):
    """Renders seven images before somebody presses Ctrl-C."""

    def render(self, scenes: Iterable[tuple[Any, Scene]]) -> Iterator[tuple[Any, Pixels]]:
        for number, image in enumerate(super().render(scenes)):
            if number == 7:
                signal.raise_signal(signal.SIGINT)
            yield image


def test_stopped_by_ctrl_c_and_started_again_equals_uninterrupted(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after its first file, and among its images."""
    out = tmp_path / "stopped"
    with monkeypatch.context() as patched:
        patched.setattr("clevrhope.pipeline.run.write_vocabularies", first_file_written)
        with pytest.raises(KeyboardInterrupt):
            make(out)
    with pytest.raises(KeyboardInterrupt):
        build(request(out), make_renderer=lambda settings, workers: Interrupted(settings=settings, workers=1))
    assert len(list((out / "images").rglob("*.png"))) == 7
    make(out)
    make(tmp_path / "whole")
    assert tree(out) == tree(tmp_path / "whole")


@pytest.mark.slow
def test_killed_while_images_are_rendered_into_hdf5_and_resumed(tmp_path: Path, make: Make) -> None:
    out = tmp_path / "killed"
    n_waiting = 0
    for _ in range(2):
        running = command(*BUILD, "--images", "h5", "--out", out, delay_s=0.05, hangs_after=25)
        wait_until(lambda n=n_waiting: len(waiting(out)) >= n + 20, "20 images are rendered")
        running.kill()
        running.communicate()
        n_waiting = len(waiting(out))
    with waiting(out)[-1][0].open("r+b") as file:
        file.truncate(file.seek(0, 2) - 10)
    made = make(out, images="h5")
    whole = make(tmp_path / "whole", images="h5")
    assert made.n_rendered == whole.n_rendered - n_waiting + 1
    assert tree(out) == tree(tmp_path / "whole")


def waiting(out: Path) -> list[tuple[Path, int]]:
    """The images of all pools that wait to be packed."""
    stores = out.glob("images/.clevrhope-*")
    return [(store, index) for store in stores for index in stored_images(store).tolist()]


@pytest.mark.slow
def test_images_that_wait_and_png_files_are_taken_together(tmp_path: Path, make: Make) -> None:
    out = tmp_path / "out"
    for form in ("h5", "png"):
        with refused(RenderError):
            build(
                request(out, images=form),
                make_renderer=lambda settings, workers: FakeRenderer(settings=settings, fails_on=20),
            )
    assert len(waiting(out)) == len(list(out.glob("images/*/*.png"))) == 20
    assert Overview(out).n_waiting == 40
    made = make(out, images="both")
    whole = make(tmp_path / "whole", images="both")
    assert made.n_rendered == whole.n_rendered - 40
    assert tree(out) == tree(tmp_path / "whole")


class SetsAside(FakeRenderer):
    """Gives no image of the first scene of each pool, as Blender does that died over it three times."""

    def render(self, scenes: Iterable[tuple[Any, Scene]]) -> Iterator[tuple[Any, Pixels]]:
        tasks = list(scenes)
        first = {path.parent: path for path, _ in reversed(tasks)}
        yield from super().render((path, scene) for path, scene in tasks if path not in first.values())
        why = "3 workers in turn ended over it, the last one because it died"
        raise ScenesFailedError(dict.fromkeys(first.values(), why))


@pytest.mark.slow
def test_a_scene_that_gave_no_image_is_told_at_the_end_and_tried_again(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr("clevrhope.images.blender.cycles.CyclesRenderer", SetsAside)
    out = tmp_path / "out"
    told = cli(*BUILD, "--out", out, code=1).err
    make(tmp_path / "whole")
    pools = sorted(path.name for path in (tmp_path / "whole" / "images").iterdir() if path.is_dir())
    missing = [min((tmp_path / "whole" / "images" / pool).iterdir()).name for pool in pools]
    assert len(pools) > 1
    assert told.count("\n") == 1
    assert all(str(out / "images" / pool / name) in told for pool, name in zip(pools, missing, strict=True))
    assert "3 workers in turn ended over it" in told
    assert told.endswith("all others are done, and the same command tries again\n")
    # All others are there, of every pool; and nothing looks finished.
    assert tree(out / "images") == {
        name: each
        for name, each in tree(tmp_path / "whole" / "images").items()
        if name.endswith(".png") and Path(name).name not in missing
    }
    assert json.loads((out / "manifest.json").read_text())["complete"] is False
    make(out)
    assert tree(out) == tree(tmp_path / "whole")


@pytest.mark.slow
def test_a_second_run_is_told_which_one_holds_the_folder(tmp_path: Path, cli: Cli) -> None:
    running = command(*BUILD, "--out", tmp_path, hangs_after=1)
    wait_until((tmp_path / "images").is_dir, "rendering begins")
    told = cli(*BUILD, "--no-render", "--out", tmp_path, code=1).err
    running.kill()
    running.communicate()
    assert told.startswith(f"clevrhope: {tmp_path}: another run is writing here (process {running.pid} on ")
    assert told.endswith("wait for it, or choose another --out\n")
    cli(*BUILD, "--no-render", "--out", tmp_path)
