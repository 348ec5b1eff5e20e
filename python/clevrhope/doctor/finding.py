"""One thing that was looked at."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "broken"]
OK: State = "ok"
#: Optional and missing, or scarce.
NOTE: State = "note"
#: There, and does not work.
BROKEN: State = "broken"


@dataclass(frozen=True)
class Finding:
    """What was found of one thing.

    Attributes:
        name: what was looked at.
        value: what was found.
        state: ok, note or broken.
        remedy: what to type, or do, where it is not ok.
    """

    name: str
    value: str
    state: State = OK
    remedy: str = ""
