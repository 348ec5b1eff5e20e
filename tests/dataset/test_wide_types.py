"""Question files whose columns another program has written again, in wider types or another byte order."""

import json
import shutil
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import h5py
import numpy as np
import pytest
from building import build_demo

from clevrhope.audit import audit
from clevrhope.dataset.split_files import SplitArrays
from clevrhope.errors import DatasetError
from clevrhope.pipeline.suites import make_suite
from clevrhope.runtime.atomic import record

HOP = "rubber_cylinder"


def write_as(path: Path, dtype: str, *, row: int | None = None) -> None:
    """Writes the integer arrays of a file as another type; with a row, its answer does not fit in int32."""
    with h5py.File(path, "r+") as file:
        for name in list(file):
            numbers = file[name][:].astype(dtype)
            if name == "answers" and row is not None:
                numbers[row] = 1 << 40
            del file[name]
            file[name] = numbers


@pytest.mark.parametrize("dtype", ["int64", ">i4"])
def test_wider_types_are_read(dtype: str, tmp_path: Path) -> None:
    out = tmp_path / "data"
    build_demo(out)
    paths = sorted((out / "hops" / HOP).glob("*.h5"))
    copies = [Path(shutil.copy(path, tmp_path)) for path in paths]
    for path, copy in zip(paths, copies, strict=True):
        write_as(path, dtype)
        with closing(SplitArrays(path)) as again, closing(SplitArrays(copy)) as before:
            assert again.tokens("programs", 0, 5).dtype == np.int32
            np.testing.assert_array_equal(again.columns["answers"], before.columns["answers"])
    raw = json.loads((out / "manifest.json").read_text())
    for path in paths:
        raw["files"][path.relative_to(out).as_posix()] = asdict(record(path))
    (out / "manifest.json").write_text(json.dumps(raw))
    make_suite(out, "rad")
    faults = [str(each) for line in audit(out).checks if line.name != "images" for each in line.faults]
    assert faults == []
    write_as(copies[0], "int64", row=1)
    with pytest.raises(DatasetError, match="answers holds 1099511627776, which is not an int32"):
        SplitArrays(copies[0])
