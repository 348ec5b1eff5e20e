"""Prompts for trainers that learn from rewards, in the columns of trl; docs/training_vlms.md has examples."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from PIL import Image

from clevrhope.dataset.folder import Folder
from clevrhope.dataset.loader import Split, load
from clevrhope.dataset.question_kinds import NONCE, kind_of
from clevrhope.dataset.vocab import SPECIAL_TOKENS
from clevrhope.errors import ConfigError
from clevrhope.metrics.request_files import asked_answers
from clevrhope.replies.instructions import find_instruction
from clevrhope.training.stream import Stream, stream

_OF_FOLDERS = ("limit", "levels")
_NOT_OF_STREAMS = ("images", "text", "transform", "scenes", "suite", "steps", "passes")


def prompts(
    hop: str,
    split: str,
    *,
    folder: str | PathLike[str] | None = None,
    instruction: str | Path = "think",
    **choices: Any,
) -> Iterator[dict[str, Any]]:
    """The questions of a split as rows of a dataset for trl's GRPOTrainer, in the split's order.

    It is a generator with a name, so `datasets.Dataset.from_generator` and `IterableDataset.from_generator`
    take it, with its arguments as `gen_kwargs`. A row has the columns

    - prompt: a list with one message, which holds the question and the instruction;
    - image, or images of a question about several: as PIL images, RGB;
    - question, answer: in words, as `rewards.answer_reward` reads them;
    - asked: the answers among which a question about several images asks, else none.

    Args:
        hop: such as "rubber_cylinder".
        split: such as "train".
        folder: a dataset with images; None for a stream, which renders them.
        instruction: the name or file of what follows each question.
        choices: with a folder, `limit` and `levels` of `clevrhope.load`; without one, the arguments of
            `clevrhope.stream` that choose questions and make images.

    Raises:
        ClevrhopeError: as of `clevrhope.load` or `clevrhope.stream`; or there is no such instruction; or a
            row cannot hold what is asked for.
    """
    prompt = find_instruction(instruction)
    for name in choices:
        if name in _NOT_OF_STREAMS or (folder is not None and name not in _OF_FOLDERS):
            taken = f"with a folder they take {' and '.join(_OF_FOLDERS)}"
            raise ConfigError(f"{name}: prompts do not take it; {taken}, and without one what makes a stream")
    if kind_of(split) is NONCE:
        raise ConfigError(
            f"{split}: the images that teach its words would be missing from prompts; use clevrhope.load"
        )
    items: Split | Stream
    attributes: Mapping[str, Sequence[str]] = {}
    if folder is None:
        items = stream(hop, split, text=True, **choices)
    else:
        items = load(folder, hop, split, images=True, text=True, **choices)
        attributes = Folder.open(Path(folder), finished=False).attributes
    answers = [answer for answer in items.vocab.answers() if answer not in SPECIAL_TOKENS]
    for item in items:
        question, answer = item["question_text"], item["answer_text"]
        row: dict[str, Any] = {"prompt": [{"role": "user", "content": prompt.after(question)}]}
        if "images" in item:
            row["images"] = [*map(Image.fromarray, item["images"])]
            asked = asked_answers(item["program_text"].split(), answers, attributes)
        else:
            row["image"], asked = Image.fromarray(item["image"]), []
        yield {**row, "question": question, "answer": answer, "asked": asked}
