"""Every error that clevrhope raises on purpose, under one base class.

Each message is one sentence that names the file, the place in it, the value and what would be right. The
native module raises these classes too.
"""

import json
import re
from collections.abc import Mapping

MAX_SHOWN = 200
"""Characters of a value that a message shows at most."""


_LONG_VALUE = re.compile(r'[^\s"/]{256,}')
"""A run of characters without a blank that is longer than any file's name."""


class ClevrhopeError(Exception):
    """Base of all errors of this package; the command line prints its message without a traceback."""

    def __init__(self, *arguments: object) -> None:
        # Messages show values by `shown`; what slips through is cut here.
        super().__init__(
            *(_LONG_VALUE.sub(_cut, each) if isinstance(each, str) else each for each in arguments)
        )


class VocabularyError(ClevrhopeError, ValueError):
    """A properties file that defines no usable vocabulary, or a name that is not in it."""


class SceneError(ClevrhopeError, ValueError):
    """A scene file that is not one, or constraints on scenes that cannot be met."""


class ProgramError(ClevrhopeError, ValueError):
    """A program that does not parse or type-check, or that has no answer on a scene."""


class TemplateError(ClevrhopeError, ValueError):
    """Question templates or synonyms that cannot be used."""


class SplitError(ClevrhopeError, ValueError):
    """A split that cannot be made: says which predicate starves it."""


class ConfigError(ClevrhopeError, ValueError):
    """A setting, held-out pair or preset that does not exist or does not fit the others."""


class DatasetError(ClevrhopeError):
    """An output folder that belongs to another configuration, or a file in it that is not whole."""


class RenderError(ClevrhopeError, RuntimeError):
    """Blender is missing, a worker died or hung, or a scene could not be rendered."""


class TrainingError(ClevrhopeError):
    """Training that cannot go on: a loss or weights that are no numbers."""


class PredictionsError(ClevrhopeError, ValueError):
    """A file of predictions that cannot be read, or does not answer each question once."""

    def __init__(self, message: str, *, counts: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.counts: Mapping[str, int] = dict(counts or {})
        """Kind of problem -> how many; empty for a file that cannot be read. Kinds: "hops missing",
        "missing", "doubled", and unknown ones: "hop", "split", "question", "answer"."""


class MismatchedRunsError(ClevrhopeError, ValueError):
    """Two accuracies that have no difference: of different models, HOPs, train sizes, runs or sets."""


def shown(value: object) -> str:
    """A value for a message: as JSON writes it where it can, up to `MAX_SHOWN` long.

    Characters that cannot be printed, or not in UTF-8, are written as escapes.
    """
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else _repr(value)
    if len(text) <= MAX_SHOWN:
        return text
    end = text[0] if isinstance(value, str) else ""
    return f"{text[: MAX_SHOWN - 4 - len(end)]} ...{end}"


def _cut(match: re.Match[str]) -> str:
    return f"{match[0][: MAX_SHOWN - 4]} ..."


def _repr(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > MAX_SHOWN * 3:
        return f"a number of {value.bit_length()} bits"  # Python refuses to write more than 4,300 digits
    try:
        if isinstance(value, bool | dict | list | tuple | None):
            text = json.dumps(value, ensure_ascii=False, default=str)
            return text if text.isprintable() else json.dumps(value, default=str)
        return str(value)
    except (RecursionError, TypeError, ValueError):
        return f"a {type(value).__name__}"


def first_sentence(error: Exception) -> str:
    """The first sentence of what another library says, without its full stop; the error's name if nothing."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return re.split(r"(?<=[.!?])\s", lines[0], maxsplit=1)[0].rstrip(" .:")
