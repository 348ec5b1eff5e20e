"""What users read when something is refused: a test names the error's class, and a snapshot holds its words.

The snapshots stand in `__snapshots__` beside the tests, a file a module. After a sentence has been reworded,
`pytest --snapshot-update` over the tests that fail renews them; read the difference before you commit it.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

_TEMPORARY = re.compile(r"/[^\s\"']*?/pytest-of-[^/\s]+/pytest-\d+/(popen-gw\d+/)?[^/\s\"':,;]+")
"""The temporary folder of a test, whose name differs from run to run."""

_PASSING = {
    re.compile(r"process \d+ on [^\s:]+"): "process N on HOST",
    re.compile(r"bytes are there, of [\d,]+"): "bytes are there, of N",
    re.compile(r"\.clevrhope-\w+\.pixels-[^\s:]+"): ".clevrhope-CACHE",
    re.compile(r"\b(?=[0-9]*[a-f])[0-9a-f]{12,64}\b"): "DIGEST",
}
"""What else may differ from machine to machine, and what stands for it."""

_snapshots: list[Any] = []
"""The snapshots of the test that runs."""


@contextlib.contextmanager
def snapshots_of(test: Any) -> Iterator[None]:
    """For as long as a test runs, `refused` compares with the snapshots of this test."""
    _snapshots.append(test)
    try:
        yield
    finally:
        _snapshots.remove(test)


class refused:
    """What happens inside raises an error of this class with the words of the snapshot."""

    def __init__(self, kind: type[Exception]) -> None:
        self._raises = pytest.raises(kind)

    def __enter__(self) -> pytest.ExceptionInfo[Exception]:
        self._raised = self._raises.__enter__()
        return self._raised

    def __exit__(self, *error: Any) -> bool:
        is_refused = self._raises.__exit__(*error)
        assert without_places(str(self._raised.value)) == _snapshots[-1]
        return bool(is_refused)


def without_places(text: str) -> str:
    """The first line of a text, with fixed names for what differs from machine to machine."""
    text = _TEMPORARY.sub("TMP", text.partition("\n")[0])
    for passing, name in _PASSING.items():
        text = passing.sub(name, text)
    data = os.environ.get("CLEVRHOPE_TEST_DATA", str(REPOSITORY.parent / "shared" / "data"))
    return text.replace(data, "DATA").replace(str(REPOSITORY), "REPOSITORY")
