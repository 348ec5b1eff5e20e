"""Episodes with nonce words as requests: what is asked, how strategies answer, and what is scored."""

import base64
import csv
import json
import re
import shutil
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any
from zlib import crc32

import fake_renderer
import numpy as np
import numpy.typing as npt
import pytest
from building import Cli, build_demo
from made_folder import write_lines
from nonce_strategies import STRATEGIES, View, views
from PIL import Image

from clevrhope.dataset.nonce_text import in_real_words
from clevrhope.errors import ConfigError, DatasetError, PredictionsError
from clevrhope.images.settings import BlenderSettings
from clevrhope.metrics.answers import write_answers
from clevrhope.metrics.episodes import Episodes
from clevrhope.metrics.harness_files import write_batch
from clevrhope.metrics.measures import NONCE
from clevrhope.metrics.nonce import paired_flags, score_nonce
from clevrhope.metrics.nonce_requests import NonceRequests, messages
from clevrhope.metrics.request_files import read_requests
from clevrhope.metrics.score_tables import scores_lines
from clevrhope.metrics.scores_json import scores_json
from clevrhope.metrics.shares import score_flags
from clevrhope.metrics.survey import write_survey
from clevrhope.replies.instructions import INSTRUCTIONS
from clevrhope.scenes.vocabulary import default_vocabulary
from clevrhope.splits.nonce.draws import Draws
from clevrhope.splits.nonce.episodes import COMPLEX, FORMS, N_A, EpisodeStream
from clevrhope.splits.nonce.kinds import NONCE_SPLITS
from wording import check_words, refused

N = 33
"""Three turns of all forms."""

_SIMPLE = re.compile(r"(?:Is there a|How many|What \w+ is the)(?: \w+){2,3}(?: are there)?\?.*", re.DOTALL)
"""Questions that are not complex; the model that reads messages does not understand others, and says no."""

TYPES = [(kind, [*values]) for kind, values in default_vocabulary().attribute_types]
Rows = list[dict[str, Any]]


def readable(scene: Mapping[str, Any]) -> Any:
    """(32, 48, 3): a stripe an object, whose shades are the numbers of its values."""
    pixels = np.zeros((fake_renderer.HEIGHT, fake_renderer.WIDTH, 3), dtype=np.uint8)
    for place, each in enumerate(scene["objects"]):
        size, color, material, shape = (1 + values.index(each[kind]) for kind, values in TYPES)
        pixels[place * 3 : place * 3 + 3] = (10 * size + shape, color, material)
    return pixels


