"""Instructions, the sentences after a question that tell a model in which form to answer.

Accuracies of one model differ with the instruction, so requests, exports and tasks record its label.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from clevrhope.errors import ConfigError, shown
from clevrhope.runtime.reading import read_utf8, reading

_SHORT = "Answer with one word or number."
_THINK = (
    "Think step by step. Then give your final answer, one word or number, between <answer> and </answer>."
)


@dataclass(frozen=True, slots=True)
class Instruction:
    """What follows each question."""

    label: str
    """A name with a version, such as short-1; of a file's text, "file-" with 12 digits of its SHA-256."""
    text: str

    def after(self, question: str) -> str:
        """The question followed by the instruction."""
        return f"{question} {self.text}".strip()


INSTRUCTIONS = {"short": Instruction("short-1", _SHORT), "think": Instruction("think-1", _THINK)}
"""The instructions by name. One whose text changes gets a new version."""


def find_instruction(name: str | Path) -> Instruction:
    """The instruction of a name, or else the one that a file holds as UTF-8.

    Raises:
        ConfigError: there is no such name or file, or the file holds nothing.
    """
    known = INSTRUCTIONS.get(str(name))
    if known:
        return known
    path = Path(name)
    if not path.is_file():
        raise ConfigError(
            f"{shown(str(name))} is neither an instruction ({', '.join(INSTRUCTIONS)}) nor a file"
        )
    with reading(path, "text in UTF-8", error=ConfigError):
        text = read_utf8(path, "an instruction", error=ConfigError).decode().strip()
    if not text:
        raise ConfigError(f"{path}: the file of an instruction is empty")
    return Instruction(f"file-{hashlib.sha256(text.encode()).hexdigest()[:12]}", text)
