"""Files of the official size: 29 pairs, 20.9 million questions, opened without reading them."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.slow

SIZES = {
    "train": 567_000,
    "test_complex_iid": 121_500,
    "test_complex_ood": 15_000,
    "test_minimal_iid": 11_970,
    "test_minimal_ood": 3_840,
}

OPEN = """
import re, sys
from pathlib import Path
from clevrhope.scenes import read_world
from clevrhope.sources import find_source
splits = find_source(Path(sys.argv[1]), read_world().vocabulary).splits
peak = re.search("VmHWM: *([0-9]+) kB", Path("/proc/self/status").read_text().replace("\\t", " "))[1]
print(len(splits), sum(split.n_questions for split in splits), peak)
"""


def test_all_of_it_is_opened_in_little_memory(tmp_path: Path) -> None:
    """A hundred questions a row group, as published tables have; the same file under all names."""
    image = pa.array(
        [{"bytes": b"x", "path": None}] * 100, pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    )
    part = pa.table(
        {"idx": range(100), "query": ["Is there a cube?"] * 100, "answer": ["no"] * 100, "image": image}
    )
    table = pa.concat_tables([part] * 5_670)
    first = tmp_path / "HOP00"
    for number in range(29):
        folder = tmp_path / f"HOP{number:02}"
        folder.mkdir()
        for name, n in SIZES.items():
            path = folder / f"{name}-00000-of-00001.parquet"
            if number:
                os.link(first / path.name, path)
            else:
                pq.write_table(table.slice(0, n), path, row_group_size=100)
    run = [sys.executable, "-c", OPEN, str(tmp_path)]
    opened = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    n_splits, n_questions, peak_kb = map(int, opened)
    assert (n_splits, n_questions) == (29 * 5, 29 * sum(SIZES.values()))
    assert peak_kb < 300_000
