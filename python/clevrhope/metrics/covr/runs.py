"""What a run on COVR's questions was trained without, according to the rows of its predictions."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from clevrhope.errors import DatasetError, PredictionsError, shown
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import MAX_LINE
from clevrhope.runtime.settings import join_or
from clevrhope.splits.covr.kinds import COVR_COLUMNS

Role = Literal["all", "split", "iid_size"]

ROLES: Mapping[str, Role] = {"split": "split", "iid_size": "iid_size"}
"""Values of the column `covr_role`: trained without the property, or on as many questions drawn with it."""


@dataclass(frozen=True, slots=True)
class Training:
    """What a run was trained on.

    Attributes:
        role: all questions, those without the property, or as many questions drawn with it.
        predicate: defines which questions have the property; "" for a run on all questions.
        shots: the number of questions with the property that were kept in the train set.
    """

    role: Role = "all"
    predicate: str = ""
    shots: int = 0


def read_training(path: Path) -> Training:
    """The training that a file's first row names, or training on all questions if it names none.

    Raises:
        PredictionsError: a column has an invalid value.
    """
    try:
        with path.open(encoding="utf-8") as file:
            row: Any = parse_json(file.readline(MAX_LINE), path)
    except (OSError, UnicodeDecodeError, DatasetError):
        return Training()
    role, predicate, shots = (row.get(name) for name in COVR_COLUMNS) if isinstance(row, dict) else [None] * 3
    if role is None:
        return Training()
    if role not in ROLES:
        raise PredictionsError(f'{path}:1: "covr_role" is {shown(str(role))}; expected {join_or([*ROLES])}')
    if not isinstance(predicate, str) or not isinstance(shots, int) or shots < 0:
        raise PredictionsError(
            f'{path}:1: with "covr_role", "covr_split" has to be a predicate, such as "has-quant", and '
            f'"shots" a whole number from 0; they are {shown(str(predicate))} and {shown(str(shots))}'
        )
    return Training(ROLES[role], predicate, shots)
