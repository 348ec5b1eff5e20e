"""The result of one check."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "broken"]
OK: State = "ok"
#: Optional and missing, or scarce.
NOTE: State = "note"
#: Present but not working.
BROKEN: State = "broken"


@dataclass(frozen=True)
class Finding:
    """The result of checking one thing.

    Attributes:
        name: what was checked.
        value: what was found.
        state: ok, note or broken.
        remedy: what to type or do if it is not ok.
    """

    name: str
    value: str
    state: State = OK
    remedy: str = ""
