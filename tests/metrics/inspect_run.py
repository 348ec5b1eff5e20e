"""Runs a task of Inspect by its name with a made-up model, and prints its metrics as JSON."""

import json
import random
import sys
from typing import Any

REPLIES = ("Yes.", "no", "I think that it is red.", "There are two.", "", "hard to say", "A cube", "0")
INSTRUCTION = " Answer with one word or number."


def reply_to(question: str) -> str:
    """A made-up reply."""
    return random.Random(question).choice(REPLIES)


def made_up(messages: list[Any], tools: Any, tool_choice: Any, config: Any) -> Any:
    """The output of a model that gets images and a question with an instruction."""
    from inspect_ai.model import ModelOutput, ModelUsage

    *images, text = messages[0].content
    assert images
    assert all(each.type == "image" and each.image.startswith("data:image/png") for each in images)
    assert text.text.endswith(INSTRUCTION)
    output = ModelOutput.from_content("mockllm", reply_to(text.text.removesuffix(INSTRUCTION)))
    # Without it, tokens are counted by a tokenizer that is downloaded.
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def main(task: str, dataset: str, logs: str) -> None:
    """Evaluates and prints scorer -> metric -> value."""
    from inspect_ai import eval as evaluate
    from inspect_ai.model import get_model

    model = get_model("mockllm/model", custom_outputs=made_up, memoize=False)
    (log,) = evaluate(
        task, model, task_args={"dataset": dataset}, log_dir=logs, log_images=False, display="none"
    )
    assert log.status == "success", log.error
    assert log.results is not None
    found: dict[str, dict[str, float]] = {}
    for scored in log.results.scores:
        values = {name: each.value for name, each in scored.metrics.items()}
        found.setdefault(scored.scorer, {}).update(values)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
