"""The same made-up replies give the same numbers through `score`, Inspect, lmms-eval's tasks and batches."""

import io
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from building import request
from inspect_run import INSTRUCTION, reply_to
from lmms_task import Task
from made_folder import write_lines
from PIL import Image

from clevrhope.errors import ClevrhopeError
from clevrhope.export import export
from clevrhope.images.settings import NativeSettings
from clevrhope.metrics import Condition, score
from clevrhope.metrics.answers import write_answers
from clevrhope.metrics.covr import score_covr
from clevrhope.metrics.harness_files import write_batch
from clevrhope.metrics.request_files import read_requests, write_requests
from clevrhope.metrics.suites import score_suite
from clevrhope.pipeline import build
from clevrhope.pipeline.paraphrases import make_paraphrases
from clevrhope.pipeline.suites import make_suite
from clevrhope.pipeline.visual.suite import make_visual_suite
from clevrhope.replies.instructions import find_instruction
from wording import check_refused

pytest.importorskip("inspect_ai", reason="needs inspect-ai: pip install 'clevrhope[inspect]'")

HOP = "rubber_cylinder"
SIZES = {"complex_iid": 36, "complex_ood": 12, "minimal_copies": 1, "covr_test": 12}
SIZES_OF_OTHERS = {"train": 27, "val_iid": 9, "covr_train": 8, "covr_dev": 4}
SPLITS = ["complex_iid", "complex_ood", "minimal_iid", "minimal_ood"]
DRAWN = {"limit": 12, "seed": 1}
"""What is asked of each of these."""

SUITES: dict[str, dict[str, Any]] = {
    "carets": {"limit": 25, "seed": 1},
    "holdout": {"split": "complex_ood"},
    "visual": {},
    "people": {},
}
CARETS = {"REPHRASE-INV", "ORDER-INV", "ONTOLOGICAL-INV", "VISUAL-INV", "NEGATION-DIR", "ANTONYM-DIR"}
EPOCHS = {"suite": "rad", "limit": 4, "seed": 1}

Numbers = dict[str, float]
"""Accuracies of the test sets, gaps and the share of unread replies, as fractions."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("harnesses") / "data"
    rendering = NativeSettings(width=120, height=80, quality="draft")
    build(request(out, rendering=rendering, covr=True, images="h5", sizes={**SIZES, **SIZES_OF_OTHERS}))
    for suite in ("carets", "rad", "holdout"):
        make_suite(out, suite)
    make_visual_suite(out, 1)
    texts = [{"id": f"{HOP}/complex_iid/{row}", "text": f"Say: is it so in {row}?"} for row in range(4)]
    make_paraphrases(out, "people", [write_lines(out.parent / "people.jsonl", texts)])
    return out


@pytest.fixture(scope="module")
def of_inspect(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What runs of tasks give; in one other process, since Inspect leaves streams open."""
    dataset = {"dataset": str(folder)}
    runs: dict[str, list[Any]] = {
        "hope": ["evaluated", "clevrhope/hope", {**dataset, **DRAWN}],
        "covr": ["evaluated", "clevrhope/covr", dataset],
        "epochs": ["evaluated", "clevrhope/suite", {**dataset, **EPOCHS}, 2],
        "retried": ["retried", "clevrhope/hope", {**dataset, "limit": 2, "seed": 1}],
    }
    for suite, choice in SUITES.items():
        runs[suite] = ["evaluated", "clevrhope/suite", {**dataset, "suite": suite, **choice}]
    logs = tmp_path_factory.mktemp("logs")
    command = [sys.executable, "-m", "inspect_run", str(logs), json.dumps([*runs.values()])]
    run = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return dict(zip(runs, json.loads(run.stdout.splitlines()[-1]), strict=True))


Reply = Callable[[str, str], str]
"""Makes a reply from the id and the question of a request."""


def made_up(name: str, question: str) -> str:
    return reply_to(question)


