"""Runs as tasks of a Ray cluster on this machine: what comes of them, where their paths are meant from."""

from pathlib import Path

import pytest

from clevrhope.experiments.engines import _task_resources, run_on_ray
from clevrhope.experiments.plan import Chain, Step

pytestmark = pytest.mark.slow

pytest.importorskip("ray", reason="Ray is not installed: pip install clevrhope[ray]")


def step(name: str, *arguments: str, made: str) -> Step:
    return Step(name, arguments, Path(made), Path("done", f"{name}.json"), Path("logs", f"{name}.log"))


@pytest.mark.parametrize(
    ("nodes", "asked"),
    [
        ([{"CPU": 4.0}, {"CPU": 16.0}], (16, 0)),
        ([{"CPU": 64.0, "memory": 1.0}, {"CPU": 8.0, "GPU": 4.0}], (8, 0.5)),
        ([{"CPU": 64.0, "GPU": 1.0}], (20, 0.5)),
        ([], (1, 0)),
    ],
)
def test_a_task_asks_for_no_more_than_a_machine_has(
    nodes: list[dict[str, float]], asked: tuple[int, float]
) -> None:
    assert _task_resources(nodes, 20, 2) == asked


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_chains_run_where_they_are_meant_to_and_one_failure_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good = Chain("good", (step("hops", "hops", made="logs/hops.log"),))
    bad = Chain("bad", (step("none", "score", "nowhere", "nothing.jsonl", made="logs"), good.steps[0]))
    ended = list(run_on_ray([good, bad], address="local", threads=1000, per_gpu=1))
    assert good.done
    assert "rubber_cylinder" in (tmp_path / "logs" / "hops.log").read_text()
    (failure,) = filter(None, ended)
    assert len(ended) == 2
    assert failure.step == "none"
    assert "nowhere: no such folder" in failure.message
    assert not bad.steps[0].done
