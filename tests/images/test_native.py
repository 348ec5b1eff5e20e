"""Images of the native renderer against those of Cycles; scenes that it cannot show."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from copy import deepcopy

import numpy as np
import pytest

from benchmarks.reference_images import REFERENCE_FOLDER, psnr, reference_image, reference_scenes
from clevrhope.errors import SceneError
from clevrhope.images.native import NativeRenderer
from clevrhope.images.passes import from_bytes, to_bytes
from clevrhope.images.png import encode_png, read_png
from clevrhope.images.settings import NATIVE_REVISION
from clevrhope.look.definition import Look, read_look
from wording import check_refused


def test_more_effort_comes_closer():
    scene = reference_scenes()[3]
    found = []
    for quality in ("draft", "standard", "high"):
        [(_, image)] = NativeRenderer(quality=quality).render([(0, scene)])
        found.append(psnr(image, read_png(reference_image(3))))
    assert found[0] + 1.0 < found[1] < found[2] - 1.0


def test_threads_do_not_show():
    program = """
import sys
import threading
import time
from clevrhope.images.native import NativeRenderer
from clevrhope.images.passes import to_bytes
from benchmarks.reference_images import REFERENCE_FOLDER, reference_scenes
from clevrhope.look.definition import read_look
for name, properties in (("look", None), ("look_meshes", "properties.json")):
    folder = REFERENCE_FOLDER.parent / name
    look = read_look(properties=properties and folder / properties)
    renderer, scene = NativeRenderer(look=look, width=96, height=64), (0, reference_scenes(folder)[6])
    [(_, image)], [(_, passes)] = renderer.render([scene]), renderer.passes([scene])
    sys.stdout.buffer.write(image.tobytes() + to_bytes(passes).tobytes())
"""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={"RAYON_NUM_THREADS": str(threads), "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for threads in (1, 3)
    ]
    assert len(outputs[0]) > 2 * 96 * 64 * (3 + 11)
    assert outputs[0] == outputs[1]


def test_images_are_those_of_their_revision():
    """On every machine; a change of images that is meant raises `NATIVE_REVISION` and keeps an image anew."""
    drawn = [
        image
        for quality in ("draft", "standard", "high")
        for _, image in NativeRenderer(width=120, height=80, quality=quality).render(
            [(0, reference_scenes()[2])]
        )
    ]
    kept = read_png(REFERENCE_FOLDER.parent / "native" / f"revision_{NATIVE_REVISION}.png")
    assert np.array_equal(np.concatenate(drawn), kept)


def test_a_scene_without_objects_is_ground_alone():
    scene = {**deepcopy(dict(reference_scenes()[0])), "objects": []}
    renderer = NativeRenderer(width=48, height=32)
    [(_, image)], [(_, passes)] = renderer.render([(0, scene)]), renderer.passes([(0, scene)])
    assert 60 < image.mean() < 200
    # Grey, and no edges: neighbours differ by a few steps of 255.
    assert np.abs(np.diff(image.astype(int), axis=1)).max() <= 8
    assert (passes.mask == 255).all()
    assert passes.boxes.shape == from_bytes(to_bytes(passes)).boxes.shape == (0, 4)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["render", "passes"])
def test_a_stop_ends_the_images_under_way(what):
    """They are in threads, where signals do not arrive, and take half a minute and more."""
    scenes = enumerate([{"objects": []}] * 9)
    renderer = NativeRenderer(width=4800, height=3200, quality="high", workers=2)
    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(getattr(renderer, what)(scenes))
    assert time.monotonic() - began < 8.0


def test_what_has_no_formula_is_named():
    look = read_look()
    data = deepcopy(dict(look.look))
    data["shapes"]["pyramid"] = {"kind": "polyhedron", "shading": "flat", "vertices": [], "faces": []}
    check_refused(SceneError, NativeRenderer, look=Look(data, look.properties))
    data = json.loads(json.dumps(look.look))
    data["shapes"]["cube"]["edge_exponent"] = 2.0
    check_refused(SceneError, NativeRenderer, look=Look(data, look.properties))


def test_png_files_hold_their_pixels_and_always_the_same_bytes(tmp_path):
    pixels = read_png(reference_image(5))
    for image in (pixels, pixels[::-1, 3:40], np.zeros((1, 1, 3), np.uint8)):
        (tmp_path / "a.png").write_bytes(encode_png(image))
        assert np.array_equal(read_png(tmp_path / "a.png"), image)
        assert encode_png(image.copy()) == (tmp_path / "a.png").read_bytes()
    for none in (np.zeros((4, 4, 4), np.uint8), np.zeros((0, 4, 3), np.uint8)):
        with pytest.raises(ValueError, match=r"shape|width|height|size"):
            encode_png(none)
