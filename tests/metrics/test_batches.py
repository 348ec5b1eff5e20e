"""Batches and tables for other programs: what is asked, sent to a server, answered, read and scored."""

import base64
import csv
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from building import Cli, build_demo
from made_folder import write_lines
from PIL import Image

from clevrhope.dataset.layout import Layout
from clevrhope.errors import ConfigError, DatasetError, PredictionsError
from clevrhope.images.png import read_png
from clevrhope.metrics import score
from clevrhope.metrics.answers import write_answers
from clevrhope.metrics.harness_files import write_batch, write_table
from clevrhope.metrics.reply_files import custom_id
from clevrhope.metrics.request_files import read_requests, write_requests
from clevrhope.replies.instructions import INSTRUCTIONS
from wording import check_refused, refused

HOP = "rubber_cylinder"
PAGE = Path(__file__).parents[2] / "docs" / "vlms.md"
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("batches") / "data"
    build_demo(out, sizes={"complex_iid": 90, "complex_ood": 30})
    return out


@pytest.fixture(scope="module")
def asked(folder: Path) -> Path:
    """Requests with all that the formats need."""
    out = folder.parent / "asked.jsonl"
    short = INSTRUCTIONS["short"]
    splits = ["complex_iid", "complex_ood"]
    write_requests(folder, out, splits=splits, limit=20, seed=1, form="vlmeval", instruction=short)
    return out


