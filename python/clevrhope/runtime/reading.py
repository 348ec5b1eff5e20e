"""Reading of files from any source: any failure becomes one sentence that names the file.

`reading` should enclose only the lines that read a file, never whole commands, where it would hide this
package's own bugs.
"""

import codecs
import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from clevrhope.errors import ClevrhopeError, DatasetError, PredictionsError, first_sentence, shown

MAX_BYTES = 1 << 24
"""The most bytes of a file that is read into memory at once, by default."""


NOT_UTF8 = "its path is not UTF-8; rename the file or folder"
"""Follows a path in a message."""

IN_UTF16 = "text in UTF-16; save it as UTF-8"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PASSING = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EINTR}


@contextmanager
def reading(
    path: Path | str, what: str, *, error: type[ClevrhopeError] = DatasetError, remedy: str = ""
) -> Iterator[None]:
    """Turns any failure of a block that reads a file into one sentence, except this package's own errors.

    Args:
        path: the path of the file.
        what: what the file should be, to follow "not": "a vocabulary", "a whole PNG file".
        error: the class that is raised.
        remedy: ends the sentence.
    """
    ending = f"; {remedy}" if remedy else ""
    try:
        yield
    except ClevrhopeError:
        raise
    except Exception as problem:
        if isinstance(problem, FileNotFoundError):
            why = "no such file"
        elif isinstance(problem, OSError) and problem.strerror is not None:  # by the system, not a library
            why = f"cannot be read ({os_reason(problem)})"
        elif isinstance(problem, MemoryError):
            why = "reading it takes more memory than there is"
        elif name_not_utf8(str(path)) and (
            isinstance(problem, UnicodeEncodeError) or "is not valid UTF-8" in str(problem)  # safetensors
        ):
            why, ending = NOT_UTF8, ""
        else:
            why = f"not {what} ({reason(problem)})"
        raise error(f"{path}: {why}{ending}") from problem


def name_not_utf8(text: str) -> str:
    """The first path in a text, as between quotation marks or tags, with bytes that are not UTF-8, or ""."""
    found = re.search('[^"<>\n]*[\udc80-\udcff][^"<>\n]*', text)
    return found[0] if found else ""


def is_passing(error: ClevrhopeError) -> bool:
    """Whether the system had no memory or files left, which says nothing about the file: it may be whole."""
    cause = error.__cause__
    return isinstance(cause, MemoryError) or (isinstance(cause, OSError) and cause.errno in _PASSING)


def reason(problem: Exception) -> str:
    """An exception's message, shortened for another message."""
    if isinstance(problem, KeyError) and problem.args:
        return f"{shown(problem.args[0])} is missing"
    if isinstance(problem, RecursionError):
        return "nested too deeply"
    if isinstance(problem, UnicodeError):
        return encoding_problem(problem)
    return shown(first_sentence(problem)).strip('"')


def encoding_problem(problem: UnicodeError) -> str:
    """What is wrong with a text's encoding: Windows' programs may call UTF-16 "Unicode"."""
    content = problem.object if isinstance(problem, UnicodeDecodeError) else b""
    return IN_UTF16 if content.startswith(_UTF16) else "not text in UTF-8"


def os_reason(problem: OSError) -> str:
    """The operating system's message, in lower case, to continue a sentence."""
    if problem.errno == errno.ELOOP:
        return "a link that leads back to itself"
    text = os.strerror(problem.errno) if problem.errno else str(problem)
    return text[:1].lower() + text[1:]


def read_bytes(
    path: Path,
    what: str,
    *,
    error: type[ClevrhopeError] = DatasetError,
    remedy: str = "",
    max_bytes: int = MAX_BYTES,
) -> bytes:
    """Reads the content of a regular file; arguments as for `reading`.

    Raises:
        ClevrhopeError: of class `error`: the file is missing, unreadable, irregular, or larger than
            `max_bytes`.
    """
    with reading(path, what, error=error, remedy=remedy):
        check_regular(path, error=error)
        with path.open("rb") as file:
            n_bytes = os.fstat(file.fileno()).st_size
            content = file.read(min(n_bytes, max_bytes) + 1)
    if len(content) > max_bytes:
        raise error(f"{path}: over {max_bytes >> 20} MiB, too large for {what}")
    return content


def read_utf8(path: Path, what: str, **how: Any) -> bytes:
    """As `read_bytes`, but without the byte order mark with which some editors begin a text.

    Raises:
        ClevrhopeError: as for `read_bytes`, or the text is in UTF-16.
    """
    content = read_bytes(path, what, **how)
    if content.startswith(_UTF16):
        raise how.get("error", DatasetError)(f"{path}: {IN_UTF16}")
    return content.removeprefix(codecs.BOM_UTF8)


def check_regular(path: Path, *, error: type[ClevrhopeError] = DatasetError) -> None:
    """Checks that a file is a regular one; a pipe or device might never end.

    Raises:
        ClevrhopeError: of class `error`: it is a folder, pipe, socket or device.
        OSError: there is no such file, or its folder cannot be read.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"
        raise error(f"{path}: {kind}; expected a file")


def open_text(path: Path, *, error: type[ClevrhopeError] = DatasetError) -> TextIO:
    """Opens a regular text file in UTF-8, with or without a byte order mark; errors as in `check_regular`."""
    check_regular(path, error=error)
    return path.open(encoding="utf-8-sig")


MAX_LINE = 1 << 20
"""The most characters in a line of a file that is read line by line."""


def numbered_lines(path: Path, file: TextIO) -> Iterator[tuple[int, str]]:
    """Yields the lines of an open file of predictions, requests or replies, numbered from 1.

    Raises:
        PredictionsError: a line is longer than `MAX_LINE`.
    """
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise PredictionsError(f"{path}:{number}: a line of over {MAX_LINE:,} characters")
        yield number, line
