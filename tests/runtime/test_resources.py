"""Memory that a job of a cluster may use."""

from pathlib import Path

import pytest

from clevrhope.runtime.resources import available_bytes


def test_the_memory_of_a_job_is_its_own_and_not_the_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits as Linux writes them, of both versions; what is around a group limits it too."""
    monkeypatch.setattr("clevrhope.runtime.resources.CGROUPS", tmp_path)
    monkeypatch.setattr("clevrhope.runtime.resources.CGROUPS_OF_THIS_PROCESS", tmp_path / "own")
    (tmp_path / "own").write_text("4:memory:/absent\n0::/slurm/job_7/step_0\n")
    step = tmp_path / "slurm" / "job_7" / "step_0"
    step.mkdir(parents=True)
    (step / "memory.max").write_text("max\n")
    whole = available_bytes()
    assert whole > 1 << 28
    (step.parent / "memory.max").write_text(f"{1 << 28}\n")
    assert available_bytes() == 1 << 28
    (tmp_path / "own").write_text("4:cpu,memory:/job\n")
    (tmp_path / "memory" / "job").mkdir(parents=True)
    assert available_bytes() == whole
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text(f"{1 << 27}\n")
    assert available_bytes() == 1 << 27