def lines(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def right(folder: Path, row: Mapping[str, Any]) -> str:
    """The right answer to a request, from the dataset's own file."""
    made = json.loads(Layout(folder).questions_json(row["hop"], row["split"]).read_text())["questions"]
    answer: str = made[row["question_index"]]["answer"]
    return answer


def result(row: Mapping[str, Any], *replies: str, model: str = "m") -> dict[str, Any]:
    """A line of a batch's results."""
    choices = [{"message": {"role": "assistant", "content": reply}} for reply in replies]
    body = {"model": model, "choices": choices}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": custom_id(row["id"]), "response": response, "error": None}


REFUSED = {"message": "image too large", "type": "invalid_request_error"}
FAILURES: Mapping[str, dict[str, Any]] = {
    "status": {"response": {"status_code": 400, "body": {"error": REFUSED}}, "error": None},
    "expired": {"response": None, "error": {"code": "batch_expired", "message": "too late"}},
    "vllm": {"response": {"status_code": 400, "request_id": "r", "body": None}, "error": REFUSED},
    "silent": {"response": {"status_code": 500, "body": None}},
    "typed": {"response": None, "error": {"type": "server_error"}},
    "nothing": {"response": None, "error": None},
}
"""Failures as OpenAI's batches and vLLM write them."""


def failure(row: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "b", "custom_id": custom_id(row["id"]), **FAILURES[kind]}


# A server of OpenAI's API, asked as docs/vlms.md says.


def mock_reply(question: str) -> str:
    """The reply of the server's model to a question, which only its length decides."""
    return ("I think it is yes.", "No.", "**Answer:** 2", "rubber")[len(question) % 4]


MEANT = {"I think it is yes.": "yes", "No.": "no", "**Answer:** 2": "2", "rubber": "rubber"}


class _Server(BaseHTTPRequestHandler):
    """Answers each request that has an image and a question as `mock_reply` does."""

    fails_next = False

    def do_POST(self) -> None:
        if _Server.fails_next:
            _Server.fails_next = False
            self.send_error(503)
            return
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        (message,) = request["messages"]
        *images, text = message["content"]
        assert self.path == "/v1/chat/completions"
        assert request["max_completion_tokens"] == 1024
        for image in images:
            kind, _, content = image["image_url"]["url"].partition(",")
            assert kind == "data:image/png;base64"
            Image.open(BytesIO(base64.b64decode(content))).load()
        question = text["text"].removesuffix(" Answer with one word or number.")
        assert question != text["text"]
        message = {"role": "assistant", "content": mock_reply(question)}
        content = json.dumps(
            {"model": request["model"], "choices": [{"index": 0, "message": message}]}
        ).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def server() -> Iterator[str]:
    """The address of a running server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def test_a_server_is_asked_and_scored_by_what_the_page_says(folder: Path, tmp_path: Path, cli: Cli) -> None:
    said = cli("ask", folder, "--split", "complex_iid", "--limit", 60, "--seed", 1, "--quiet",
               "--format", "batch", "--model", "mock-1", "--out", "hope.jsonl")  # fmt: skip
    assert "hope_batch_1.jsonl" in said.out
    (script,) = (part for part in PAGE.read_text("utf-8").split("```python\n") if "urlopen" in part)
    script = script.partition("```")[0]
    assert len(script.splitlines()) <= 20
    with server() as address:
        code = script.replace("http://localhost:8000", address)
        assert code != script
        _Server.fails_next = True
        for n_results in (60, 61, 61):  # of which one fails, which is sent again
            subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
            assert len(lines(tmp_path / "results.jsonl")) == n_results
    cli("answers", "results.jsonl", "--requests", "hope.jsonl", "--out", "predictions.jsonl")
    rows = list(read_requests(tmp_path / "hope.jsonl"))
    by_rule = [MEANT[mock_reply(row["question"])] == right(folder, row) for row in rows]
    (condition,) = score(folder, tmp_path / "predictions.jsonl", seed=1, partial=True).conditions
    assert len(rows) == 60
    assert condition.accuracies["complex_iid"] == pytest.approx(100 * sum(by_rule) / 60)
    assert {row["model"] for row in lines(tmp_path / "predictions.jsonl")} == {"mock-1"}
    assert {row["instruction"] for row in lines(tmp_path / "predictions.jsonl")} == {"short-1"}


# What is written.


def test_batches_are_split_at_both_limits(asked: Path, tmp_path: Path) -> None:
    requests = tmp_path / "r.jsonl"
    write_lines(requests, read_requests(asked))
    (whole,) = write_batch(requests, model="m", max_tokens=9)
    content = whole.read_bytes()
    for limits in ({"max_lines": 7}, {"max_bytes": 9_000}):
        paths = write_batch(requests, model="m", max_tokens=9, **limits)
        assert [path.name for path in paths] == [f"r_batch_{k + 1}.jsonl" for k in range(len(paths))]
        assert len(paths) > 2
        parts = [path.read_bytes() for path in paths]
        assert b"".join(parts) == content
        assert all(part.count(b"\n") <= limits.get("max_lines", 40) for part in parts)
        assert all(len(part) <= limits.get("max_bytes", len(content)) for part in parts)
        for path in paths:
            path.unlink()
    first = [path.read_bytes() for path in write_batch(requests, model="m", max_tokens=9, max_lines=20)]
    with refused(ConfigError):  # the second file of two would be sent as well
        write_batch(requests, model="m", max_tokens=9)
    check_refused(ConfigError, write_batch, requests, model="m", max_tokens=9, max_bytes=100)
    left = sorted(tmp_path.glob("*batch*"))
    assert [path.read_bytes() for path in left] == first, "nothing was written over before it was refused"


@pytest.mark.parametrize("limit", [0, -3])
def test_limit_is_a_number_of_questions(folder: Path, tmp_path: Path, limit: int) -> None:
    check_refused(ConfigError, write_requests, folder, tmp_path / "r.jsonl", limit=limit, seed=1)


def test_ids_of_batches_are_short_plain_and_distinct(folder: Path, tmp_path: Path) -> None:
    requests = tmp_path / "r.jsonl"
    write_requests(folder, requests, seed=1)
    ids = [row["id"] for row in read_requests(requests)]
    ids += [f"{'long_' * 20}{name}" for name in ids] + [name.replace("/", "-") for name in ids]
    made = {custom_id(name) for name in ids}
    assert len(made) == len(ids)
    assert all(
        len(name) <= 64 and name.replace("-", "_").isidentifier() for name in made if name[0].isalpha()
    )
    assert custom_id("rubber_cylinder/complex_iid/7@1a2b3c4d") == "rubber_cylinder-complex_iid-7-1a2b3c4d"


def test_jpeg_changes_pixels_and_is_recorded(folder: Path, tmp_path: Path, cli: Cli) -> None:
    ask = ("ask", folder, "--split", "complex_ood", "--limit", 2, "--seed", 1, "--quiet", "--format", "batch")
    said = cli(*ask, "--model", "m", "--jpeg", 95, "--out", "r.jsonl")
    assert "JPEG of quality 95" in said.out
    sent, rows = lines(tmp_path / "r_batch_1.jsonl"), list(read_requests(tmp_path / "r.jsonl"))
    for line, row in zip(sent, rows, strict=True):
        assert row["jpeg"] == 95
        kind, _, content = line["body"]["messages"][0]["content"][0]["image_url"]["url"].partition(",")
        assert kind == "data:image/jpeg;base64"
        image = Image.open(BytesIO(base64.b64decode(content)))
        true = read_png(Path(row["image"])).astype(int)
        assert (image.format, image.size) == ("JPEG", true.shape[1::-1])
        assert 0 < np.abs(np.asarray(image) - true).mean() < np.abs(true - true.mean()).mean()


def test_a_table_has_each_image_once(folder: Path, asked: Path, tmp_path: Path) -> None:
    write_table(asked, tmp_path / "hope.tsv")
    with (tmp_path / "hope.tsv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    requests = list(read_requests(asked))
    assert [row["id"] for row in table] == [each["id"] for each in requests]
    for index, (row, each) in enumerate(zip(table, requests, strict=True)):
        assert row["index"] == str(index)
        assert row["question"] == f"{each['question']} Answer with one word or number."
        assert row["answer"] == right(folder, each)
        assert (row["split"], row["instruction"]) == (each["split"], "short-1")
        first = index if len(row["image"]) > 64 else int(row["image"])
        assert base64.b64decode(table[first]["image"]) == Path(each["image"]).read_bytes()
    assert (
        sum(len(row["image"]) > 64 for row in table) == len({each["image"] for each in requests}) < len(table)
    )


def test_several_images_go_into_a_batch_and_into_a_row_of_a_table(asked: Path, tmp_path: Path) -> None:
    rows = list(read_requests(asked))
    images = [*dict.fromkeys(row.pop("image") for row in rows)]
    requests = write_lines(tmp_path / "r.jsonl", [{**rows[0], "images": images[:3]}])
    (line,) = lines(*write_batch(requests, model="m", max_tokens=9))
    *sent, text = line["body"]["messages"][0]["content"]
    encoded = [base64.b64encode(Path(image).read_bytes()).decode() for image in images[:3]]
    assert [part["image_url"]["url"].partition(",")[2] for part in sent] == encoded
    assert text == {"type": "text", "text": rows[0]["prompt"]}
    write_table(requests, tmp_path / "r.tsv")
    csv.field_size_limit(1 << 24)
    with (tmp_path / "r.tsv").open(newline="") as file:
        (row,) = csv.DictReader(file, delimiter="\t")
    assert json.loads(row["image"]) == encoded
    assert json.loads(row["image_path"]) == [Path(image).name for image in images[:3]]


@pytest.mark.parametrize("jpeg", [None, 90], ids=["png", "jpeg"])
def test_an_image_that_cannot_be_read_is_named(folder: Path, tmp_path: Path, jpeg: int | None) -> None:
    requests = tmp_path / "r.jsonl"
    write_requests(folder, requests, limit=2, seed=1, instruction=INSTRUCTIONS["short"])
    first, second, *_ = rows = list(read_requests(requests))
    (tmp_path / "cut.png").write_bytes(Path(first["image"]).read_bytes()[:200])
    write_lines(requests, [first, {**second, "image": "cut.png"}, *rows[2:]])
    check_refused(DatasetError, write_batch, requests, model="m", max_tokens=9, jpeg=jpeg)
    assert [*tmp_path.glob("*_batch_*")] == []


def test_requests_and_their_images_move_together(folder: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    write_requests(folder, tmp_path / "a" / "r.jsonl", limit=2, seed=1)
    (path,) = {row["image"] for row in lines(tmp_path / "a" / "r.jsonl")[:1]}
    assert not Path(path).is_absolute()
    assert (tmp_path / "a" / path).is_file()
    (tmp_path / "a" / "r.jsonl").rename(tmp_path / "b" / "r.jsonl")
    assert all(Path(row["image"]).is_file() for row in read_requests(tmp_path / "b" / "r.jsonl"))


# What is read.


def answered(asked: Path, tmp_path: Path, rows: Rows, *more: Path, **options: Any) -> Rows:
    """The predictions made of the lines of a file, and of other files."""
    given = write_lines(tmp_path / "results.jsonl", rows)
    write_answers([given, *more], asked, tmp_path / "out.jsonl", **options)
    return lines(tmp_path / "out.jsonl")


def test_results_in_any_order_and_in_several_files_are_those_of_plain_replies(
    asked: Path, tmp_path: Path
) -> None:
    rows = list(read_requests(asked))
    replies = [mock_reply(row["question"]) for row in rows]
    plain = answered(
        asked, tmp_path, [{"id": row["id"], "reply": r} for row, r in zip(rows, replies, strict=True)]
    )
    results = [result(row, reply) for row, reply in zip(rows, replies, strict=True)]
    other = write_lines(tmp_path / "other.jsonl", results[:9])
    found = answered(asked, tmp_path, results[:8:-1], other)
    assert [row.pop("model") for row in plain] == ["results"] * len(rows)
    assert [row.pop("model") for row in found] == ["m"] * len(rows)
    assert found == plain
    with (tmp_path / "table.tsv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL)
        table.writerow(("index", "question", "id", "prediction"))
        table.writerows((k, "multi\nline", row["id"], replies[k]) for k, row in enumerate(rows))
    write_answers(tmp_path / "table.tsv", asked, tmp_path / "out.jsonl", model="m")
    assert [row | {"model": ""} for row in lines(tmp_path / "out.jsonl")] == [
        row | {"model": ""} for row in found
    ]


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ({"content": [{"type": "text", "text": "It is "}, {"type": "text", "text": "red."}]}, "red"),
        ({"content": None, "refusal": "I cannot see the image."}, "<UNK>"),
        ({"content": None, "reasoning_content": "red"}, "<UNK>"),
    ],
    ids=["parts", "refusal", "nothing"],
)
def test_other_forms_of_messages(tmp_path: Path, message: dict[str, Any], answer: str) -> None:
    row = {"id": "a/b/0@1", "question": "What color is the cube?", "answers": ["red", "blue"]}
    write_lines(tmp_path / "asked.jsonl", [{**row, "hop": "a", "split": "b", "question_index": 0}])
    line = result(row)
    line["response"]["body"]["choices"] = [{"message": message}]
    assert [each["answer"] for each in answered(tmp_path / "asked.jsonl", tmp_path, [line])] == [answer]


@pytest.mark.parametrize("kind", FAILURES)
def test_failed_requests_are_missing_and_named(asked: Path, tmp_path: Path, kind: str) -> None:
    first, *others = read_requests(asked)
    rows = [*(result(row, "yes") for row in others), failure(first, kind)]
    check_refused(PredictionsError, answered, asked, tmp_path, rows)
    assert len(answered(asked, tmp_path, rows, partial=True)) == len(others)
    again = write_lines(tmp_path / "again.jsonl", [result(first, "yes")])
    assert len(answered(asked, tmp_path, rows, again)) == len(others) + 1


def test_failed_requests_are_printed(asked: Path, tmp_path: Path, cli: Cli) -> None:
    rows = list(read_requests(asked))
    failed = [failure(row, "expired") for row in rows[:12]]
    write_lines(tmp_path / "results.jsonl", [*failed, *(result(row, "yes") for row in rows[12:])])
    words = ("answers", "results.jsonl", "--requests", asked, "--out", "out.jsonl", "--partial")
    said = cli(*words).out.splitlines()
    assert [line.partition(": ")[0] for line in said[1:11]] == [f"results.jsonl:{k}" for k in range(1, 11)]
    assert said[1].endswith(f'the request "{rows[0]["id"]}" failed (too late)')
    assert said[11].startswith("... and 2 more")
    assert said[12].startswith(f"12 of {len(rows)} requests lack a reply")
    found = json.loads(cli(*words, "--json").out)
    assert (len(found["failed"]), found["missing"], found["replies"]) == (12, 12, len(rows) - 12)


def test_samples_are_runs_with_a_deviation(folder: Path, asked: Path, tmp_path: Path) -> None:
    rows = list(read_requests(asked))
    replies = [("yes", "no", right(folder, row)) for row in rows]
    of_choices = answered(asked, tmp_path, [result(row, *r) for row, r in zip(rows, replies, strict=True)])
    plain = [
        {"id": row["id"], "reply": of_row[k]}
        for k in range(3)
        for row, of_row in zip(rows, replies, strict=True)
    ]
    assert answered(asked, tmp_path, plain, model="m") == of_choices
    assert [row["run"] for row in of_choices] == [1] * len(rows) + [2] * len(rows) + [3] * len(rows)
    (condition,) = score(folder, tmp_path / "out.jsonl", seed=1, partial=True).conditions
    figures = condition.splits["complex_iid"].runs
    assert len(figures) == 3
    assert condition.runs == ("1", "2", "3")
    with refused(PredictionsError):  # a line that was repeated by mistake
        answered(asked, tmp_path, [*plain[: len(rows)], plain[0]])
    check_refused(PredictionsError, answered, asked, tmp_path, plain[:-1])
    check_refused(ConfigError, answered, asked, tmp_path, plain, run="7")


def test_a_model_that_was_trained_on_a_split_is_not_marked_as_untrained(
    asked: Path, tmp_path: Path, cli: Cli
) -> None:
    write_lines(tmp_path / "r.jsonl", [{"id": row["id"], "reply": "yes"} for row in read_requests(asked)])
    words = ("answers", "r.jsonl", "--requests", asked, "--out", "out.jsonl")
    cli(*words, "--run", 3, "--train-size", "25k", "--trained-on", "train")
    row = lines(tmp_path / "out.jsonl")[0]
    assert (row["run"], row["train_size"], row["note"]) == ("3", 25_000, "trained on train")
    assert "not trained" not in cli(*words, "--no-note").out
    assert "note" not in lines(tmp_path / "out.jsonl")[0]
    for wrong in (("--trained-on", "complex_iid"), ("--trained-on", "train", "--no-note")):
        assert "--trained-on" in cli(*words, *wrong, code=2).err
    assert "--train-size" in cli(*words, "--train-size", "many", code=2).err


def test_a_request_that_was_sent_twice_makes_no_second_run(asked: Path, tmp_path: Path, cli: Cli) -> None:
    rows = list(read_requests(asked))
    again = [result(rows[0], "No idea."), result(rows[0], "Hm.")]
    write_lines(tmp_path / "results.jsonl", [*(result(row, "yes") for row in rows[1:]), *again])
    words = ("answers", "results.jsonl", "--requests", asked, "--out", "out.jsonl", "--partial")
    assert "Replies left out, since other requests have fewer than 2: 1" in cli(*words).out
    found = lines(tmp_path / "out.jsonl")
    assert len(found) == len(rows)
    assert all("run" not in row for row in found)


@pytest.mark.parametrize("kind", ["file", "result"])
def test_a_file_or_result_that_is_given_twice_is_refused(asked: Path, tmp_path: Path, kind: str) -> None:
    results = [result(row, "yes") for row in read_requests(asked)]
    again = tmp_path / "results.jsonl" if kind == "file" else write_lines(tmp_path / "b.jsonl", results)
    check_refused(PredictionsError, answered, asked, tmp_path, results, again, partial=True)


def test_replies_that_were_cut_off_are_counted(asked: Path, tmp_path: Path, cli: Cli) -> None:
    results = [result(row, "yes") for row in read_requests(asked)]
    for each in results[:3]:
        each["response"]["body"]["choices"][0] |= {"finish_reason": "length", "message": {"content": ""}}
    write_lines(tmp_path / "results.jsonl", results)
    said = cli("answers", "results.jsonl", "--requests", asked, "--out", "out.jsonl").out
    assert "cut off at the most tokens: 3; ask again with a larger --max-tokens" in said


def test_replies_of_different_forms_are_refused(asked: Path, tmp_path: Path) -> None:
    first, *others = read_requests(asked)
    by_hand = write_lines(tmp_path / "hand.jsonl", [{"id": first["id"], "reply": "yes"}])
    with refused(PredictionsError):
        answered(asked, tmp_path, [result(row, "yes") for row in others], by_hand)


@pytest.mark.parametrize("form", ["batch", "table", "requests"])
def test_replies_with_another_instruction_are_refused(
    folder: Path, asked: Path, tmp_path: Path, form: str
) -> None:
    thought, replies = tmp_path / "thought.jsonl", tmp_path / "replies"
    write_requests(
        folder, thought, splits=["complex_ood"], limit=2, seed=1, instruction=INSTRUCTIONS["think"]
    )
    rows = list(read_requests(thought))
    if form == "batch":
        sent = lines(*write_batch(thought, model="m", max_tokens=9))
        write_lines(replies, [result(rows[0], "yes") | {"custom_id": line["custom_id"]} for line in sent])
        assert len({line["custom_id"] for line in sent}) == len(rows)
        write_answers(replies, thought, tmp_path / "out.jsonl")
    elif form == "table":
        table = "".join(f"{row['id']}\t{row['instruction']}\tyes\n" for row in rows)
        replies.write_text(f"id\tinstruction\tprediction\n{table}")
        write_answers(replies, thought, tmp_path / "out.jsonl")
    else:
        short = list(read_requests(asked))[: len(rows)]
        asked = write_lines(tmp_path / "both.jsonl", [*short, *rows])
        write_lines(replies, [{"id": row["id"], "reply": "yes"} for row in (*short, *rows)])
    check_refused(PredictionsError, write_answers, replies, asked, tmp_path / "mixed.jsonl", partial=True)


@pytest.mark.parametrize(("key", "values"), [("instruction", ("short-1", "think-1")), ("jpeg", (None, 95))])
def test_scores_name_the_condition_and_do_not_mix_two(
    folder: Path, asked: Path, tmp_path: Path, key: str, values: tuple[Any, Any]
) -> None:
    paths = []
    for run, value in enumerate(values):
        rows = [{**row, key: value} for row in read_requests(asked)]
        known = [{name: each for name, each in row.items() if each is not None} for row in rows]
        requests = write_lines(tmp_path / "r.jsonl", known)
        answered(requests, tmp_path, [{"id": row["id"], "reply": "yes"} for row in rows], run=str(run))
        paths.append((tmp_path / "out.jsonl").rename(tmp_path / f"{run}.jsonl"))
    notes = score(folder, paths[1], seed=1, partial=True).notes
    assert any(str(values[1]) in note for note in notes)
    check_refused(PredictionsError, score, folder, paths, seed=1, partial=True)


def test_table_may_have_long_thoughts_and_broken_rows(asked: Path, tmp_path: Path) -> None:
    rows = list(read_requests(asked))
    thought = f"<think>{'x' * 200_000}</think> yes"
    broken = f"{rows[1]['id']}"
    table = ["id\tprediction", f"{rows[0]['id']}\t{thought}", broken, *(f"{r['id']}\tyes" for r in rows[2:])]
    (tmp_path / "results").write_text("\n".join(table) + "\n")
    check_refused(PredictionsError, write_answers, tmp_path / "results", asked, tmp_path / "out.jsonl")
    found = write_answers(tmp_path / "results", asked, tmp_path / "out.jsonl", partial=True)
    assert found.missing == [rows[1]["id"]]
    assert lines(tmp_path / "out.jsonl")[0]["answer"] == "yes"


BAD: Mapping[str, str] = {
    "another file's": '{"custom_id": "none-test-0-1a2b3c4d", "response": null}\n',
    "no response": '{"custom_id": "a", "body": {}}\n',
    "no choices": '{"custom_id": "a", "response": {"status_code": 200, "body": {"choices": []}}}\n',
    "column": '"index"\t"question"\t"prediction"\n"0"\t"Is it?"\t"yes"\n',
    "cells": "id\tprediction\nnone/test/0\n",
    "quotes": 'id\tprediction\n"none/test/0\t"yes',
    "failed": "id\tprediction\nID\tFailed to obtain answer via API.\n",
    "workbook": "PK\x03\x04",
    "list": '[\n{"id": 1}]\n',
    "list in a line": '[{"id": 1, "reply": "yes"}]',
    "another API": '{"custom_id": "a", "result": {"type": "succeeded", "message": {}}}\n',
}


@pytest.mark.parametrize("name", BAD)
def test_bad_results_get_a_sentence(asked: Path, tmp_path: Path, name: str) -> None:
    first = next(read_requests(asked))
    content = BAD[name].replace("ID", first["id"]).replace('"a"', f'"{custom_id(first["id"])}"')
    (tmp_path / "results").write_text(content)
    check_refused(PredictionsError, write_answers, tmp_path / "results", asked, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_mixed_models_are_refused(asked: Path, tmp_path: Path) -> None:
    first, second, *_ = read_requests(asked)
    with refused(PredictionsError):
        answered(asked, tmp_path, [result(first, "yes", model="a"), result(second, "yes", model="b")])


def test_people_and_a_model_are_not_mixed(asked: Path, tmp_path: Path) -> None:
    first, *_ = read_requests(asked)
    with refused(PredictionsError):
        answered(
            asked, tmp_path, [result(first, "yes"), {"id": first["id"], "reply": "yes", "person": "Ada"}]
        )


@pytest.mark.parametrize("form", ["lines", "table"])
def test_what_is_before_a_cut_is_used_only_if_it_is_asked_for(asked: Path, tmp_path: Path, form: str) -> None:
    rows = list(read_requests(asked))
    if form == "lines":
        text = "".join(json.dumps(result(row, "yes")) + "\n" for row in rows)
    else:
        text = "id\tprediction\n" + "".join(f'"{row["id"]}"\t"It is\nyes"\n' for row in rows)
    (tmp_path / "results").write_text(text[:-4])
    check_refused(PredictionsError, write_answers, tmp_path / "results", asked, tmp_path / "out.jsonl")
    found = write_answers(tmp_path / "results", asked, tmp_path / "out.jsonl", partial=True)
    assert found.missing == [rows[-1]["id"]]
    assert len(found.failed) == 1
    assert found.counts["replies"] == len(rows) - 1


def test_score_refuses_answers_to_train(folder: Path, tmp_path: Path) -> None:
    write_requests(folder, tmp_path / "r.jsonl", splits=["train"], limit=3, seed=1)
    replies = [{"id": row["id"], "reply": row["right_answer"]} for row in read_requests(tmp_path / "r.jsonl")]
    answered(tmp_path / "r.jsonl", tmp_path, replies)
    check_refused(PredictionsError, score, folder, tmp_path / "out.jsonl", seed=1, partial=True)


@pytest.mark.parametrize(
    "words",
    [
        ("--format", "batch"),
        ("--model", "m"),
        ("--jpeg", "90"),
        ("--format", "vlmeval", "--jpeg", "101"),
        ("--half-width", "1", "--limit", "5"),
        ("--half-width", "0"),
        ("--seed", "1"),
        ("--max-tokens", "9"),
        ("--level", "6"),
        ("--format", "vlmeval", "--out", "g-0.5"),
        ("--format", "batch", "--model", "m", "--out", "a.v1"),
        ("--instruction", "long"),
    ],
    ids=" ".join,
)
def test_options_that_do_not_fit_are_refused(folder: Path, words: tuple[str, ...], cli: Cli) -> None:
    said = cli("ask", folder, "--out", "r.jsonl", *words, code=2)
    (line,) = (line for line in said.err.splitlines() if line.startswith("clevrhope: "))
    assert words[0].removeprefix("--format") in line or words[-1] in line
