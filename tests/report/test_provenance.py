"""Where numbers come from: provenance.json beside results.csv, and what may be published of an experiment."""

import json
import subprocess
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from building import Cli
from experiment_grid import plan_of
from simulated import HOP, trained, write_predictions, write_run

import clevrhope.report
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.experiments.plan import Plan
from clevrhope.experiments.publication import publish
from clevrhope.report import report
from clevrhope.runtime.made_with import checkout, made_with
from wording import check_refused, refused

MADE_WITH = {"clevrhope": "0.1.0", "torch": "2.9", "processor": "a processor", "instructions": "AVX2"}


def test_a_report_says_which_data_and_versions_its_numbers_come_from(dataset: Path, tmp_path: Path) -> None:
    for seed, threads in ((1, 1), (2, 1), (3, 4)):
        run = {**trained(), "threads": threads, "made_with": MADE_WITH, "precision": "float32"}
        write_run(
            tmp_path,
            dataset,
            model="film",
            hop=HOP,
            size=200,
            seed=seed,
            wrong={"complex_ood": 0.5},
            trained=run,
        )
    file = write_predictions(tmp_path / "theirs.jsonl", dataset, HOP, {})
    made = report([tmp_path], tmp_path / "out", dataset=dataset)
    found = json.loads(made.provenance.read_text())
    assert found["results_sha256"] == sha256(made.csv.read_bytes()).hexdigest()
    assert found["report"] == made_with()
    assert {each["threads"]: each["n"] for each in found["runs"]} == {1: 2, 4: 1}
    assert all(each["made_with"] == MADE_WITH for each in found["runs"])
    manifest = sha256((dataset / "manifest.json").read_bytes()).hexdigest()
    (of_dataset,) = found["datasets"]
    assert (of_dataset["folder"], of_dataset["manifest_sha256"]) == ("data", manifest)
    assert found["files"] == {}
    with_file = report([tmp_path, f"theirs={file}"], tmp_path / "more", dataset=dataset)
    digest = sha256(file.read_bytes()).hexdigest()
    assert json.loads(with_file.provenance.read_text())["files"] == {"theirs.jsonl": digest}


def test_a_checkout_has_a_commit_and_says_whether_its_code_was_changed(tmp_path: Path) -> None:
    assert checkout(tmp_path) == {}

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    (tmp_path / "python").mkdir()
    (tmp_path / "python/code.py").write_text("one")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    commit = git("rev-parse", "HEAD")
    (tmp_path / "README").write_text("documents may change")
    assert checkout(tmp_path) == {"commit": commit, "changed": False}
    (tmp_path / "python/code.py").write_text("two")
    assert checkout(tmp_path) == {"commit": commit, "changed": True}
    (tmp_path / ".git/HEAD").write_text("damaged")
    assert checkout(tmp_path) == {}


@pytest.fixture
def reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the report of an experiment is; tests change it."""
    content = {"report": {**MADE_WITH}, "runs": [{"n": 12, "made_with": {**MADE_WITH}}]}
    state: dict[str, Any] = {"content": content, "skipped": ()}

    def report(folders: Any, out: Path, **_: Any) -> Any:
        files = {"csv": out / "results.csv", "provenance": out / "provenance.json"}
        out.mkdir(parents=True, exist_ok=True)
        files["csv"].write_text("model\n")
        files["provenance"].write_text(json.dumps(state["content"]))
        return SimpleNamespace(**files, skipped=state["skipped"], html=out / "report.html")

    monkeypatch.setattr(clevrhope.report, "report", report)
    return state


def set_done(plan: Plan) -> None:
    """Makes all that an experiment's steps would leave."""
    for chain in (*plan.datasets.values(), *plan.runs):
        for step in chain.steps:
            step.made.parent.mkdir(parents=True, exist_ok=True)
            step.made.mkdir(exist_ok=True) if not step.made.suffix else step.made.touch()
            step.set_done()


def test_a_finished_experiment_is_published(
    grid: Path,
    tmp_path: Path,
    reported: dict[str, Any],
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    docs = tmp_path / "docs"
    plan = plan_of(grid)
    with refused(ConfigError):
        publish(plan, docs)  # no run is done
    set_done(plan)
    with monkeypatch.context() as patched, refused(DatasetError):
        patched.setattr("clevrhope.experiments.publication.write_report", None)
        publish(plan, grid)  # refused before the report is written, since it is a file
    cli("experiment", grid, "--out", tmp_path / "out", "--publish", docs)
    assert sorted(path.name for path in docs.iterdir()) == ["grid.csv", "grid.json"]
    found = json.loads((docs / "grid.json").read_text())
    assert found["experiment"] == {"file": "grid.toml", "sha256": sha256(grid.read_bytes()).hexdigest()}
    assert found["runs"] == reported["content"]["runs"]
    publish(plan, docs)  # the same experiment may be published again

    reported["skipped"] = ("runs/film: trained on another dataset",)
    check_refused(ConfigError, publish, plan, docs)
    reported["skipped"] = ()
    reported["content"]["runs"][0]["made_with"]["changed"] = True
    check_refused(ConfigError, publish, plan, docs)
    reported["content"]["runs"][0] = {"n": 12}
    check_refused(ConfigError, publish, plan, docs)
    reported["content"]["runs"] = []
    grid.write_text(grid.read_text() + "\n# another experiment\n")
    check_refused(ConfigError, publish, plan, docs)
    (docs / "grid.json").unlink()
    check_refused(ConfigError, publish, plan, docs)
    assert (docs / "grid.csv").read_text() == "model\n"
    plan.runs[3].steps[0].begin()  # its last call failed
    check_refused(ConfigError, publish, plan, docs)
