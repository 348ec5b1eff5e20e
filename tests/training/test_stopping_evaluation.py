"""An evaluation that is stopped leaves nothing half-written, and ends as it should."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")

from short_runs import Train

from clevrhope.training.evaluation import evaluate

pytestmark = pytest.mark.slow

COMMAND = "import sys; from clevrhope.__main__ import run_command; sys.exit(run_command(sys.argv[1:]))"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_evaluation_leaves_no_file(number: int, run: Train, tmp_path: Path) -> None:
    run(model="tiny_models:Dawdles", size=40, updates=2)
    begun = tmp_path / "begun"
    here = str(Path(__file__).parent)
    environment = {
        **os.environ,
        **{"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([here, *sys.path])},
        "DAWDLES_AT": str(begun),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "evaluate", str(tmp_path / "run"), "--device", "cpu", "--quiet"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not begun.exists():
        assert process.poll() is None, "it ended before it was stopped"
        time.sleep(0.01)
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told.strip()) == (130, "clevrhope: stopped")
    left = tmp_path / "run/predictions"
    assert not left.is_dir() or not list(left.glob("[!.]*"))
    assert len(evaluate(tmp_path / "run", device="cpu")) == 1