def seen(url: str) -> tuple[tuple[int, ...], ...]:
    """The values of the objects that such an image shows."""
    pixels = np.asarray(Image.open(BytesIO(base64.b64decode(url.partition(",")[2]))))
    stripes = (tuple(map(int, row)) for row in pixels[::3, 0] if row.any())
    return tuple(
        (first // 10 - 1, color - 1, material - 1, first % 10 - 1) for first, color, material in stripes
    )


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `told` and `found`, datasets of episodes with images that can be read."""
    root = tmp_path_factory.mktemp("nonce")
    patch = pytest.MonkeyPatch()
    patch.setattr(fake_renderer, "pixels_of", readable)
    for types in ("told", "found"):
        rendering = BlenderSettings(width=fake_renderer.WIDTH, height=fake_renderer.HEIGHT)
        choices: dict[str, Any] = {"hops": ("none",), "splits": (), "images": "h5", "rendering": rendering}
        build_demo(root / types, nonce=N, nonce_types=types, **choices)
    patch.undo()
    return root


def lines(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# A model that sees what a request's messages contain, and nothing else.


def view_of(content: Sequence[Mapping[str, Any]], *, types: str) -> View:
    """What a strategy sees of an episode, from the parts of a message with a support and a question."""
    texts = [part["text"] for part in content if part["type"] == "text"]
    shown = [seen(part["image_url"]["url"]) for part in content if part["type"] == "image_url"]
    question = texts[-1].removesuffix(f" {INSTRUCTIONS['short'].text}")
    words_of: dict[str, list[str]] = {}
    if types == "told":
        for part in texts[0].removeprefix("Here ").removesuffix(".").split(", and "):
            words, _, kind = part.partition(" are words for ")
            words_of[kind.removesuffix("s")] = re.split(", | and ", words)
    said = [re.sub("^this is a |\\.$", "", text.lower()).split() for text in texts if text.startswith("This")]
    names = [kind for kind, _ in TYPES]
    kind_b = min(("size", "material", "shape"), key=lambda kind: (len(words_of.get(kind, "1234")), kind))
    kind_a = next(kind for kind in ("color", "shape") if kind in words_of and kind != kind_b)
    asked = [word for word in re.findall(r"\w+", question) if word not in ("thing", "things")]
    order = [
        sorted(words_of[kind], key=lambda word: not any(each.startswith(word) for each in asked))
        for kind in (kind_a, kind_b)
    ]
    numbers = {word: n for n, word in enumerate([*order[0], *order[1]])}
    of_query = next((k for k, kind in enumerate(names) if f"What {kind}" in question), None)
    options = {"Is": ["no", "yes"], "How": ["0", "1", "2"]}.get(question.split()[0])
    return View(
        {"Is": "exist", "How": "count"}.get(question.split()[0], "query"),
        options or TYPES[of_query or 0][1],
        (names.index(kind_a), names.index(kind_b)),
        of_query,
        tuple(each[0] for each in shown[:-1]),
        tuple(tuple(sorted(numbers[word] for word in each if word in numbers)) for each in said),
        shown[-1],
        tuple(TYPES[of_query][1]) if of_query is not None else (),
        Draws(0, "unused", 0),
    )  # fmt: skip


def picked(view: View, answers: Sequence[str]) -> str:
    """One of the answers between which a strategy chooses; the same wherever the same is seen."""
    mentions = [(0 in said, N_A in said) for said in view.said]
    return sorted(answers)[crc32(repr((mentions, view.scene)).encode()) % len(answers)]


def replied(answer: str, phrase: str) -> str:
    """A reply in the words of the question."""
    sentences = {"yes": f"Yes, there is a {phrase}.", "no": f"No, I see no {phrase} in the image."}
    return sentences.get(answer, f"The answer is {answer}, as the {phrase} shows.")


def answered(body: Mapping[str, Any], strategy: Callable[[View], Sequence[str]]) -> str:
    """The reply to what a line of a batch has as its body."""
    (message,) = body["messages"]
    view = view_of(message["content"], types="told")
    question = message["content"][-1]["text"]
    if not _SIMPLE.fullmatch(question) and not question.startswith("Is this"):
        return "No."
    if question.startswith("Is this"):
        (number,) = {0, N_A} & {n for n in (0, N_A) if _names(message, view, n)}
        is_one = view.scene[0][view.kinds[number >= N_A]] == view.meaning(number)
        return "Yes, it is." if is_one else "No."
    words = re.sub(r"\?.*", "", question).split()
    return replied(picked(view, strategy(view)), " ".join(words[-2:] if words[-1] != "there" else words[2:4]))


def _names(message: Mapping[str, Any], view: View, number: int) -> bool:
    """Whether the question is about a word with this number: the first of its type, as it is asked about."""
    word = message["content"][-1]["text"].split()[3].rstrip("?")
    texts = [part["text"].lower() for part in message["content"] if part["type"] == "text"]
    said = [word in text for text in texts if text.startswith("this")]
    return said == [number in each for each in view.said]


DETERMINISTIC = [name for name in STRATEGIES if "p = 0" not in name]


def own_count(name: str) -> list[tuple[float, float]]:
    """The accuracy of a strategy in `unseen` and `seen`, in percent, on the episodes themselves, by form."""
    rights: dict[str, list[list[bool]]] = {form.name: [] for form in FORMS if form.asks != COMPLEX}
    stream = EpisodeStream(TYPES, seed=5)
    simple = (each for each in stream.episodes(0, N) if each.group.form.asks != COMPLEX)
    for episode, of_conditions in views(simple, TYPES):
        rights[episode.group.form.name].append(
            [picked(view, STRATEGIES[name](view)) == episode.answer for view in of_conditions]
        )
    shares = (100 * np.mean(each, axis=0) for each in rights.values())
    return [(float(unseen), float(of_seen)) for unseen, of_seen in shares]


@pytest.fixture(scope="module")
def batch(folders: Path) -> Path:
    """Requests about all episodes of `told` with their batch: the test, words, and in real words."""
    out = folders / "asked.jsonl"
    NonceRequests(folders / "told", seed=1, instruction=INSTRUCTIONS["short"]).write(out)
    write_batch(out, model="mock", max_tokens=64)
    return out


def results(
    batch: Path, name: str, answer: Callable[[Mapping[str, Any]], str], controls: Sequence[str]
) -> Path:
    """A batch's results by a model, as far as these controls are asked."""
    rows, out = [], batch.with_name(f"{name}.jsonl")
    asked = {row["id"]: row for row in lines(batch)}
    for row, line in zip(asked.values(), lines(batch.with_name("asked_batch_1.jsonl")), strict=True):
        if row["control"] in controls:
            choice = {"message": {"role": "assistant", "content": answer(line["body"])}}
            body = {"model": name, "choices": [choice]}
            response = {"status_code": 200, "body": body}
            rows.append({"custom_id": line["custom_id"], "response": response, "error": None})
    return write_lines(out, rows)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_a_server_that_answers_by_a_strategy_scores_as_the_strategy(
    folders: Path, batch: Path, tmp_path: Path, name: str
) -> None:
    model = re.sub(r"\W+", "_", name)
    controls = ["none", "words"] if name == "symbolic learner" else ["none"]
    replies = results(batch, model, lambda body: answered(body, STRATEGIES[name]), controls)
    out = tmp_path / "predictions.jsonl"
    counts = write_answers(replies, batch, out, folder=folders / "told", partial=True).counts
    assert counts["unreadable"] == 0
    found = score_nonce(folders / "told", out, seed=1, bootstrap=0).conditions[0].splits["nonce"]
    by_form = [each.mean for form, each in found.by("form").items() if not form.startswith(COMPLEX)]
    expected = own_count(name)
    assert [(each["unseen"].value, each["seen"].value) for each in by_form] == [
        pytest.approx(pair) for pair in expected
    ]
    for each, (unseen, of_seen) in zip(by_form, expected, strict=True):
        assert each["gap"].value == pytest.approx(unseen - of_seen)
    mean = found.mean
    if "words" in controls:
        assert (mean["known"].value, mean["words_unseen"].value, mean["words_seen"].value) == (100, 100, 100)
        assert (mean["known_gap"].value, mean["known_gap"].n) == (0, N)


class _Server(BaseHTTPRequestHandler):
    """Answers chat completions by the strategy of whole phrases."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = answered(body, STRATEGIES["whole phrases only"])
        content = {"model": "mock", "choices": [{"message": {"role": "assistant", "content": reply}}]}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


def test_a_server_is_asked_and_scored_by_commands(folders: Path, tmp_path: Path, cli: Cli) -> None:
    ask = ["ask", folders / "told", "--nonce", "--control", "none", "--limit", 9, "--seed", 1, "--quiet"]
    said = cli(*ask, "--format", "batch", "--model", "mock", "--out", "asked.jsonl").out
    rows_asked = lines(tmp_path / "asked.jsonl")
    n, n_images = len(rows_asked), sum(len(row["context"]) for row in rows_asked)  # a sentence has no image
    assert said.startswith(f"{n} requests with {n_images} images\n")
    rows = []
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        for line in lines(tmp_path / "asked_batch_1.jsonl"):
            address = f"http://127.0.0.1:{server.server_address[1]}{line['url']}"
            content = json.dumps(line["body"]).encode()
            with urllib.request.urlopen(urllib.request.Request(address, content)) as reply:
                response = {"status_code": 200, "body": json.load(reply)}
            rows.append({"custom_id": line["custom_id"], "response": response})
        server.shutdown()
    write_lines(tmp_path / "results.jsonl", rows)
    command = said.splitlines()[-1].replace("RESULTS.jsonl...", "results.jsonl").split()
    cli(*command[1:])
    cli("score", folders / "told", "predictions.jsonl", "--nonce", "--partial", "--seed", 1, "--quiet",
        "--csv", "scores.csv")  # fmt: skip
    table = [*csv.DictReader((tmp_path / "scores.csv").read_text().splitlines())]
    (of_seen,) = (
        row for row in table if row["measure"] == "seen" and not row["by"] and row["is_mean"] == "1"
    )
    assert (float(of_seen["value"]), int(of_seen["n"])) == (100, n // 2)


# What is asked.


def asked(folder: Path, **choices: Any) -> Rows:
    """The requests about a folder's episodes, as a file has them."""
    out = folder.parent / f"{folder.name}.jsonl"
    NonceRequests(folder, **{"seed": 1, **choices}).write(out)
    return lines(out)


def test_controls_change_one_thing(folders: Path) -> None:
    controls = ["none", "words", "real", "text", "bare", "told"]
    rows = asked(folders / "found", controls=controls, limit=2)
    by = {name: [row for row in rows if row["control"] == name] for name in controls}
    n = len(by["none"])
    assert {name: len(of) for name, of in by.items()} == {**dict.fromkeys(controls, n), "words": 4 * n}
    for test, real, text, bare, told in zip(*(by[name] for name in controls if name != "words"), strict=True):
        assert test["question_index"] == real["question_index"] == told["question_index"]
        images = [each["image"] for each in test["context"]]
        assert [each["image"] for each in real["context"]] == images
        assert [each["text"] for each in text["context"]] == [each["text"] for each in test["context"]]
        assert "image" not in text
        assert not any("image" in each for each in text["context"])
        assert (bare["context"], bare["image"], bare["question"]) == ([], test["image"], test["question"])
        assert told["context"][1:] == test["context"]
        assert re.fullmatch(
            r"Here .* are words for \w+s, and .* are words for \w+s\.", told["context"][0]["text"]
        )
        assert all(
            f" {value}" not in each["text"] for each in test["context"] for _, of in TYPES for value in of
        )
        assert real["question"] != test["question"]
    with refused(ConfigError):
        NonceRequests(folders / "told", controls=["told"], seed=1)


def test_the_mapping_is_in_no_request(folders: Path) -> None:
    """What a request says is the same for every value that a word may have, but for images."""
    episodes = Episodes(folders / "told")
    for row in asked(folders / "told", controls=["none", "words"]):
        index = row["question_index"] // (4 if row["control"] == "words" else 1)
        texts = " ".join([*(each["text"] for each in row["context"]), row["question"]]).lower()
        values = {value for value in episodes.meanings(index).values() if re.search(rf"\b{value}\b", texts)}
        assert values == set()
        for part in row["context"][0]["text"].removeprefix("Here ").split(", and "):
            words = re.split(", | and ", part.partition(" are words")[0])
            assert words == sorted(words)  # their order says nothing


def test_probes_are_about_kinds_that_both_conditions_show(folders: Path) -> None:
    every: dict[str, list[int]] = {}

    def image_kind(image: int) -> set[str]:
        values = np.unravel_index(image % 96, [len(of) for _, of in TYPES])
        return {of[number] for (_, of), number in zip(TYPES, values, strict=True)}

    for types in ("told", "found"):
        episodes = Episodes(folders / types)
        tables = [table.support_idxs for table in episodes.conditions.values()]
        every[types] = np.unique(tables)[1:].tolist() if np.min(tables) < 0 else np.unique(tables).tolist()
        for row in range(N):
            supports = [table.support_idxs[row] for table in episodes.conditions.values()]
            form = episodes.table.forms[episodes.table.question_families[row]]
            for number in range(4):
                both = [episodes.probe(split, row, number) for split in NONCE_SPLITS]
                if form != "exist_3x2" or number:
                    assert both[0] == both[1]
                for split, (image, value, answer) in zip(NONCE_SPLITS, both, strict=True):
                    values = np.unravel_index(image % 96, [len(of) for _, of in TYPES])
                    names = {of[number] for (_, of), number in zip(TYPES, values, strict=True)}
                    assert (value in names) == (answer == "yes")
                    asked_about = episodes.question(f"{split}_words", 4 * row + number).text.split()
                    word = asked_about[3].rstrip("?")
                    assert episodes.meanings(row)[word] == value
                    assert word in episodes.question(split, row).text
                    same_kind = {*episodes.meanings(row).values()} & names
                    there = [each for each in every[types] if image_kind(each) >= same_kind]
                    assert image in there
                    assert all(image not in each for each in supports) or len(there) <= 2 * 11


def test_a_limit_takes_whole_groups_and_less_of_it_is_a_part(folders: Path) -> None:
    more, fewer = (
        {row["question_index"] for row in asked(folders / "told", controls=["none"], limit=limit, seed=4)}
        for limit in (11, 4)
    )
    assert fewer < more
    groups = Episodes(folders / "told").groups
    for chosen in (more, fewer):
        assert {k for k in range(N) if groups[k] in groups[[*chosen]]} == chosen
    forms = Episodes(folders / "told").table.question_families
    assert {int(forms[k]) for k in more} == {0, 1, 2, 3, 4}


def test_requests_are_told_as_json_and_their_answers_are_no_requests(
    folders: Path, tmp_path: Path, cli: Cli
) -> None:
    ask = ["ask", folders / "told", "--nonce", "--limit", 2, "--seed", 1, "--quiet", "--format", "html"]
    found = json.loads(cli(*ask, "--out", "people.html", "--json").out)
    assert found["files"] == ["people.jsonl", "people_A.html", "people_B.html"]
    assert found["next"].endswith(" --out answered_people.jsonl")
    page = (tmp_path / "people_A.html").read_text("utf-8")
    assert "Objects are cubes, spheres and cylinders" in page
    other = {kind: [f"{value}er" for value in values] for kind, values in TYPES}
    write_survey(tmp_path / "people.jsonl", tmp_path / "own.html", page="A", attributes=other)
    assert "<p>Objects differ in size, color, material, shape.</p>" in (tmp_path / "own.html").read_text(
        "utf-8"
    )


def test_turns_of_a_support(folders: Path) -> None:
    out = folders / "turns.jsonl"
    NonceRequests(folders / "told", seed=1, controls=["none"], support="turns", limit=2).write(out)
    for row in read_requests(out):
        said = messages(row)
        assert [role for role, _ in said] == ["user", "assistant"] * (len(row["context"]) - 1) + ["user"]
        assert said[0][1][0] == ("text", row["context"][0]["text"])
        assert said[1][1] == [("text", row["context"][1]["text"])]
        assert said[-1][1] == [("image", row["image"]), ("text", row["question"])]
        (one,) = messages({**row, "support": "message"})
        assert [kind for kind, _ in one[1]] == ["text", *["image", "text"] * len(row["context"])]


def test_a_table_of_vlmevalkit_has_lists_of_images(folders: Path, tmp_path: Path, cli: Cli) -> None:
    ask = ["ask", folders / "told", "--nonce", "--control", "none", "--limit", 2, "--seed", 1, "--quiet"]
    cli(*ask, "--format", "vlmeval", "--out", "table.tsv")
    csv.field_size_limit(1 << 24)
    with (tmp_path / "table.tsv").open(newline="") as file:
        rows = [*csv.DictReader(file, delimiter="\t")]
    for row, request in zip(rows, lines(tmp_path / "table.jsonl"), strict=True):
        images, names = json.loads(row["image"]), json.loads(row["image_path"])
        paths = [*(each["image"] for each in request["context"][1:]), request["image"]]
        assert [base64.b64decode(each) for each in images] == [
            (tmp_path / path).read_bytes() for path in paths
        ]
        assert names == [Path(path).name for path in paths]
        assert row["question"].startswith(f"{request['context'][0]['text']} Image 1: This is a ")
        assert f"Image {len(images)}: {request['question']} Answer" in row["question"]
        assert row["answer"] == request["right_answer"]
        assert request["support"] == "list"


# What is read and refused.


def test_replies_are_put_into_real_words_first() -> None:
    meanings = {"zovek": "red", "zov": "blue", "tumab": "cube"}
    assert in_real_words("Zovek TUMABS, not zov tumab.", meanings) == "red cubes, not blue cube."
    assert in_real_words("a zoveky one", meanings) == "a zoveky one"


def test_what_does_not_fit_is_refused(folders: Path, tmp_path: Path) -> None:
    told, out = folders / "told", tmp_path / "p.jsonl"
    requests = folders / "told.jsonl"
    rows = asked(told, controls=["none", "real"], limit=2)
    replies = [{"id": row["id"], "reply": "yes"} for row in rows]

    def read(rows: Rows = rows, replies: Rows = replies, folder: Path | None = told, cut: int = 0) -> None:
        write_lines(requests, [{**row, "image": "x.png"} for row in rows])
        write_lines(tmp_path / "r.jsonl", replies)
        if cut:
            content = (tmp_path / "r.jsonl").read_text()
            (tmp_path / "r.jsonl").write_text(content[:-cut])
        write_answers(tmp_path / "r.jsonl", requests, out, folder=folder)

    read()
    assert {(row["control"], row["support"]) for row in lines(out)} == {
        ("none", "message"),
        ("real", "message"),
    }
    with refused(PredictionsError):
        read(folder=None)
    with refused(PredictionsError):  # of a dataset with other supports
        read(folder=folders / "found")
    renamed = [{**row, "context": [{"text": "This is a zovek."}]} for row in rows]
    with refused(PredictionsError):
        read(rows=renamed)
    with refused(PredictionsError):
        read(rows=[*rows[:-1], {**rows[-1], "question_index": 4 * N}])
    with refused(PredictionsError):  # replies to another control
        read(replies=[*replies, {"id": rows[0]["id"].replace("unseen", "unseen_bare"), "reply": "yes"}])
    with refused(PredictionsError):
        read(rows=[*rows[:-1], {**rows[-1], "support": "turns"}])
    with refused(PredictionsError):
        read(rows=[*rows[:-1], {**rows[-1], "split": "complex_iid"}])
    with refused(PredictionsError):
        read(cut=9)


def test_options_that_do_not_go_together_are_refused(folders: Path, cli: Cli) -> None:
    ask = ["ask", folders / "told", "--out", "r.jsonl"]
    wrong: list[list[object]] = [
        ["--nonce", "--split", "complex_iid"],
        ["--control", "real"],
        ["--nonce", "--control", "rael"],
        ["--nonce", "--control", "text", "--format", "vlmeval", "--out", "r.tsv"],
        ["--nonce", "--control", "real", "--format", "html", "--out", "r.html"],
        ["--nonce", "--support", "turns", "--format", "html", "--out", "r.html"],
        ["--nonce", "--format", "html", "--limit", 9, "--seed", 1, "--out", "r.html"],
    ]
    for options in wrong:
        check_words(cli(*ask, *options, code=2).err.strip())
    write_lines(
        Path("p.jsonl"), [{"hop": "none", "split": "nonce_seen_real", "question_index": 0, "answer": "no"}]
    )
    check_words(cli("score", folders / "told", "p.jsonl", "--nonce", "--by", "answer", code=2).err.strip())
    check_words(
        cli("score", folders / "told", "p.jsonl", "--nonce", "--seed", 1, "--quiet", code=2).err.strip()
    )


def test_folders_without_episodes_are_refused(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "told", tmp_path / "other")
    manifest = tmp_path / "other" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "nonce": {}}))
    with refused(DatasetError):
        NonceRequests(tmp_path / "other", seed=1)


