"""Edited images pass the audit at every size: it compares what the edit did, not how that looks."""

from dataclasses import replace
from pathlib import Path

import pytest
from spoiling import failed

from clevrhope.audit import audit
from clevrhope.config.presets import PRESETS
from clevrhope.images.settings import NativeSettings
from clevrhope.pipeline import Request, build
from clevrhope.pipeline.visual.suite import make_visual_suite

IID, OOD = "complex_iid", "complex_ood"


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
