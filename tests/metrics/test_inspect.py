"""Inspect's tasks give the numbers that `score` gives for the same replies."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from building import build_demo
from inspect_run import reply_to
from made_folder import write_lines

from clevrhope.errors import ConfigError
from clevrhope.metrics import Results, score
from clevrhope.metrics.covr import score_covr
from clevrhope.metrics.request_files import read_requests, write_answers, write_requests
from wording import refused

pytest.importorskip("inspect_ai", reason="needs inspect-ai: pip install 'clevrhope[inspect]'")

HOP = "rubber_cylinder"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("inspect") / "data"
    build_demo(out, covr=True, images="h5")
    return out


def metrics_of(task: str, folder: Path, tmp_path: Path) -> dict[str, dict[str, float]]:
    """The metrics of each scorer; in another process, since Inspect leaves streams open."""
    command = [sys.executable, "-m", "inspect_run", task, str(folder), str(tmp_path / "logs")]
    run = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, dict[str, float]] = json.loads(run.stdout.splitlines()[-1])
    return found


def predictions(folder: Path, tmp_path: Path, splits: list[str]) -> Path:
    requests, replies, out = (tmp_path / f"{name}.jsonl" for name in ("requests", "replies", "predictions"))
    write_requests(folder, requests, splits=splits, seed=1)
    rows = list(read_requests(requests))
    write_lines(replies, [{"id": row["id"], "reply": reply_to(row["question"])} for row in rows])
    write_answers(replies, requests, out, model="made-up")
    return out


def accuracies(results: Results) -> dict[str, float]:
    """Accuracy from 0 to 1 by pair and test set."""
    return {
        f"{each.hop}/{split}": accuracy / 100
        for each in results.conditions
        for split, accuracy in each.accuracies.items()
        if accuracy is not None and split not in each.gaps
    }


def test_points_gaps_and_unread_are_those_of_score(folder: Path, tmp_path: Path) -> None:
    metrics = metrics_of("clevrhope/hope", folder, tmp_path)
    correct, unread = metrics["correct"], metrics["unread"]
    results = score(folder, predictions(folder, tmp_path, []), seed=1, bootstrap=0)
    known = accuracies(results)
    assert len(known) == 4
    assert {name: correct[name] for name in known} == pytest.approx(known, abs=1e-12)
    assert all(0 < correct[f"{name}_stderr"] < 0.5 for name in known)
    (condition,) = results.conditions
    for kind in ("complex", "minimal"):
        gap = known[f"{HOP}/{kind}_ood"] - known[f"{HOP}/{kind}_iid"]
        assert correct[f"{kind}_gap"] == pytest.approx(gap, abs=1e-12)
    for split, scores in condition.splits.items():
        assert scores.unread is not None
        assert unread[f"{HOP}/{split}"] * 100 == pytest.approx(scores.unread.share)


def test_questions_about_several_images_have_the_points_of_score(folder: Path, tmp_path: Path) -> None:
    correct = metrics_of("clevrhope/covr", folder, tmp_path)["correct"]
    answered = predictions(folder, tmp_path, ["covr_test"])
    results = score_covr(folder, [answered], seed=1, bootstrap=0, partial=True)
    known = accuracies(results)
    assert known
    assert {name: correct[name] for name in known} == pytest.approx(known, abs=1e-12)


def test_a_part_is_drawn_with_a_seed(folder: Path) -> None:
    from clevrhope.inspect_tasks import hope

    task = hope(str(folder), split="complex_iid,complex_ood", limit=5, seed=1)
    splits = [(each.metadata or {})["split"] for each in task.dataset]
    assert splits == ["complex_iid"] * 5 + ["complex_ood"] * 5
    with refused(ConfigError):
        hope(str(folder), limit=5)
