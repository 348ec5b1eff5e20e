"""Runs as tasks of a Ray cluster on this machine: what comes of them, where their paths are meant from."""

from pathlib import Path

import pytest

from clevrhope.experiments.plan import Chain, Step
from clevrhope.experiments.ray_engine import run_on_ray

pytest.importorskip("ray", reason="Ray is not installed: pip install clevrhope[ray]")


def step(name: str, *arguments: str, made: str) -> Step:
    return Step(name, arguments, Path(made), Path("done", f"{name}.json"), Path("logs", f"{name}.log"))


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_chains_run_where_they_are_meant_to_and_one_failure_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good = Chain("good", (step("hops", "hops", made="logs/hops.log"),))
    bad = Chain("bad", (step("none", "score", "nowhere", "nothing.jsonl", made="logs"), good.steps[0]))
    ended = {
        chain.name: failure for chain, failure in run_on_ray([good, bad], address="local", threads=1, a_gpu=1)
    }
    assert ended["good"] is None
    assert good.done
    assert "rubber_cylinder" in (tmp_path / "logs" / "hops.log").read_text()
    failure = ended["bad"]
    assert failure is not None
    assert failure.step == "none"
    assert "nowhere: no dataset of clevrhope" in failure.said
    assert not bad.steps[0].done
