"""Strategies on the episodes of a folder: as baselines, as tables, and as a model that others evaluate."""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from building import Cli, build_demo, cli, request
from inspect_run import key_of
from inspect_run import reply_to as made_up
from lmms_task import Task
from made_folder import write_lines
from nonce_strategies import accuracies
from nonce_strategies import views as views_of
from PIL import Image

from clevrhope.dataset.manifest import existing_manifest
from clevrhope.errors import ClevrhopeError, command_line
from clevrhope.export import export
from clevrhope.images.settings import NativeSettings
from clevrhope.metrics.answers import write_answers
from clevrhope.metrics.baselines import baseline
from clevrhope.metrics.episodes import Episodes
from clevrhope.metrics.nonce import score_nonce
from clevrhope.metrics.nonce_requests import NonceRequests, messages
from clevrhope.metrics.nonce_strategies import STRATEGIES, play, table_of, views
from clevrhope.metrics.nonce_strategies import accuracies as accuracies_of
from clevrhope.metrics.request_files import read_requests
from clevrhope.pipeline import build
from clevrhope.replies.instructions import find_instruction
from clevrhope.splits.nonce.episodes import COMPLEX, N_A, EpisodeStream
from clevrhope.splits.nonce.kinds import NONCE_SPLITS, TEST, control_split
from wording import check_words, refused

__all__ = ["cli"]

N = 19
"""Two turns, and the first row of another group, which has no partner."""

TYPES = ("told", "found")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {types: tmp_path_factory.mktemp("strategies") / types for types in TYPES}
    rendering = NativeSettings(width=60, height=40, quality="draft")
    for types, out in made.items():
        episodes = {"nonce": N, "nonce_types": types, "hops": ("none",), "splits": ()}
        build(request(out, **episodes, rendering=rendering, images="png"))
    return made


def stream_of(folder: Path) -> tuple[EpisodeStream, Any]:
    manifest = existing_manifest(folder / "manifest.json")
    kinds = [*manifest.world["attributes"].items()]
    entry = manifest.nonce["none"][NONCE_SPLITS[0]]
    return EpisodeStream(kinds, seed=manifest.seed, told=entry["types"] == "told"), kinds