# What is scored.


@pytest.fixture(scope="module")
def four_turns(tmp_path_factory: pytest.TempPathFactory) -> Episodes:
    """Four groups of each form, so that an accuracy of 0 is below chance by its interval."""
    out = tmp_path_factory.mktemp("four") / "turns"
    build_demo(out, nonce=44, hops=("none",), splits=(), render=False)
    return Episodes(out)


def predicted(key: Episodes, out: Path, answer: Callable[[str, str], str], splits: Sequence[str]) -> Path:
    """Predictions of these splits, by their split and right answer."""
    place = {"hop": "none", "asked_of": key.asked_of}
    return write_lines(out, [
        {**place, "split": split, "question_index": k, "answer": answer(split, table.answer_names[number])}
        for split, table in key.conditions.items() if split in splits
        for k, number in enumerate(table.answers.tolist())
    ])  # fmt: skip


def test_unseen_below_chance_is_explained_but_not_for_a_silent_or_a_wrong_model(
    four_turns: Episodes, tmp_path: Path
) -> None:
    """An accuracy below chance in both conditions, or of a form that asks otherwise, has other reasons."""

    def below(wrong: Sequence[str], *, reply: str = "") -> list[str]:
        """Where `score` says so of a model that is wrong in some conditions, and right in others."""

        def answer(split: str, right: str) -> str:
            other = {"yes": "no", "no": "yes"}.get(right, "0" if right == "1" else "1")
            return reply or (other if split in wrong else right)

        out = predicted(four_turns, tmp_path / "p.jsonl", answer, NONCE_SPLITS)
        scores = score_nonce(four_turns.folder, out, seed=1, bootstrap=100)
        if wrong == ["nonce_unseen"]:
            check_words("\n".join(scores_lines(scores)))
        found: list[str] = scores_json(scores)["conditions"][0]["below_chance"]
        return found

    assert below(["nonce_unseen"]) == ["form exist_3x3", "form exist_3x2"]
    assert below(["nonce_seen"]) == below([]) == below([*NONCE_SPLITS]) == below([], reply="<UNK>") == []


