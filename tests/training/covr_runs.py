"""What tests of COVR's splits share: a folder with questions about sets and true attributes."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from dataclasses import replace

from clevrhope.config.presets import PRESETS
from clevrhope.features.extraction import make_features
from clevrhope.pipeline import Request, build

HOP = "rubber_cylinder"
SIZE = 2000
PREDICATE = "compscope & has-quant-all"


def build_covr(out: Path, **changes: Any) -> Path:
    """A folder with a pair and none, without images."""
    config = PRESETS["demo"]
    sizes = replace(config.sizes, covr_train=SIZE, covr_dev=400, covr_test=400)
    config = replace(config, sizes=sizes, question_json=False)
    build(Request(out=out, hops=(HOP, "none"), config=config, seed=5, covr=True, render=False, **changes))
    make_features(out, kind="attributes")
    return out