def renamed(said: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Words by when they are said, but for those of the question; files do not number the others."""
    found = []
    for side, asked in ((0, 0), (1, N_A)):
        order = dict.fromkeys([asked, *(each[side] for each in said)])
        found.append([[*order].index(each[side]) for each in said])
    return [*zip(*found, strict=True)]


@pytest.mark.parametrize("types", TYPES)
def test_views_of_files_are_those_of_the_stream(folders: dict[str, Path], types: str) -> None:
    key, (stream, kinds) = Episodes(folders[types]), stream_of(folders[types])
    of_files = zip(*(views(key, key.conditions[split]) for split in NONCE_SPLITS), strict=True)
    for in_files, (_, of_stream) in zip(of_files, views_of(stream.episodes(0, N), kinds), strict=True):
        for one, other in zip(in_files, of_stream, strict=True):
            assert renamed(one.said) == renamed(other.said)
            same: dict[str, Any] = {"said": (), "draws": one.draws, "options": (), "program": None}
            if one.asks == COMPLEX:
                assert one.program is not None
                same["scene"] = ()  # it is drawn with the places of objects
            assert replace(one, **same) == replace(other, **same)
            assert [*one.options] == [*other.options]


def test_the_table_has_what_strategies_score_on_the_stream(folders: dict[str, Path]) -> None:
    stream, kinds = stream_of(folders["told"])
    form = stream.forms[0]
    names = [each.title for name, each in STRATEGIES.items() if not name.startswith("noisy")]
    episodes = [each for each in stream.episodes(0, N) if each.group.form == form]
    known = accuracies(episodes, kinds, names)
    lines = [*table_of(accuracies_of(play(folders["told"], "strategies")))]
    first = lines.index(form.name) + 1
    printed = {line[0]: line[1:] for line in lines[first : first + len(STRATEGIES)]}
    for name, (unseen, seen) in known.items():
        assert printed[name] == (f"{unseen:.1f}", f"{seen:.1f}", f"{unseen - seen:+.1f}"), name
    assert [line for line in lines if isinstance(line, str)] == [each.name for each in stream.forms]
    assert printed["whole phrases only"] == ("50.0", "100.0", "-50.0")


def test_a_strategy_is_a_baseline(folders: dict[str, Path], cli: Cli, tmp_path: Path) -> None:
    folder, out = folders["found"], tmp_path / "phrases.jsonl"
    said = cli("baseline", folder, "--kind", "whole_phrases", "--out", out).out
    refusal = cli("report", out, "--dataset", folder, "--out", tmp_path / "report", code=2).err
    assert f"{out}: it answers episodes" in refusal
    assert command_line("score", folder, out, "--nonce") in refusal
    check_words(said)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert rows == [*baseline(folder, "whole_phrases")]
    assert N < len(rows) <= 2 * N
    (condition,) = score_nonce(folder, [out], seed=1, bootstrap=0, partial=True).conditions
    assert condition.splits["nonce"].mean["seen"].value == 100
    assert "symbolic learner" in cli("baseline", folder, "--kind", "strategies").out
    known = json.loads(cli("baseline", folder, "--kind", "strategies", "--json").out)["accuracies"]
    assert known["exist_3x3"]["symbolic_learner"] == {"unseen": 100, "seen": 100, "gap": 0}
    cli("baseline", folder, "--kind", "strategies", "--out", tmp_path / "all.jsonl", code=2)
    assert (
        "it has episodes with nonce words alone"
        in cli("baseline", folder, "--kind", "coin", "--out", tmp_path / "coin.jsonl", code=1).err
    )
    assert not refusal_writes(cli, folder, tmp_path / "none.jsonl")
    with refused(ClevrhopeError):
        baseline(folder, "novel", suite="rad")
    with refused(ClevrhopeError):
        baseline(folder, "novels")


def refusal_writes(cli: Cli, folder: Path, out: Path) -> bool:
    """Whether a baseline without --out, which is refused, writes its file."""
    check_words(cli("baseline", folder, "--kind", "novel", code=2).err)
    return out.exists()


def test_of_a_complex_question_strategies_give_what_its_program_gives(folders: dict[str, Path]) -> None:
    key = Episodes(folders["told"])
    for split, view in ((split, next(views(key, key.conditions[split]))) for split in NONCE_SPLITS):
        a, b = view.meaning(0), view.meaning(N_A)
        given = {(a, b): "of the pair", (a, None): "of one word"}
        complex_view = replace(view, asks=COMPLEX, program=lambda *words, given=given: [given[words]])
        assert STRATEGIES["symbolic_learner"].answer(complex_view) == ["of the pair"]
        assert STRATEGIES["one_word"].answer(complex_view) == ["of one word"]
        phrases = STRATEGIES["whole_phrases"].answer(complex_view)
        assert [*phrases] == (["of the pair"] if split == NONCE_SPLITS[1] else ["no", "yes"])


# Inspect


@pytest.mark.slow
def test_strategies_get_the_same_numbers_from_inspect_as_from_score(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    """Replies are in nonce words, as a model would give them."""
    pytest.importorskip("inspect_ai", reason="needs inspect-ai: pip install 'clevrhope[inspect]'")
    folder, prompt = folders["told"], find_instruction("short")
    requests, runs, known = tmp_path / "requests.jsonl", [], []
    NonceRequests(folder, controls=["none"], limit=None, seed=1).write(requests)
    rows = [*read_requests(requests)]
    for name in STRATEGIES:
        given = {(each["split"], each["question_index"]): each["answer"] for each in baseline(folder, name)}
        texts = [reply_to(row["question"], given[row["split"], row["question_index"]]) for row in rows]
        replies = [{"id": row["id"], "reply": text} for row, text in zip(rows, texts, strict=True)]
        out = tmp_path / f"{name}.jsonl"
        path = write_lines(tmp_path / f"{name}.replies", replies)
        counted = write_answers(path, requests, out, folder=folder, partial=True)
        assert not counted.unreadable
        known.append(by_score(folder, out))
        assert known[-1] == pytest.approx(own_count(folder, name), abs=1e-12)
        by_key = {}
        for row, text in zip(rows, texts, strict=True):
            asked = messages({**row, "prompt": prompt.after(row["question"])})
            parts = [part for _, of_turn in asked for part in of_turn]
            said = [part for kind, part in parts if kind == "text"]
            *_, image = (part for kind, part in parts if kind == "image")
            by_key[key_of(said, Path(image).read_bytes())] = text
        assert len(by_key) == len(rows)
        path = tmp_path / f"{name}.keys"
        path.write_text(json.dumps(by_key))
        runs.append(["replied", "clevrhope/nonce", {"dataset": str(folder)}, str(path)])
    command = [sys.executable, "-m", "inspect_run", str(tmp_path / "logs"), json.dumps(runs)]
    run = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    for of_score, of_inspect in zip(known, json.loads(run.stdout.splitlines()[-1]), strict=True):
        found = of_inspect["episodes"]
        assert {name: found[name] for name in of_score} == pytest.approx(of_score, abs=1e-12)
        assert found["exist_3x3/unread_unseen"] == found["query_3x3/unread_seen"] == 0
    gaps = Counter(round(each["exist_3x3/gap"], 1) for each in known)
    assert gaps[0.0] > 5
    assert min(gaps) < -0.4


# lmms-eval


@pytest.fixture(scope="module")
def tasks(folders: dict[str, Path]) -> Path:
    out = folders["told"].with_name("tasks")
    made = export(folders["told"], out, format="lmms-eval")
    assert made.n_copies == made.n_images == len([*(out / "nonce_images").iterdir()])
    return out


CONTROLS = ("words", "real", "text", "bare")


def test_strategies_get_the_same_numbers_from_lmms_eval_as_from_score(
    folders: dict[str, Path], tasks: Path, tmp_path: Path
) -> None:
    """Its metrics are those of `score`, and so is what `answers` reads in its logs of samples."""
    folder, test = folders["told"], Task(tasks, "nonce")
    others = [Task(tasks, f"nonce_{control}") for control in CONTROLS]
    requests = tmp_path / "requests.jsonl"
    files = [tasks / f"{name}.jsonl" for name in ("nonce", *(f"nonce_{control}" for control in CONTROLS))]
    requests.write_text("".join(path.read_text() for path in files))
    gaps = []
    for name in ("symbolic_learner", "whole_phrases"):
        given = {(each["split"], each["question_index"]): each["answer"] for each in baseline(folder, name)}
        logged, items = [], {}
        for task in (test, *others):
            for doc in task.docs:
                place = doc["split"], doc["question_index"]
                if task is test and place in given:
                    reply = reply_to(doc["question"], given[place])
                else:
                    reply = made_up(doc["id"])
                results = task.results(doc, reply)
                logged.append(results)
                for metric, item in results.items():
                    items.setdefault(metric, []).append(item)
        found = {}
        for task in (test, *others):
            found |= task.metrics(items)
        out = tmp_path / f"{name}.jsonl"
        write_answers(write_lines(tmp_path / "log.jsonl", logged), requests, out, folder=folder)
        (condition,) = score_nonce(folder, [out], seed=1, bootstrap=0).conditions
        known = condition.splits["nonce"].mean
        sides = ("unseen", "seen")
        names = {"nonce_gap": "gap"}
        names |= {f"nonce_{side}": side for side in sides}
        names |= {f"nonce_{side}_unread": f"unread_{side}" for side in sides}
        names |= {f"nonce_{side}_{control}": f"{control}_{side}" for control in CONTROLS for side in sides}
        assert {each: found[each] for each in names} == pytest.approx(
            {each: (known[measure].value or 0) / 100 for each, measure in names.items()}, abs=1e-12
        )
        assert 0 < found["nonce_unseen_real_unread"] < 1
        gaps.append(found["nonce_gap"])
    assert gaps[0] == 0
    assert gaps[1] < -0.4


def test_tasks_ask_what_a_table_of_vlmevalkit_asks(folders: dict[str, Path], tasks: Path) -> None:
    folder = folders["told"]
    for control in (TEST, *CONTROLS):
        task = Task(tasks, control_split("nonce", control))
        assert task.config["task"] == f"clevrhope_{control_split('nonce', control)}"
        requests = folder.with_name("asked.jsonl")
        NonceRequests(folder, [control], seed=1, support="list").write(requests)
        for doc, row in zip(task.docs, read_requests(requests), strict=True):
            ((_, parts),) = messages(row)
            *paths, text = (content for _, content in parts)
            assert (doc["id"], task.text(doc)) == (row["id"], text)
            shown = task.config["doc_to_visual"](doc)
            assert [image.tobytes() for image in shown] == [
                Image.open(path).convert("RGB").tobytes() for path in paths
            ]
            meanings = dict(each.split(": ") for each in doc["real_words"])
            in_text = {*re.findall(r"\w+", text.lower())} & {*meanings.values()}
            assert bool(in_text) == (control == "real")
            assert len(shown) == {"text": 0, "bare": 1}.get(
                control, len(doc["context"]) + (control == "real")
            )
            assert ("Image 1: " in text) == (control != "text")
    first = [Task(tasks, "nonce").docs[k]["split"] for k in range(2)]
    assert first == [*NONCE_SPLITS]


def test_episodes_that_cannot_be_tasks_are_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    tasks: dict[str, Any] = {"out": tmp_path / "out", "format": "lmms-eval"}
    with refused(ClevrhopeError):
        export(folders["told"], **tasks, splits=NONCE_SPLITS[:1])
    build_demo(tmp_path / "other", render=False, sizes={"train": 27, "complex_iid": 9, "complex_ood": 9})
    with refused(ClevrhopeError):
        export(tmp_path / "other", **tasks, splits=NONCE_SPLITS)
    assert not (tmp_path / "out").exists()
    export(folders["told"], **tasks, images=False)
    assert {path.name for path in (tmp_path / "out").glob("nonce*")} == {
        "nonce_text.jsonl",
        "nonce_text.yaml",
    }


def reply_to(question: str, answer: str) -> str:
    """A reply in whole sentences, which repeats the words of the question."""
    words = question.strip("?").split()
    if question.startswith("Is there a"):
        return f"{answer.capitalize()}, there is {'a' if answer == 'yes' else 'no'} {' '.join(words[3:])}."
    if question.startswith("How many"):
        return f"There are {answer} {' '.join(words[2:-2])}."
    return f"The {' '.join(words[4:])} is {answer}."


def by_score(folder: Path, predictions: Path) -> dict[str, float]:
    """The scores of each form, as fractions, by the names that Inspect's metrics have."""
    (condition,) = score_nonce(folder, [predictions], seed=1, bootstrap=0, partial=True).conditions
    found = {}
    for part, scored in condition.splits["nonce"].parts.items():
        values = {name: scored.mean[name].value for name in ("unseen", "seen", "gap")}
        if part.by == "form":
            found |= {f"{part.name}/{k}": value / 100 for k, value in values.items() if value is not None}
    return found


def own_count(folder: Path, name: str) -> dict[str, float]:
    """The same, counted from what the strategy answers."""
    key = Episodes(folder)
    rights: dict[str, dict[str, list[bool]]] = {}
    for row, form, _ in play(folder, name):
        table = key.conditions[row["split"]]
        right = row["answer"] == table.answer_names[table.answers[row["question_index"]]]
        rights.setdefault(form, {split: [] for split in NONCE_SPLITS})[row["split"]].append(right)
    found = {}
    for form, of in rights.items():
        unseen, seen = (sum(each) / len(each) for each in of.values())
        found |= {f"{form}/unseen": unseen, f"{form}/seen": seen, f"{form}/gap": unseen - seen}
    return found
