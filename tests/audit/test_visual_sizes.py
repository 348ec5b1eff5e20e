"""Edited images pass the audit at every size: it compares what the edit did, not how that looks."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from spoiling import failed

from clevrhope.audit import audit
from clevrhope.audit.suites import visual
from clevrhope.config.presets import PRESETS
from clevrhope.images.pixel_edits import SIGMAS, blurred, filled
from clevrhope.images.settings import NativeSettings
from clevrhope.pipeline import Request, build
from clevrhope.pipeline.visual.suite import make_visual_suite

IID, OOD = "complex_iid", "complex_ood"


@pytest.mark.parametrize("width", [*range(16, 300, 7), 480, 640])
def test_the_audit_knows_how_far_an_edit_reaches_and_how_it_blurs(width: int) -> None:
    height = max(12, width * 2 // 3)
    image = np.random.default_rng(width).integers(0, 256, (height, width, 3)).astype(np.uint8)
    mask = np.zeros((height, width), bool)
    mask[height // 3 : height // 2, width // 4 : width // 2] = True
    none = np.zeros_like(mask)
    far = visual._far_from(mask)
    kept = filled(image, mask, none, rgb=(1, 2, 3))
    assert np.array_equal(kept[mask], image[mask])
    assert (kept[far] == (1, 2, 3)).all()
    for share in SIGMAS.values():
        soft = blurred(image, mask, none, sigma_px=share * width)[:: visual.EVERY].astype(float)
        apart = np.abs(soft - visual._blurred(image, share * width))[far[:: visual.EVERY]]
        assert apart.max(initial=0) < visual.MOST_APART


@pytest.mark.parametrize(
    "size",
    [
        (60, 40),
        pytest.param((48, 32), marks=pytest.mark.slow),
        pytest.param((40, 60), marks=pytest.mark.slow),
    ],
)
def test_a_small_folder_passes(size: tuple[int, int], tmp_path: Path) -> None:
    sizes = replace(PRESETS["demo"].sizes, train=27, complex_iid=27, complex_ood=3)
    rendering = NativeSettings(width=size[0], height=size[1], quality="draft")
    config = replace(PRESETS["demo"], sizes=sizes, rendering=rendering)
    build(Request(out=tmp_path, hops=("rubber_cylinder",), splits=("train", IID, OOD), config=config, seed=7))
    make_visual_suite(tmp_path, 9)
    report = audit(tmp_path)
    assert not failed(report), [str(fault) for each in report.checks for fault in each.faults]
    assert {each.name: each for each in report.checks}["pair images"].n_checked > 40
