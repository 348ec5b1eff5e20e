"""The errors that clevrhope, including its native module, raises on purpose, under one base class.

Each message is one sentence that names the file, the place in it, the value found and what was expected.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence

MAX_SHOWN = 200
"""The most characters of a value that a message shows."""

_LONG_VALUE = re.compile(r'[^\s"/]{256,}')
"""A run of characters without a space that is longer than the name of any file."""


class ClevrhopeError(Exception):
    """Base of all errors of this package; the command line prints its message without a traceback."""

    def __init__(self, *arguments: object) -> None:
        # Messages should show values with `shown`; long values in those that do not are cut here.
        def cut(match: re.Match[str]) -> str:
            return f"{match[0][: MAX_SHOWN - 4]} ..."

        super().__init__(
            *(_LONG_VALUE.sub(cut, each) if isinstance(each, str) else each for each in arguments)
        )


class VocabularyError(ClevrhopeError, ValueError):
    """A properties file has no usable vocabulary, or a name is not in the vocabulary."""


class SceneError(ClevrhopeError, ValueError):
    """A scene file is invalid, or no scene can meet the constraints."""


class ProgramError(ClevrhopeError, ValueError):
    """A program does not parse or type-check, or has no answer on a scene."""


class TemplateError(ClevrhopeError, ValueError):
    """Question templates or synonyms cannot be used."""


class SplitError(ClevrhopeError, ValueError):
    """A split cannot be filled; the message names the predicate that excludes too much."""


class ConfigError(ClevrhopeError, ValueError):
    """A setting, held-out pair or preset does not exist or conflicts with the others."""


class MissingFileError(ConfigError):
    """A file that the user has to put in place, such as weights, is not there."""


class DatasetError(ClevrhopeError):
    """A folder belongs to another configuration, or a file in it is damaged or incomplete."""


class WrongFolderError(DatasetError, ValueError):
    """A path is not the kind of folder that was expected: it does not exist, or is something else."""


class RenderError(ClevrhopeError, RuntimeError):
    """Blender is missing, a worker died or hung, or a scene could not be rendered."""


class TrainingError(ClevrhopeError):
    """Training cannot continue because the loss or the weights are not finite."""


class PredictionsError(ClevrhopeError, ValueError):
    """A file of predictions cannot be read, or does not answer each question exactly once."""

    def __init__(self, message: str, *, counts: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.counts: Mapping[str, int] = dict(counts or {})
        """Number of problems by kind; empty if the file cannot be read. Kinds: "hops missing", "missing",
        "doubled", and for unknown names "hop", "split", "question", "answer"."""


def listed(names: Sequence[object], *, most: int) -> str:
    """The first few names, separated by commas, and how many more there are."""
    named = ", ".join(map(str, names[:most]))
    return f"{named} and {len(names) - most:,} more" if len(names) > most else named


def counted(n: int, noun: str) -> str:
    """A number with its noun: "1 set", "2,000 sets"."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def with_article(words: str) -> str:
    """Words after "a" or "an", by the sound of the first: "an orange cube", "a uniform thing"."""
    from clevrhope._core import takes_an  # the engine writes questions by the same rule

    return f"{'an' if takes_an(words) else 'a'} {words}"


def command_line(*words: object) -> str:
    """A command of clevrhope as one would type it in a shell; words with spaces and the like are quoted."""
    return shlex.join(["clevrhope", *map(str, words)])


_HARMLESS = "\n\t\xa0\u200c\u200d\u202f\u3000"
"""Characters that Python does not call printable: ends of lines, spaces, joiners of letters."""


def printable(text: str) -> str:
    """A text for a terminal: characters that would control it are escaped, but for ends of lines and tabs."""
    return "".join(
        letter if letter.isprintable() or letter in _HARMLESS else ascii(letter)[1:-1] for letter in text
    )


def shown(value: object) -> str:
    """A value as it appears in a message: as JSON where possible, at most `MAX_SHOWN` characters.

    Characters that cannot be printed or encoded in UTF-8 are escaped.
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
        return with_article(type(value).__name__)


def first_sentence(error: Exception) -> str:
    """The first sentence of another library's error, without its full stop, or the error's class."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return re.split(r"(?<=[.!?])\s", lines[0], maxsplit=1)[0].rstrip(" .:")