def answered(folder: Path, out: Path, reply: Reply = made_up, **choice: Any) -> Path:
    """A file of predictions from replies to requests."""
    requests, replies = (out.with_suffix(f".{name}") for name in ("requests", "replies"))
    write_requests(folder, requests, **{"seed": 1, **choice})
    rows = list(read_requests(requests))
    write_lines(replies, [{"id": each["id"], "reply": reply(each["id"], each["question"])} for each in rows])
    write_answers(replies, requests, out, model="made-up")
    return out


# A way to evaluate a model gives numbers on DRAWN of the splits, and on covr_test


def by_score(folder: Path, tmp_path: Path, answered: Callable[..., Path] = answered) -> Numbers:
    single = answered(folder, tmp_path / "single", **DRAWN)
    (condition,) = score(folder, single, seed=1, bootstrap=0, partial=True).conditions
    several = answered(folder, tmp_path / "several", splits=["covr_test"])
    (of_sets,) = score_covr(folder, [several], seed=1, bootstrap=0, partial=True).conditions
    gaps = {f"{name}_gap": fraction(each.mean["gap"].value) for name, each in condition.gaps.items()}
    every = {**condition.splits, **of_sets.splits}
    unread = {f"{name}_unread": fraction(each.unread.share) for name, each in every.items() if each.unread}
    return {**accuracies(condition), **accuracies(of_sets), **gaps, **unread}


def answered_in_batches(folder: Path, out: Path, **choice: Any) -> Path:
    """As `answered`, from the lines of a batch and a server's results."""
    requests, results = (out.with_suffix(f".batch.{name}") for name in ("requests", "results"))
    short = find_instruction("short")
    write_requests(folder, requests, **{"seed": 1, **choice}, form="batch", instruction=short)
    lines = []
    for path in write_batch(requests, model="made-up", max_tokens=9, max_lines=7):
        for line in map(json.loads, path.read_text().splitlines()):
            text = line["body"]["messages"][0]["content"][-1]["text"]
            message = {"role": "assistant", "content": reply_to(text.removesuffix(INSTRUCTION))}
            body = {"model": "made-up", "choices": [{"message": message}]}
            response = {"status_code": 200, "body": body}
            lines.append({"custom_id": line["custom_id"], "response": response, "error": None})
    write_answers(write_lines(results, lines[::-1]), requests, out, model="made-up")
    return out


def fraction(percent: float | None) -> float:
    return float("nan") if percent is None else percent / 100


def accuracies(condition: Condition) -> Numbers:
    return {split: fraction(value) for split, value in condition.accuracies.items() if value is not None}


def by_inspect(of_inspect: dict[str, Any]) -> Numbers:
    metrics = {**of_inspect["covr"]["metrics"]["correct"], **of_inspect["hope"]["metrics"]["correct"]}
    found = {name.removeprefix(f"{HOP}/"): each for name, each in metrics.items() if "stderr" not in name}
    for task in ("hope", "covr"):
        of_replies = of_inspect[task]["metrics"]["unread"].items()
        found |= {
            f"{name.removeprefix(f'{HOP}/')}_unread": each for name, each in of_replies if name != "all"
        }
    return found


def by_lmms_eval(folder: Path, tmp_path: Path) -> Numbers:
    out = tmp_path / "tasks"
    export(folder, out, format="lmms-eval", splits=[*SPLITS, "covr_test"])
    write_requests(folder, tmp_path / "drawn.jsonl", **DRAWN)
    drawn = {row["id"] for row in read_requests(tmp_path / "drawn.jsonl")}
    single, several = Task(out, HOP), Task(out, f"{HOP}.covr")
    of_sets = several.metrics(several.items(reply_to, several.docs))
    items = single.items(reply_to, [doc for doc in single.docs if doc["id"] in drawn])
    assert {*items["id"]} == drawn  # so that `answers` takes the lines of a log with these
    found = single.metrics(items)
    return {**found, **{name: of_sets[name] for name in ("covr_test", "covr_test_unread")}}


