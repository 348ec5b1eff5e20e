"""The errors that clevrhope raises on purpose, the native module included, under one base class.

Each message is one sentence that names the file, the place in it, the value and what would be right.
"""

import json
import re
from collections.abc import Mapping, Sequence

MAX_SHOWN = 200
"""Most characters of a value in a message."""

_LONG_VALUE = re.compile(r'[^\s"/]{256,}')
"""A run of characters without a space that is longer than the name of any file."""


class ClevrhopeError(Exception):
    """Base of all errors of this package; the command line prints its message without a traceback."""

    def __init__(self, *arguments: object) -> None:
        # Messages show values with `shown`; long ones that do not are cut here.
        def cut(match: re.Match[str]) -> str:
            return f"{match[0][: MAX_SHOWN - 4]} ..."

        super().__init__(
            *(_LONG_VALUE.sub(cut, each) if isinstance(each, str) else each for each in arguments)
        )


class VocabularyError(ClevrhopeError, ValueError):
    """A properties file without a usable vocabulary, or a name that is not in the vocabulary."""


class SceneError(ClevrhopeError, ValueError):
    """An invalid scene file, or constraints that no scene can meet."""


class ProgramError(ClevrhopeError, ValueError):
    """A program that does not parse or type-check, or that has no answer for a scene."""


class TemplateError(ClevrhopeError, ValueError):
    """Question templates or synonyms that cannot be used."""


class SplitError(ClevrhopeError, ValueError):
    """A split that cannot be filled; names the predicate that excludes too much."""


class ConfigError(ClevrhopeError, ValueError):
    """A setting, held-out pair or preset that does not exist or does not go with the others."""


class DatasetError(ClevrhopeError):
    """A folder that belongs to another configuration, or a file in it that is damaged or incomplete."""


class WrongFolderError(DatasetError, ValueError):
    """A path that is not the kind of folder that was to be given: it does not exist, or is something else."""


class RenderError(ClevrhopeError, RuntimeError):
    """Blender that is missing, a worker that died or hung, or a scene that could not be rendered."""


class TrainingError(ClevrhopeError):
    """Training that cannot continue: a loss or weights that are not finite."""


class PredictionsError(ClevrhopeError, ValueError):
    """A file of predictions that cannot be read, or that does not answer each question once."""

    def __init__(self, message: str, *, counts: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.counts: Mapping[str, int] = dict(counts or {})
        """Number of problems by kind; empty for a file that cannot be read. Kinds: "hops missing", "missing",
        "doubled", and for unknown names "hop", "split", "question", "answer"."""


class MismatchedRunsError(ClevrhopeError, ValueError):
    """Accuracies of different models, HOPs, train sizes, runs or sets, whose difference means nothing."""


def listed(names: Sequence[object], *, most: int) -> str:
    """The first few names between commas, and how many more there are."""
    named = ", ".join(map(str, names[:most]))
    return f"{named} and {len(names) - most} more" if len(names) > most else named


def shown(value: object) -> str:
    """A value as a message shows it: as JSON where possible, at most `MAX_SHOWN` characters.

    Characters that cannot be printed, or not in UTF-8, are escaped.
    """
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else _repr(value)
    if len(text) <= MAX_SHOWN:
        return text
    end = text[0] if isinstance(value, str) else ""
    return f"{text[: MAX_SHOWN - 4 - len(end)]} ...{end}"


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
    """The first sentence of another library's error without its full stop; or else its class."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return re.split(r"(?<=[.!?])\s", lines[0], maxsplit=1)[0].rstrip(" .:")
