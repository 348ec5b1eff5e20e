"""Scores of episodes with nonce words: of a server that answers by strategies, and what the numbers are."""

import base64
import csv
import json
import re
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from building import Cli, build_demo
from made_folder import write_lines
from nonce_asking import TYPES, N, asked, build_episodes, lines
from nonce_strategies import STRATEGIES, View, views
from PIL import Image

from benchmarks.nonce_intervals import gap_and_half_width, half_widths
from clevrhope.errors import PredictionsError
from clevrhope.metrics.answers import write_answers
from clevrhope.metrics.episodes import Episodes
from clevrhope.metrics.harness_files import write_batch
from clevrhope.metrics.measures import NONCE
from clevrhope.metrics.nonce import score_nonce
from clevrhope.metrics.nonce_requests import NonceRequests
from clevrhope.metrics.score_tables import scores_lines
from clevrhope.metrics.scores_json import scores_json
from clevrhope.replies.instructions import INSTRUCTIONS
from clevrhope.splits.nonce.draws import Draws
from clevrhope.splits.nonce.episodes import COMPLEX, FORMS, N_A, EpisodeStream
from clevrhope.splits.nonce.kinds import NONCE_SPLITS
from wording import check_words, refused

_SIMPLE = re.compile(r"(?:Is there a|How many|What \w+ is the)(?: \w+){2,3}(?: are there)?\?.*", re.DOTALL)
"""Questions that are not complex; the model that reads messages does not understand others, and says no."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_episodes(tmp_path_factory.mktemp("nonce") / "told")


def seen(url: str) -> tuple[tuple[int, ...], ...]:
    """The values of the objects that such an image shows."""
    pixels = np.asarray(Image.open(BytesIO(base64.b64decode(url.partition(",")[2]))))
    stripes = (tuple(map(int, row)) for row in pixels[::3, 0] if row.any())
    return tuple(
        (first // 10 - 1, color - 1, material - 1, first % 10 - 1) for first, color, material in stripes
    )


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
def batch(told: Path) -> Path:
    """Requests about all episodes with their batch: the test, words, and in real words."""
    out = told.with_name("asked.jsonl")
    NonceRequests(told, seed=1, instruction=INSTRUCTIONS["short"]).write(out)
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
    told: Path, batch: Path, tmp_path: Path, name: str
) -> None:
    model = re.sub(r"\W+", "_", name)
    controls = ["none", "words"] if name == "symbolic learner" else ["none"]
    replies = results(batch, model, lambda body: answered(body, STRATEGIES[name]), controls)
    out = tmp_path / "predictions.jsonl"
    counts = write_answers(replies, batch, out, folder=told, partial=True).counts
    assert counts["unreadable"] == 0
    found = score_nonce(told, out, seed=1, bootstrap=0).conditions[0].splits["nonce"]
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


def test_a_server_is_asked_and_scored_by_commands(told: Path, tmp_path: Path, cli: Cli) -> None:
    ask = ["ask", told, "--nonce", "--control", "none", "--limit", 9, "--seed", 1, "--quiet"]
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
    cli("score", told, "predictions.jsonl", "--nonce", "--partial", "--seed", 1, "--quiet",
        "--csv", "scores.csv")  # fmt: skip
    table = [*csv.DictReader((tmp_path / "scores.csv").read_text().splitlines())]
    (of_seen,) = (
        row for row in table if row["measure"] == "seen" and not row["by"] and row["is_mean"] == "1"
    )
    assert (float(of_seen["value"]), int(of_seen["n"])) == (100, n // 2)


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


def test_known_words_need_all_eight_probes(told: Path, tmp_path: Path) -> None:
    episodes = Episodes(told)
    rows = asked(told, controls=["none", "words"])
    answers = {row["id"]: episodes.answer(row) for row in rows}
    wrong = next(row for row in rows if row["split"] == "nonce_seen_words" and row["question_index"] == 5)
    answers[wrong["id"]] = "no" if answers[wrong["id"]] == "yes" else "yes"
    names = ("hop", "split", "question_index", "asked_of")
    out = tmp_path / "p.jsonl"
    write_lines(out, [{**{name: row[name] for name in names}, "answer": answers[row["id"]]} for row in rows])
    mean = score_nonce(told, out, seed=1, bootstrap=0).conditions[0].splits["nonce"].mean
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


@pytest.mark.slow
def test_the_half_width_is_that_of_redrawn_replies_and_of_bootstraps() -> None:
    """A model that misperceives a quarter of the images, which episodes share, and guesses then."""
    found = dict(half_widths(300, 200, seed=0))
    assert found["bootstrap over groups"] == pytest.approx(found["formula"], rel=0.1)
    # What the interval is of: other images misperceived, other guesses.
    assert found["redrawn replies"] == pytest.approx(found["formula"], rel=0.2)
    # Drawing groups and images counts the noise of an episode itself twice, so it is a bound from above.
    assert found["formula"] < found["bootstrap over groups and images"] < 1.5 * found["formula"]


def test_the_half_width_of_single_episodes_is_that_of_their_formula() -> None:
    unseen, seen = np.random.default_rng(0).random((2, 1, 60)) < [[[0.5]], [[0.7]]]
    _, half_width = gap_and_half_width(unseen, seen, np.arange(60), 0)
    difference = (unseen.astype(int) - seen)[0]
    b, c, gap = (difference > 0).sum(), (difference < 0).sum(), difference.mean()
    assert half_width == pytest.approx(196 * np.sqrt((b + c) / 60**2 - gap**2 / 60))


@pytest.mark.parametrize(
    "row",
    [
        {"split": "nonce_unseen", "control": "real"},
        {"split": "nonce_seen_words", "control": "none"},
        {"split": "nonce_seen", "control": "rael"},
        {"split": "nonce_seen", "control": 3},
    ],
)
def test_a_control_that_is_not_that_of_the_split_is_refused(
    told: Path, tmp_path: Path, row: dict[str, Any]
) -> None:
    rows = [{"hop": "none", "split": "nonce_seen", "question_index": 0, "control": "none", "answer": "no"}]
    out = write_lines(tmp_path / "p.jsonl", [*rows, {**rows[0], "question_index": 1, **row}])
    with refused(PredictionsError):
        score_nonce(told, out, seed=1, bootstrap=0, partial=True)
