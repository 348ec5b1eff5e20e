"""An evaluation that is stopped leaves nothing half-written, and ends as it should."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from short_runs import Train

from clevrhope.training.evaluation import evaluate
from waiting import HANG_S, wait_until

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
    wait_until(lambda: begun.exists() or process.poll() is not None, "the evaluation begins")
    process.send_signal(number)
    _, told = process.communicate(timeout=HANG_S)
    assert (process.returncode, told.strip()) == (130, "clevrhope: stopped")
    left = tmp_path / "run/predictions"
    assert not left.is_dir() or not list(left.glob("[!.]*"))
    assert len(evaluate(tmp_path / "run", device="cpu")) == 1