def test_each_way_gives_the_numbers_of_score(
    folder: Path, tmp_path: Path, of_inspect: dict[str, Any]
) -> None:
    known = by_score(folder, tmp_path)
    unread = {f"{name}_unread" for name in (*SPLITS, "covr_test")}
    assert known.keys() == {*SPLITS, "covr_test", "complex_gap", "minimal_gap", *unread}
    assert len({known[name] for name in unread}) > 1
    ways = {
        "inspect": by_inspect(of_inspect),
        "lmms-eval": by_lmms_eval(folder, tmp_path),
        "batch": by_score(folder, tmp_path, answered_in_batches),
    }
    for way, numbers in ways.items():
        assert numbers == pytest.approx(known, abs=1e-12), way


# Inspect


def test_errors_are_inspects_own_and_each_test_set_has_its_share_of_unread_replies(
    of_inspect: dict[str, Any],
) -> None:
    metrics = of_inspect["hope"]["metrics"]
    names = {f"{HOP}/{split}" for split in SPLITS}
    assert all(0 < metrics["correct"][f"{name}_stderr"] < 0.5 for name in names)
    assert metrics["unread"].keys() == {*names, "all"}


def of_suite(folder: Path, suite: str, predictions: Sequence[Path]) -> Numbers:
    """The scores of pairs by the names that Inspect's metrics have."""
    (condition,) = score_suite(folder, suite, predictions, seed=1, bootstrap=0).conditions
    found = {}
    for split, scores in condition.splits.items():
        parts = {
            (): scores.mean,
            **{(name,): each.mean for name, each in scores.by("paper's test").items()},
            **{(name,): each.mean for by in ("crossings", "groups") for name, each in scores.by(by).items()},
        }
        for part, of_part in parts.items():
            for measure, each in of_part.measures.items():
                if not part or measure in MEASURES_OF_TESTS:
                    found["/".join((HOP, split, *part, measure))] = fraction(each.value)
    return found


MEASURES_OF_TESTS = {
    *("accuracy", "consistency", "both_right", "rad"),
    *("crossing", "control", "difference", "one_yes", "named_yes"),
}


def test_a_suite_has_the_scores_of_pairs(folder: Path, tmp_path: Path, of_inspect: dict[str, Any]) -> None:
    own = answered(folder, tmp_path / "own", splits=["complex_iid", "complex_ood"])
    names: set[str] = set()
    for suite, choice in SUITES.items():
        asked = {"splits": [choice["split"]]} if "split" in choice else choice
        made = answered(folder, tmp_path / suite, suite=suite, **asked)
        known = of_suite(folder, suite, [own, made])
        found = of_inspect[suite]["metrics"]["pairs"]
        assert found == pytest.approx(known, abs=1e-12, nan_ok=True), suite
        assert 0 < of_inspect[suite]["metrics"]["unread"]["all"] <= 1
        names |= {*found}
    tests = {part for name in names for part in name.split("/")}
    assert tests >= CARETS
    assert tests >= {"consistency", "rad", "named_yes"}


def test_epochs_are_scored_as_runs(folder: Path, tmp_path: Path, of_inspect: dict[str, Any]) -> None:
    """Each reply is paired with the one of its own epoch."""
    replies = {(name, epoch): text for name, epoch, text in of_inspect["epochs"]["replies"]}
    assert len({replies[name, 1] == replies[name, 2] for name, _ in replies}) == 2
    rows = []
    for epoch in (1, 2):

        def reply(name: str, question: str, epoch: int = epoch) -> str:
            return str(replies.get((name, epoch), ""))

        choices = {"made": EPOCHS, "own": {"splits": ["complex_iid", "complex_ood"]}}
        for which, choice in choices.items():
            path = answered(folder, tmp_path / f"{which}{epoch}", reply, **choice)
            rows += [{**json.loads(line), "run": str(epoch)} for line in path.read_text().splitlines()]
    known = of_suite(folder, "rad", [write_lines(tmp_path / "runs", rows)])
    assert of_inspect["epochs"]["metrics"]["pairs"] == pytest.approx(known, abs=1e-12, nan_ok=True)


