"""Folders with suites of paired tests, whose files the tests of the audit spoil."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from spoiling import SUITES, Arrays, Row, Spoilt

from clevrhope.config.presets import PRESETS
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import read_manifest
from clevrhope.describe.suites import measure_suites
from clevrhope.pipeline import Request, build
from clevrhope.pipeline.request import Limits
from clevrhope.pipeline.suites import make_suite

HOP = "rubber_cylinder"
IID, OOD = "complex_iid", "complex_ood"
MEASURED = f"hops/{HOP}/measured.json"
OF_SUITES = tuple(line for line in SUITES if line != "pair images")
"""The lines about suites, but for that about edited images, which these folders do not have."""


def with_suites(out: Path, *, hops: tuple[str, ...] = (HOP,), **changes: Any) -> Path:
    """A folder's test sets of whole scenes, all of the package's suites, and a train set with questions."""
    sizes = replace(PRESETS["demo"].sizes, train=60, complex_iid=450, complex_ood=250, test=150)
    limits = changes.pop("limits", Limits())
    config = replace(PRESETS["demo"], sizes=sizes, **changes)
    splits = ("train", IID, OOD, "test") if "none" in hops else ("train", IID, OOD)
    build(Request(out=out, hops=hops, splits=splits, config=config, limits=limits, seed=3, render=False))
    for suite in ("carets", "rad"):
        make_suite(out, suite)
    make_suite(out, "holdout", origin="search")
    make_suite(out, "rad", train=True)
    return out


class SpoiltSuite(Spoilt):
    """A folder with suites that may be written to; `file` is the stem of a suite's files on a split."""

    def test(self, name: str, file: str) -> int:
        with h5py.File(self.path(f"{file}.h5")) as opened:
            return list(opened.attrs["tests"]).index(name)

    def rows(self, change: Callable[[list[Row]], Any], file: str) -> None:
        self._rows(f"{file}_questions.json", "questions", change)

    def measure(self) -> None:
        """Makes measured.json say what the files hold."""
        layout = Layout(self.root)
        manifest = read_manifest(layout.manifest)
        assert manifest is not None
        suites = measure_suites(layout, manifest, HOP)
        self.measured(MEASURED, lambda raw: raw.update(suites=suites))

    def function(self, name: str) -> int:
        path = self.path(f"hops/{HOP}/suites/carets/vocab.json")
        return int(json.loads(path.read_text())["program_token_to_idx"][name])

    def answer(self, name: str) -> int:
        return self.vocab["answer_token_to_idx"][name]


Spoil = Callable[[SpoiltSuite, Arrays], Any]
"""A change of the arrays of one of the files."""

CARETS, RAD = (f"hops/{HOP}/suites/{suite}/{IID}" for suite in ("carets", "rad"))
RAD_OOD, HOLDOUT = (f"hops/{HOP}/suites/{suite}/{OOD}" for suite in ("rad", "holdout"))
HOLDOUT_IID = HOLDOUT.replace(OOD, IID)
ADDED = f"hops/{HOP}/suites/rad/train_rad"
"""A train set with questions of a suite, which are every 11th row."""


def without_pairs(arrays: Arrays, pairs: Any) -> None:
    """Leaves out pairs; the rest is numbered anew."""
    for name, values in arrays.items():
        kept = np.delete(values.reshape(-1, 2, *values.shape[1:]), pairs, axis=0)
        arrays[name] = kept.reshape(-1, *values.shape[1:])
    arrays["pair_idxs"] = np.repeat(np.arange(len(arrays["pair_idxs"]) // 2, dtype=np.int32), 2)