def test_a_form_has_its_chance_where_its_last_group_is_cut(tmp_path: Path) -> None:
    """Of 8 episodes, two are of `count`, whose groups have three."""
    build_demo(tmp_path / "cut", nonce=8, hops=("none",), splits=(), render=False)
    key = Episodes(tmp_path / "cut")
    out = predicted(key, tmp_path / "p.jsonl", lambda _, right: right, NONCE_SPLITS)
    found = score_nonce(tmp_path / "cut", out, seed=1, bootstrap=0).conditions[0].splits["nonce"].by("form")
    assert found["count_3x3"].mean["chance"].value == pytest.approx(100 / 3)
    assert found["exist_3x3"].mean["chance"].value == 50


def test_one_condition_alone_has_no_scores_and_a_sentence_that_says_why(
    four_turns: Episodes, tmp_path: Path
) -> None:
    out = predicted(four_turns, tmp_path / "p.jsonl", lambda _, right: right, ["nonce_unseen"])
    scores = score_nonce(four_turns.folder, out, seed=1, bootstrap=0, partial=True)
    assert scores.conditions[0].splits["nonce"].mean["unseen"].value is None
    assert "No episode was answered in both conditions" in "\n".join(scores_lines(scores))


def test_known_words_need_all_eight_probes(folders: Path, tmp_path: Path) -> None:
    episodes = Episodes(folders / "told")
    rows = asked(folders / "told", controls=["none", "words"])
    answers = {row["id"]: episodes.answer(row) for row in rows}
    wrong = next(row for row in rows if row["split"] == "nonce_seen_words" and row["question_index"] == 5)
    answers[wrong["id"]] = "no" if answers[wrong["id"]] == "yes" else "yes"
    names = ("hop", "split", "question_index", "asked_of")
    out = tmp_path / "p.jsonl"
    write_lines(out, [{**{name: row[name] for name in names}, "answer": answers[row["id"]]} for row in rows])
    mean = score_nonce(folders / "told", out, seed=1, bootstrap=0).conditions[0].splits["nonce"].mean
    assert (mean["known"].value, mean["known"].n) == (pytest.approx(100 * (N - 1) / N), N)
    assert (mean["known_seen"].value, mean["known_seen"].n) == (100, N - 1)
    assert (mean["group_unseen"].value, mean["group_unseen"].n) == (100, 15)
    assert mean["words_seen"].value == pytest.approx(100 * (4 * N - 1) / (4 * N))
    assert mean["real_seen"].value is None
    assert (mean["gap"].value, mean["half_width"].value) == (0, None)


