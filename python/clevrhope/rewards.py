"""Rewards for reinforcement learning: 1 for a reply that gives a question's answer, else 0.

It needs the standard library and this package alone, so that it can be imported in any trainer's environment.
docs/training_vlms.md shows it in five trainers.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from clevrhope.errors import ConfigError, shown
from clevrhope.replies import ReplyReader
from clevrhope.replies.colors import Color
from clevrhope.runtime.assets import blender_assets
from clevrhope.runtime.json_text import read_object

__all__ = ["ReplyReader", "Score", "Scorer", "answer_reward", "compute_score", "compute_score_easyr1"]

_ANSWERS = ("yes", "no", *map(str, range(11)), "left", "right", "behind", "front")
"""CLEVR's answers that are not values; sides answer questions of suites."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a reply is worth."""

    correct: bool
    answer: str | None
    """The answer that was read; None if none or several were."""
    marked: bool
    """Whether the reply marks exactly one answer."""


class Scorer:
    """Scores replies to questions in one vocabulary."""

    def __init__(
        self,
        answers: Iterable[str] | None = None,
        attributes: Mapping[str, Iterable[str]] | None = None,
        *,
        colors: Mapping[str, Color] | None = None,
    ) -> None:
        """A scorer for one world; without arguments, for CLEVR's.

        Args:
            answers: all allowed answers.
            attributes: the values of each attribute among them.
            colors: the world's colors by name, from 0 to 255.

        Raises:
            ConfigError: only one of answers and attributes is given.
        """
        if (answers is None) != (attributes is None):
            raise ConfigError("a Scorer needs both answers and attributes of a world, or neither for CLEVR's")
        if answers is None or attributes is None:
            properties = read_object(blender_assets() / "properties.json", "a properties file")
            attributes = {key.removesuffix("s"): list(values) for key, values in properties.items()}
            answers = chain(_ANSWERS, *attributes.values())
        self.answers = frozenset(answers)
        """All allowed answers."""
        self._reader = ReplyReader(self.answers, attributes, colors=colors)

    def score(
        self,
        question: str,
        reply: str,
        answer: str,
        *,
        asked: Collection[str] = (),
        marked: bool = False,
        meanings: Mapping[str, str] | None = None,
    ) -> Score:
        """Whether a reply gives the right answer.

        Args:
            question: the question's text, which decides what in the reply is an answer.
            reply: the model's words.
            answer: the right answer.
            asked: the answers that the question asks for, if it offers some.
            marked: whether a reply counts only if it marks exactly one answer, outside its thoughts and in
                at most three words: `<answer>red</answer>`, a LaTeX box, or "Answer: red". Rewards need it,
                since a policy learns to write whatever the kind reader accepts.
            meanings: the real value of each nonce word that the question and the reply may have; with these,
                it also needs numpy and h5py.

        Raises:
            ConfigError: the right answer is not among the allowed ones.
        """
        if answer not in self.answers:
            raise ConfigError(
                f"{shown(answer)} is not one of the {len(self.answers)} answers that this scorer knows; "
                "give Scorer the answers and attributes of a world of your own"
            )
        if meanings:
            from clevrhope.dataset.nonce_text import in_real_words

            question, reply = (in_real_words(text, meanings) for text in (question, reply))
        marking = self._reader.read_marked(question, reply, asked=asked)
        read = marking if marked else self._reader.read(question, reply, asked=asked)
        return Score(read == answer, read, marking is not None)


@cache
def _clevr() -> Scorer:
    return Scorer()


def answer_reward(
    completions: Sequence[Any],
    question: Sequence[str],
    answer: Sequence[str],
    asked: Sequence[Collection[str]] | None = None,
    *,
    log_metric: Callable[[str, float], None] | None = None,
    **columns: Any,
) -> list[float]:
    """A reward for trl's GRPOTrainer and ms-swift: 1 for a right marked answer, else 0.

    Args:
        completions: replies, each a text or a list of messages.
        question: a column with the questions.
        answer: a column with the right answers.
        asked: a column with the answers that the question asks for, if it offers some.
        log_metric: given by trl; it logs the share of replies without exactly one marked answer, "unread".
        columns: other columns, which are ignored.
    """
    offers = [()] * len(completions) if asked is None else asked
    rows = zip(completions, question, answer, offers, strict=True)
    scores = [
        _clevr().score(text, _reply(completion), truth, asked=_offered(offered), marked=True)
        for completion, text, truth, offered in rows
    ]
    if log_metric is not None and scores:
        log_metric("unread", sum(not each.marked for each in scores) / len(scores))
    return [float(each.correct) for each in scores]


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Mapping[str, Any], **settings: Any
) -> dict[str, float]:
    """A reward for verl: `score` is 1 for a right marked answer, else 0; `marked` says whether there is one.

    Args:
        data_source: not used.
        solution_str: the reply.
        ground_truth: the right answer.
        extra_info: has the `question`, and `asked` if it offers answers.
        settings: not used.
    """
    question, asked = str(extra_info["question"]), _offered(extra_info.get("asked"))
    score = _clevr().score(question, solution_str, ground_truth, asked=asked, marked=True)
    return {"score": float(score.correct), "marked": float(score.marked)}


def compute_score_easyr1(
    reward_input: Mapping[str, Any] | Sequence[Mapping[str, Any]], **settings: Any
) -> dict[str, float] | list[dict[str, float]]:
    """A reward for EasyR1, of one reply or a list of them: `overall` is 1 for a right marked answer, else 0.

    Args:
        reward_input: has the `response`, and as `ground_truth` a JSON object with `question`, `answer`, and
            `asked` if the question offers answers, since EasyR1 passes on nothing else.
        settings: not used.
    """
    if not isinstance(reward_input, Mapping):
        return [_easyr1(each) for each in reward_input]
    return _easyr1(reward_input)


def _easyr1(row: Mapping[str, Any]) -> dict[str, float]:
    truth = json.loads(row["ground_truth"])
    score = compute_score("", row["response"], truth["answer"], truth)
    return {"overall": score["score"], "accuracy": score["score"], "format": score["marked"]}


def _offered(asked: Collection[str] | None) -> tuple[str, ...]:
    """The answers that a question offers; readers of tables give them as a list, an array or None."""
    return () if asked is None else tuple(map(str, asked))


def _reply(completion: Any) -> str:
    """The text of a completion: itself, or what the messages in it say."""
    if isinstance(completion, str):
        return completion
    parts = [message["content"] for message in completion]
    texts = [[part] if isinstance(part, str) else [each.get("text", "") for each in part] for part in parts]
    return "\n".join(text for each in texts for text in each)
