"""Runs tasks of Inspect by their names with a made-up model, and prints their metrics as JSON."""

import base64
import hashlib
import itertools
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPLIES = ("Yes.", "no", "I think that it is red.", "There are two.", "", "hard to say", "A cube", "0")
INSTRUCTION = " Answer with one word or number."


def reply_to(question: str) -> str:
    """A made-up reply."""
    return random.Random(question).choice(REPLIES)


def model_of(reply: Callable[[str], str]) -> Any:
    """A model that gets images and a question with an instruction."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def output(messages: list[Any], tools: Any, tool_choice: Any, config: Any) -> Any:
        *images, text = messages[0].content
        assert images
        assert all(each.type == "image" and each.image.startswith("data:image/png") for each in images)
        assert text.text.endswith(INSTRUCTION)
        made = ModelOutput.from_content("mockllm", reply(text.text.removesuffix(INSTRUCTION)))
        # Without it, tokens are counted by a tokenizer that is downloaded.
        made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return made

    return get_model("mockllm/model", custom_outputs=output, memoize=False)


def key_of(texts: list[str], image: bytes) -> str:
    """What stands for a request: all that it says, and the bytes of its last image."""
    return hashlib.sha256("\n".join(texts).encode() + image).hexdigest()


def replied(name: str, arguments: dict[str, Any], logs: Path, path: str) -> dict[str, Any]:
    """The metrics of a task whose replies a JSON file has by the request's key; others are empty."""
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    replies = json.loads(Path(path).read_text())

    def output(messages: list[Any], tools: Any, tool_choice: Any, config: Any) -> Any:
        parts = [part for message in messages for part in message.content]
        texts = [part.text for part in parts if part.type == "text"]
        *_, image = (part.image for part in parts if part.type == "image")
        key = key_of(texts, base64.b64decode(image.split(",")[1]))
        made = ModelOutput.from_content("mockllm", replies.get(key, ""))
        made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return made

    model = get_model("mockllm/model", custom_outputs=output, memoize=False)
    (log,) = evaluate(name, model, task_args=arguments, log_dir=str(logs), log_images=False, display="none")
    return metrics_of(log)


def metrics_of(log: Any) -> dict[str, dict[str, float]]:
    """Scorer -> metric -> value."""
    assert log.status == "success", log.error
    assert log.results is not None
    found: dict[str, dict[str, float]] = {}
    for scored in log.results.scores:
        values = {name: each.value for name, each in scored.metrics.items()}
        found.setdefault(scored.scorer, {}).update(values)
    return found


def evaluated(name: str, arguments: dict[str, Any], logs: Path, epochs: int = 1) -> dict[str, Any]:
    """The metrics of a task, and each reply with its id and epoch; epochs have replies of their own."""
    from inspect_ai import eval as evaluate

    n_calls = itertools.count()

    def reply(question: str) -> str:
        return reply_to(f"{question}{next(n_calls)}") if epochs > 1 else reply_to(question)

    (log,) = evaluate(
        name,
        model_of(reply),
        task_args=arguments,
        log_dir=str(logs),
        log_images=False,
        display="none",
        epochs=epochs,
    )
    replies = [(each.id, each.epoch, each.output.completion) for each in log.samples or ()]
    return {"metrics": metrics_of(log), "replies": replies}


def retried(name: str, arguments: dict[str, Any], logs: Path) -> list[Any]:
    """Whether each of three evaluations of a set succeeded, the number of calls of each, and what is right.

    In the first one, the fifth call fails.
    """
    from inspect_ai import eval_set

    n_calls, ended = [0, 0, 0], []
    for k in range(len(n_calls)):

        def reply(question: str, k: int = k) -> str:
            n_calls[k] += 1
            if k == 0 and n_calls[0] == 5:
                raise RuntimeError("the server is gone")
            return reply_to(question)

        success, made = eval_set(
            name,
            str(logs),
            model=model_of(reply),
            task_args=arguments,
            retry_attempts=0,
            display="none",
            max_connections=1,
            log_images=False,
        )
        ended.append(success)
    return [ended, n_calls, metrics_of(made[0])["correct"]]


def main(logs: str, runs: str) -> None:
    """Evaluates and prints the results, one a run, whose JSON is [function, task, arguments, ...]."""
    functions: dict[str, Callable[..., Any]] = {
        "evaluated": evaluated,
        "replied": replied,
        "retried": retried,
    }
    results = [
        functions[run](name, arguments, Path(logs) / str(k), *more)
        for k, (run, name, arguments, *more) in enumerate(json.loads(runs))
    ]
    sys.stdout.write(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