@pytest.mark.parametrize(("form", "error"), [("exist_3x3", 0.1), ("exist_3x2", 0.1), ("count_3x3", 0.3)])
def test_the_gap_by_noise_is_that_of_the_learner_with_noise(form: str, error: float) -> None:
    """Of the strategy that composes and loses the words with one misperceived image, at any error."""
    (of_form,) = (each for each in FORMS if each.name == form)
    group = EpisodeStream(TYPES, seed=3).group(of_form, 0)
    n_images = [sum(0 in said or N_A in said for said in of) for of in group.mentions]
    chance = 1 / of_form.n_scenes
    known = [(1 - error) ** n for n in n_images]
    of_unseen, of_seen = (share + (1 - share) * chance for share in known)
    n = 1_000_000.0
    sums = {"episodes": n, "unseen": 0.0, "seen": n * of_seen, "sixths": 6 * n * chance}
    sums |= {
        "squared_sixths": 36 * n * chance**2,
        "images_unseen": n * n_images[0],
        "images_seen": n * n_images[1],
    }
    gap, _ = NONCE["noise_gap"].formula({name: np.asarray([value]) for name, value in sums.items()})
    assert gap[0] == pytest.approx(of_unseen - of_seen)
    sums["squared_sixths"] *= 1.1  # several levels of chance
    assert np.isnan(
        NONCE["noise_gap"].formula({name: np.asarray([each]) for name, each in sums.items()})[0][0]
    )


