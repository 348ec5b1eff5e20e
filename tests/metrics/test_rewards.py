"""Rewards are earned by a right marked answer, and by nothing else that a policy may come upon."""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clevrhope.errors import ConfigError
from clevrhope.programs import default_vocabulary
from clevrhope.replies import ReplyReader
from clevrhope.rewards import Score, Scorer, answer_reward, compute_score, compute_score_easyr1
from wording import check_refused

ROWS = [
    row
    for row in map(json.loads, Path(__file__).with_name("replies_dev.jsonl").read_text("utf-8").splitlines())
    if row["truth"] is not None
]
ANSWERS = sorted(default_vocabulary().set_answers)
QUESTION, RIGHT = "What color is the cube?", "red"

Row = dict[str, Any]
Draw = random.Random


def misspelt(word: str) -> str:
    return "thre" if word.isdecimal() else f"{word[0]}{word}"


def other(row: Row, draw: Draw) -> str:
    return draw.choice([each for each in ANSWERS if each != row["truth"]])


def of_each_kind(row: Row, draw: Draw) -> str:
    kinds = ["yes", "3", "red", "cube", "metal", "large"]
    return " ".join([*draw.sample([each for each in kinds if each != row["truth"]], 2), row["truth"]])


def eight_words(row: Row, draw: Draw) -> str:
    words = draw.choices([*ANSWERS, *row["question"].strip("?").split()], k=7)
    return " ".join([*words, row["truth"]])


HOSTILE: dict[str, Callable[[Row, Draw], str]] = {
    "all answers in a row": lambda row, draw: " ".join(draw.sample(ANSWERS, len(ANSWERS))),
    "all answers, marked": lambda row, draw: f"<answer>{' '.join(draw.sample(ANSWERS, 28))}</answer>",
    "all answers, each marked": lambda row, draw: "".join(f"<answer>{each}</answer>" for each in ANSWERS),
    "the question as a statement": lambda row, draw: row["question"].replace("?", "."),
    "the question, marked": lambda row, draw: f"Answer: {row['question']}",
    "eight words": eight_words,
    "eight words, marked": lambda row, draw: f"\\boxed{{{eight_words(row, draw)}}}",
    "two contradicting tags": lambda row, draw: (
        f"<answer>{row['truth']}</answer> <answer>{other(row, draw)}</answer>"
    ),
    "a tag and a box that disagree": lambda row, draw: (
        f"<answer>{row['truth']}</answer>, or \\boxed{{{other(row, draw)}}}"
    ),
    "two lines that disagree": lambda row, draw: f"Answer: {other(row, draw)}\nAnswer: {row['truth']}",
    "either of two": lambda row, draw: f"<answer>{row['truth']} or {other(row, draw)}</answer>",
    "joined by a sign": lambda row, draw: (
        f"<answer>{row['truth']}{draw.choice('/|&+=~')}{other(row, draw)}</answer>"
    ),
    "one of each kind": lambda row, draw: f"<answer>{of_each_kind(row, draw)}</answer>",
    "a thought alone": lambda row, draw: f"<think><answer>{row['truth']}</answer></think> I don't know.",
    "a thought without an end": lambda row, draw: f"<think>So it is clear. Answer: {row['truth']}",
    "a thought that began before": lambda row, draw: f"Answer: {row['truth']}</think>It is hard to say.",
    "nothing marked": lambda row, draw: f"It has to be this: {row['truth']}. <answer></answer>",
    "a misspelt answer": lambda row, draw: f"<answer>{misspelt(row['truth'])}</answer>",
    "a denial": lambda row, draw: f"<answer>not {row['truth']}</answer>",
    "a whole sentence, marked": lambda row, draw: f"Answer: I think that it is {row['truth']} here",
    "the answer without a mark": lambda row, draw: draw.choice(
        ["{}", "It's {}.", "The answer is {}."]
    ).format(row["truth"]),
    "another tag": lambda row, draw: f"<result>{row['truth']}</result>",
    "a mark beside one that is unread": lambda row, draw: f"Answer: hmm\nAnswer: {row['truth']}",
    "a question": lambda row, draw: f"Answer: {row['truth']}?",
}

RIGHT_FORMS = [
    "<answer>{}</answer>",
    "<think>First it looked different. Answer: {other}</think>\n<answer>{}</answer>",
    "I look at the image step by step.\n<answer> {} </answer>",
    "\\boxed{{{}}}",
    "Therefore the result is $\\boxed{{\\text{{{}}}}}$.",
    "Answer: {}",
    "**Answer:** {}.",
    "Let me see. Final answer: {}",
    "Answer: {}\n<answer>{}</answer>",
    "<answer>\\boxed{{{}}}</answer>",
    "<answer>{upper}</answer>",
    "### Answer:\n{}",
    "<answer>It is {}.</answer>",
]


@pytest.mark.parametrize(
    ("question", "reply", "answer", "marked"),
    [
        ("Is there a nizug vemib?", "Nizug vemibs: none.", "no", False),
        ("What color is the vemib?", "Nizug.", "red", False),
        ("What color is the vemib?", "<answer>nizug</answer>", "red", True),
    ],
)
def test_nonce_words_count_as_what_they_mean(question: str, reply: str, answer: str, marked: bool) -> None:
    scorer, meanings = Scorer(), {"nizug": "red", "vemib": "cube"}
    assert scorer.score(question, reply, answer).answer is None
    assert scorer.score(question, reply, answer, meanings=meanings, marked=marked).correct


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_reply_without_exactly_one_marked_answer_is_never_rewarded(kind: str) -> None:
    draw = random.Random(f"hostile {kind}")
    scorer = Scorer()
    assert len(HOSTILE) >= 20
    for row in draw.sample(ROWS, 420):  # 10,080 in all
        reply = HOSTILE[kind](row, draw)
        asked = row.get("asked", ())
        score = scorer.score(row["question"], reply, row["truth"], asked=asked, marked=True)
        assert score == Score(False, None, False), (row["question"], reply)


