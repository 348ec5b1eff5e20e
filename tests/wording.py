"""What users read, as snapshots hold it: the words of an error of a class, and those of a whole output.

The snapshots stand in `__snapshots__` beside the tests, a file a module. After a sentence has been reworded,
`pytest --snapshot-update` over the tests that fail renews them; read the difference before you commit it.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ParamSpec

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

Given = ParamSpec("Given")

_PASSING = {
    re.compile(r"process \d+ on [^)]*"): "process N on HOST: COMMAND",
    re.compile(r"[\d,]+ bytes are there, of [\d,]+"): "N bytes are there, of N",
    re.compile(r"\b\d{5,} bytes\b"): "N bytes",
    re.compile(r"127\.0\.0\.1:\d+"): "127.0.0.1:PORT",
    re.compile(r"in position \d+"): "in position N",
    re.compile(r"\[Errno \d+\]"): "[Errno N]",
    re.compile(r"\.clevrhope-\w+\.pixels-[^\s:]+"): ".clevrhope-CACHE",
    re.compile(r"\b(?=[0-9]*[a-f])[0-9a-f]{12,64}\b"): "DIGEST",
}
"""What else may differ from machine to machine, and what stands for it."""

_running: list[tuple[Any, Path]] = []
"""The snapshots of the test that runs, and the folder in which its temporary folders are."""


@contextlib.contextmanager
def snapshots_of(test: Any, temporary: Path) -> Iterator[None]:
    """For as long as a test runs, texts are compared with its snapshots."""
    _running.append((test, temporary))
    try:
        yield
    finally:
        _running.pop()


class refused:
    """What happens inside raises an error of this class, whose first line is that of the snapshot."""

    def __init__(self, kind: type[Exception]) -> None:
        self._raises = pytest.raises(kind)

    def __enter__(self) -> pytest.ExceptionInfo[Exception]:
        self._raised = self._raises.__enter__()
        return self._raised

    def __exit__(self, *error: Any) -> bool:
        is_refused = bool(self._raises.__exit__(*error))
        if is_refused:
            check_words(str(self._raised.value).partition("\n")[0])
        return is_refused


def check_refused(
    kind: type[Exception], call: Callable[Given, object], /, *arguments: Given.args, **options: Given.kwargs
) -> None:
    """Asserts that a call is `refused`."""
    with refused(kind):
        call(*arguments, **options)


def check_words(text: str) -> None:
    """Asserts that a text is that of the snapshot, but for what differs from machine to machine."""
    snapshots, temporary = _running[-1]
    for folder in (temporary.resolve(), temporary):
        text = re.sub(re.escape(str(folder)) + r"[/\\][^/\\\s\"':,;]+", "TMP", text)
    for passing, name in _PASSING.items():
        text = passing.sub(name, text)
    data = os.environ.get("CLEVRHOPE_TEST_DATA", str(REPOSITORY.parent / "shared" / "data"))
    text = text.replace(data, "DATA").replace(str(REPOSITORY), "REPOSITORY")
    assert (text.replace("\\", "/") if os.sep == "\\" else text) == snapshots