def test_the_half_width_is_that_of_redrawn_replies_and_of_bootstraps() -> None:
    """A model that misperceives a quarter of the images, which episodes share, and guesses then."""
    n, rng, n_images = 300, np.random.default_rng(0), 12 * 96
    needs = np.zeros((2, n, n_images))  # the images of either word, in `unseen` and `seen`
    firsts, chances = [], []
    stream = EpisodeStream(TYPES, seed=2)
    for row, (episode, of_conditions) in enumerate(views(stream.episodes(0, n), TYPES)):
        if episode.member == 0:
            places, first = rng.permutation(12), row
        for condition, view in enumerate(of_conditions):
            values = np.asarray(view.support)
            combinations = np.ravel_multi_index(tuple(values.T), [len(of) for _, of in TYPES])
            is_needed = [0 in said or N_A in said for said in view.said]
            needs[condition, row, (places[: len(values)] * 96 + combinations)[is_needed]] = 1
        firsts.append(first)
        chances.append(1 / episode.group.form.n_scenes)
    groups = np.unique(firsts, return_inverse=True)[1]

    def replies() -> npt.NDArray[np.bool_]:
        """(2, N) whether the model is right."""
        is_lost = needs @ (rng.random(n_images) < 0.25) > 0
        right: npt.NDArray[np.bool_] = ~is_lost | (rng.random((2, n)) < chances)
        return right

    def drawn(size: int) -> Any:
        """(size,) how often each of so many is drawn."""
        return np.bincount(rng.integers(size, size=size), minlength=size)

    unseen, in_seen = replies()[:, np.newaxis]
    measures = {name: NONCE[name] for name in ("gap", "half_width")}
    whole, there = {"": np.zeros(n, dtype=np.int32)}, np.ones_like(unseen)
    flags = paired_flags(there, unseen, in_seen, groups)
    found = score_flags(flags, measures, whole, groups, bootstrap=1000, seed=(1,))[""][0].scores()
    interval, half_width = found["gap"].interval, found["half_width"].value
    assert interval is not None
    assert half_width is not None
    assert (interval.high - interval.low) / 2 == pytest.approx(half_width, rel=0.1)
    # If episodes were on their own, the formula would be that of single episodes.
    alone = paired_flags(there, unseen, in_seen, np.arange(n))
    of_alone = score_flags(alone, measures, whole, np.arange(n))[""][0].scores()
    difference = (unseen.astype(int) - in_seen)[0]
    b, c, gap = (difference > 0).sum(), (difference < 0).sum(), difference.mean()
    assert of_alone["half_width"].value == pytest.approx(196 * np.sqrt((b + c) / n**2 - gap**2 / n))
    # What the interval is of: other images misperceived, other guesses.
    redrawn = [np.subtract(*replies().astype(int)).mean() for _ in range(200)]
    assert 196 * np.std(redrawn) == pytest.approx(half_width, rel=0.2)
    # Drawing groups and images counts the noise of an episode itself twice, so it is a bound from above.
    differing = np.abs(needs[0] - needs[1])
    share_of = differing / differing.sum(axis=1, keepdims=True)
    weights = [drawn(groups.max() + 1)[groups] * (share_of @ drawn(n_images)) for _ in range(200)]
    spread = 196 * np.std([(of * difference).sum() / of.sum() for of in weights])
    assert half_width < spread < 1.5 * half_width