def test_a_right_marked_answer_is_rewarded() -> None:
    draw, scorer = random.Random("right"), Scorer()
    unrewarded = []
    for row in draw.sample(ROWS, 2_000):
        form = draw.choice(RIGHT_FORMS)
        words = {"upper": row["truth"].upper(), "other": other(row, draw)}
        reply = form.format(row["truth"], row["truth"], **words)
        asked = row.get("asked", ())
        if not scorer.score(row["question"], reply, row["truth"], asked=asked, marked=True).correct:
            unrewarded.append((row["question"], reply))
    assert len(unrewarded) <= 20, unrewarded[:20]  # at least 99%


def test_a_wrong_marked_answer_is_not_rewarded() -> None:
    assert Scorer().score(QUESTION, "<answer>blue</answer>", RIGHT, marked=True) == Score(False, "blue", True)


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("How many red cubes are there?", "3 things", "3"),
        ("How many red cubes are there?", "3 cubes", None),
        ("How many red cubes are there?", "zero", "0"),
        ("How many red cubes are there?", "three, 3", "3"),
        ("What shape is the red thing?", "a ball", "sphere"),
        ("What shape is the red thing?", "red", None),
        ("Are there any cubes?", "yes, 2", None),
        ("What color is the cube?", "reddish", None),
        ("What color is the cube?", "maroon", "red"),
        ("Is the cube not red?", "not yes", None),
    ],
)
def test_a_mark_has_one_answer_and_nothing_else(question: str, text: str, answer: str | None) -> None:
    reader = ReplyReader(ANSWERS, dict(default_vocabulary().attribute_types))
    assert reader.read_marked(question, f"<answer>{text}</answer>") == answer


def test_offered_answers_are_the_only_ones() -> None:
    scorer, question = Scorer(), "Is the cube red or blue?"
    offered = ("red", "blue")
    assert scorer.score(question, "Answer: red", "red", asked=offered, marked=True).correct
    assert scorer.score(question, "Answer: yes", "red", asked=offered, marked=True).answer is None


def test_trainers_get_what_they_expect() -> None:
    logged: dict[str, float] = {}
    replies = [
        "<answer>red</answer>",
        [{"role": "assistant", "content": [{"type": "text", "text": "Answer: red"}]}],
        [{"role": "assistant", "content": "red"}],
    ]
    columns = {"question": [QUESTION] * 3, "answer": [RIGHT] * 3, "image": [None] * 3}
    rewards = answer_reward(replies, **columns, log_metric=logged.__setitem__, trainer_state=None)
    assert (rewards, logged) == ([1.0, 1.0, 0.0], {"unread": pytest.approx(1 / 3)})
    verl = compute_score(
        "clevrhope", "Answer: red", RIGHT, {"question": QUESTION, "index": 0}, tokenizer=None
    )
    assert verl == {"score": 1.0, "marked": 1.0}
    truth = json.dumps({"question": QUESTION, "answer": RIGHT})
    row = {"response": "red", "ground_truth": truth, "response_length": 1}
    assert compute_score_easyr1(row) == {"overall": 0.0, "accuracy": 0.0, "format": 0.0}
    assert compute_score_easyr1([row, row]) == [compute_score_easyr1(row)] * 2


def test_an_answer_that_is_not_one_is_refused() -> None:
    check_refused(ConfigError, answer_reward, ["red"], [QUESTION], ["maroon"])


def test_a_world_of_ones_own_has_its_own_answers() -> None:
    scorer = Scorer(("yes", "no", "ash", "wine"), {"color": ("ash", "wine")}, colors={"wine": (125, 5, 10)})
    assert scorer.score(QUESTION, "<answer>wine</answer>", "wine", marked=True).correct
    assert not scorer.score(QUESTION, "<answer>red cube</answer>", "ash", marked=True).correct


def test_half_a_world_is_refused() -> None:
    check_refused(ConfigError, Scorer, ("yes", "no", "ash"))


def test_offered_answers_may_be_an_array() -> None:
    offered = np.array(["red", "blue"])
    columns = {"question": [QUESTION] * 2, "answer": [RIGHT] * 2, "asked": [offered, None]}
    assert answer_reward(["Answer: red", "Answer: red"], **columns) == [1.0, 1.0]


def test_the_scorer_of_clevr_knows_its_vocabulary() -> None:
    vocabulary = default_vocabulary()
    ours, theirs = Scorer(), Scorer(vocabulary.set_answers, dict(vocabulary.attribute_types))
    for answer in vocabulary.set_answers:
        reply = f"It is {answer}."
        assert ours.score(QUESTION, reply, answer) == theirs.score(QUESTION, reply, answer)


def test_rewards_need_nothing_but_the_standard_library_and_this_package() -> None:
    code = (
        "import sys; before = {*sys.modules}; from clevrhope.rewards import answer_reward;"
        "answer_reward(['red'], ['What color is it?'], ['red']);"
        "print({each.partition('.')[0] for each in {*sys.modules} - before} - sys.stdlib_module_names)"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout == "{'clevrhope'}\n"
