"""Small files that claim to be large, or would take long: each is refused early, with little memory."""

import json
import os
import resource
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest

from clevrhope.dataset.hdf5 import Array, Schema, reading_hdf5
from clevrhope.errors import ConfigError, DatasetError, PredictionsError
from clevrhope.metrics.predictions import read_predictions
from clevrhope.splits.palettes import file_palette_name
from growth import MOST_GROWTH, growth
from waiting import HANG_S
from wording import check_refused, refused


def test_a_compressed_torch_file(tmp_path: Path) -> None:
    weights = pytest.importorskip("clevrhope.features.weights")
    path = tmp_path / "weights.pth"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\0" * (1 << 26))
    check_refused(ConfigError, weights.read_weights, path, what="weights")


@pytest.mark.slow
def test_a_parquet_file_of_one_repeated_row(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    n = 1 << 24
    row = {"hop": "none", "split": "test", "question_index": 0, "answer": "yes"}
    table = pa.table({name: pa.repeat(pa.scalar(each), n).dictionary_encode() for name, each in row.items()})
    path = tmp_path / "p.parquet"
    pq.write_table(table, path, row_group_size=n)
    assert path.stat().st_size < 1 << 20
    check_refused(PredictionsError, next, iter(read_predictions(path)))


@pytest.mark.parametrize(
    "text",
    [
        "- a\n" * 100,
        "a: &a [1]\nb: [*a, *a]",
        "ROI_HEADS: 3",
        "ANCHOR_GENERATOR: {SIZES: [[a]]}",
        "ROI_HEADS: {NMS_THRESH_TEST: x}",
    ],
)
def test_settings_in_yaml_that_are_none(tmp_path: Path, text: str) -> None:
    checkpoint = pytest.importorskip("clevrhope.features.frcnn")
    network = pytest.importorskip("clevrhope.features.frcnn_network")
    path = tmp_path / "config.yaml"
    path.write_text(text)
    check_refused(ConfigError, checkpoint.read_config, path, network.FrcnnConfig())


@pytest.mark.slow
def test_settings_in_yaml_take_no_quadratic_time(tmp_path: Path) -> None:
    checkpoint = pytest.importorskip("clevrhope.features.frcnn")
    network = pytest.importorskip("clevrhope.features.frcnn_network")
    path = tmp_path / "config.yaml"

    def refuse(n: int) -> None:
        path.write_text("- a\n" * n)
        check_refused(ConfigError, checkpoint.read_config, path, network.FrcnnConfig())

    assert growth(refuse) < MOST_GROWTH


@pytest.mark.slow
def test_a_column_of_more_rows_than_memory_holds(tmp_path: Path) -> None:
    """They compress well, so that what is stored could be all of them."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        rows = file.create_dataset(
            "rows", shape=(1 << 28,), dtype="i4", chunks=(1 << 22,), compression="gzip"
        )
        block = np.zeros(1 << 22, dtype=np.int32)
        for k in range(1 << 6):
            rows[k << 22 : (k + 1) << 22] = block
    schema = Schema("a file of rows", {"rows": Array("i")})
    with refused(DatasetError), reading_hdf5(path, schema):
        pass


def test_a_whole_file_that_cannot_be_opened_is_not_to_be_removed(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["rows"] = [1, 2]
    schema = Schema("a file of rows", {"rows": Array("i")})
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    try:
        with refused(DatasetError), reading_hdf5(path, schema):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_palette_with_a_long_name_is_refused_early(tmp_path: Path) -> None:
    check_refused(ConfigError, file_palette_name, tmp_path / f"{'a' * 190}.json")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["stats {0}", "audit {0}", "answers {1} --requests {1} --out {2}"])
def test_pipes_are_not_waited_for(tmp_path: Path, command: str) -> None:
    """In place of a shard of scenes, of a split, of its measurements, and of requests."""
    folder = tmp_path / "data"
    kept = Path(__file__).parents[1] / "data" / "kept_folder"
    subprocess.run(["cp", "-r", str(kept), str(folder)], check=True)
    hop = folder / "hops" / "rubber_cylinder"
    for path in (folder / "scenes/train/0000.json", hop / "train.h5", hop / "measured.json"):
        path.unlink()
        os.mkfifo(path)
    os.mkfifo(tmp_path / "pipe")
    code = "import sys; from clevrhope.__main__ import run_command; sys.exit(run_command(sys.argv[1:]))"
    words = command.format(folder, tmp_path / "pipe", tmp_path / "out.jsonl").split()
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=HANG_S
    )
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_name_that_is_no_text_in_utf_8(tmp_path: Path) -> None:
    script = """
        import sys
        from clevrhope.__main__ import run_command
        sys.exit(run_command(["render", sys.argv[1], "--renderer", "native", "--out", sys.argv[2]]))
    """
    name = os.fsencode(tmp_path) + b"/\xff.json"
    Path(os.fsdecode(name)).write_text(json.dumps({"scenes": []}))
    command = [sys.executable, "-c", textwrap.dedent(script), os.fsdecode(name), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