def test_a_set_that_failed_is_continued(of_inspect: dict[str, Any]) -> None:
    """What has a reply is not asked again, and images are there again that the dataset has only in HDF5."""
    ended, n_calls, correct = of_inspect["retried"]
    assert ended == [False, True, True]
    assert n_calls == [5, 8 - 4, 0]
    assert all(0 <= correct[f"{HOP}/{split}"] <= 1 for split in SPLITS)


def test_a_part_is_drawn_with_a_seed(folder: Path) -> None:
    from clevrhope.inspect_tasks import hope, suite

    task = hope(str(folder), split="complex_iid,complex_ood", limit=5, seed=1)
    splits = [(each.metadata or {})["split"] for each in task.dataset]
    assert splits == ["complex_iid"] * 5 + ["complex_ood"] * 5
    for wrong in ({"limit": 5}, {"seed": 1}, {"limit": -3, "seed": 1}, {"limit": 0, "seed": 1}):
        check_refused(ClevrhopeError, hope, str(folder), **wrong)
    check_refused(ClevrhopeError, hope, str(folder), hop="rubber_cylinder", split="complex_odd")
    check_refused(ClevrhopeError, suite, str(folder), "careds")
    check_refused(ClevrhopeError, hope, str(folder), instruction="shrot")


# lmms-eval


@pytest.fixture(scope="module")
def tasks(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("lmms") / "tasks"
    export(folder, out, format="lmms-eval", splits=["complex_iid", "covr_test"])
    return out


def test_a_task_of_lmms_eval_has_its_keys_and_images(tasks: Path) -> None:
    for name, n_images in ((HOP, {1}), (f"{HOP}.covr", {1, 2, 3, 4, 5})):
        task = Task(tasks, name)
        config = task.config
        assert config["task"] == f"clevrhope_{name.replace('.', '_')}"
        assert config["output_type"] == "generate_until"
        assert config["test_split"] in config["dataset_kwargs"]["data_files"]
        assert config["metadata"]["instruction"] == "short-1"
        for doc in task.docs:
            assert len(doc["images"]) in n_images
            assert doc[config["doc_to_target"]] in (doc["asked"] or doc["answers"])
        doc = task.docs[0]
        opened = [Image.open(io.BytesIO(image["bytes"])) for image in doc["images"]]
        images = config["doc_to_visual"]({**doc, "images": opened})
        assert {(image.mode, image.size) for image in images} == {("RGB", (120, 80))}


def test_errors_are_clustered_and_gaps_have_none(folder: Path, tasks: Path) -> None:
    task = Task(tasks, HOP)
    assert [each["metric"] for each in task.config["metric_list"]] == ["complex_iid", "complex_iid_unread"]
    items = task.items(reply_to, task.docs)
    cluster, value = task.config["cluster_key"], task.config["score_key"]
    for name in ("complex_iid", "complex_iid_unread"):
        assert len(items[name]) == SIZES["complex_iid"]
        assert all(item[value] in (0, 1) for item in items[name])
        assert len({item[cluster] for item in items[name]}) == 4
    assert not any(value in item for item in items["complex_gap"])


def test_only_test_sets_are_tasks(folder: Path, tmp_path: Path) -> None:
    check_refused(ClevrhopeError, export, folder, tmp_path / "out", format="lmms-eval", splits=["train"])
    export(folder, tmp_path / "out", format="lmms-eval", images=False)
    assert {doc["split"] for doc in Task(tmp_path / "out", HOP).docs} == {*SPLITS}
    assert Task(tmp_path / "out", HOP).docs[0]["images"] == []


def test_a_folder_of_tasks_needs_only_rewards(tasks: Path) -> None:
    """Where lmms-eval runs, numpy and pyarrow may be of any version."""
    script = """
        import sys
        sys.modules.update(dict.fromkeys(("numpy", "pyarrow", "h5py", "torch")))
        import utils
        doc = {"id": "", "question": "Is it red?", "answer": "yes", "answers": ["yes", "no"], "asked": [],
               "split": "complex_ood", "source": "test_ood/1"}
        assert utils.results(doc, ["Yes."])["complex_ood"] == {"score": 1.0, "source": "test_ood/1"}
    """
    lines = [line.strip() for line in script.strip().splitlines()]
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, cwd=tasks, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