# The pages for people.


def test_two_pages_have_each_query_once_and_ten_episodes_of_each_condition(
    folders: Path, tmp_path: Path, cli: Cli
) -> None:
    cli(
        "ask",
        folders / "told",
        "--nonce",
        "--format",
        "html",
        "--limit",
        6,
        "--seed",
        2,
        "--out",
        "page.html",
    )
    rows = lines(tmp_path / "page.jsonl")
    pages = {page: [row for row in rows if row["page"] == page] for page in "AB"}
    for page, of_page in pages.items():
        data = json.loads(
            re.findall(r'id="data">(.*?)</script>', (tmp_path / f"page_{page}.html").read_text())[0]
        )
        assert [each["id"] for each in data["questions"]] == [row["id"] for row in of_page]
        groups = Episodes(folders / "told").groups[[row["question_index"] for row in of_page]]
        assert len({*groups.tolist()}) == len(of_page) == 12
        assert sum(row["split"] == "nonce_unseen" for row in of_page) == 6
        for each, row in zip(data["questions"], of_page, strict=True):
            assert [said["text"] for said in each["context"]] == [said["text"] for said in row["context"]]
            for said, asked_for in zip(each["context"], row["context"], strict=True):
                image = None if said["image"] is None else data["images"][said["image"]].partition(",")[2]
                path = asked_for.get("image")
                assert (image and base64.b64decode(image)) == (path and (tmp_path / path).read_bytes())
    one, other = ([(row["question_index"], row["split"]) for row in of_page] for of_page in pages.values())
    assert [row for row, _ in one] == [row for row, _ in other]
    assert all(split != of_other for (_, split), (_, of_other) in zip(one, other, strict=True))
    files = [
        write_lines(
            tmp_path / f"{page}.jsonl", [{"id": row["id"], "reply": "no", "person": page} for row in of_page]
        )
        for page, of_page in pages.items()
    ]
    cli("answers", *files, "--requests", "page.jsonl", "--dataset", folders / "told", "--out", "people.jsonl")
    assert len(lines(tmp_path / "people.jsonl")) == 24
    cli("score", folders / "told", "people.jsonl", "--nonce", "--partial", "--seed", 1)
