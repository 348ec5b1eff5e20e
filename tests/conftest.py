"""What all tests share: where real CLEVR files are, and how hypothesis runs."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from syrupy.assertion import SnapshotAssertion

from wording import REPOSITORY, snapshots_of

# A loaded machine is slow, not wrong; and a failure must come again in the next run.
settings.register_profile(
    "clevrhope",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)
settings.load_profile("clevrhope")

# A shell starts a background job with Ctrl-C ignored, and what such a job starts inherits that: the programs
# that these tests interrupt would not notice. A handler, of which they inherit nothing, undoes it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Small models are fastest on one thread, the more so beside other tests. What tests start inherits this.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Tables and help are as wide as in a terminal of 80 columns, wherever tests run.
os.environ["COLUMNS"] = "80"

# Blender is the one beside these tests, whatever else this user has installed.
os.environ.pop("CLEVRHOPE_BLENDER_PYTHON", None)


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of real CLEVR files, which are not part of the project (see CONTRIBUTING.md)."""
    folder = Path(os.environ.get("CLEVRHOPE_TEST_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs real CLEVR files: no folder {folder} (set CLEVRHOPE_TEST_DATA)")
    return folder


@pytest.fixture(autouse=True)
def _snapshots(snapshot: SnapshotAssertion, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """`wording.refused` compares with the snapshots of the test that uses it."""
    with snapshots_of(snapshot, tmp_path_factory.getbasetemp()):
        yield
