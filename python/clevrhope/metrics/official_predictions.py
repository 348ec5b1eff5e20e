"""Predictions as the official CLEVR-HOPE has them: JSON files of {row: {"pred", "target"}}, one a test set.

A row is the question's place in its HDF5 file, and answers are numbers of the official vocab.json, which are
those of this program.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from clevrhope.dataset.vocab import NO_ANSWER, SPECIAL_TOKENS, make_vocab
from clevrhope.errors import PredictionsError, shown
from clevrhope.metrics.rows import Block, Rows
from clevrhope.runtime.json_text import read_object
from clevrhope.scenes.vocabulary import default_vocabulary
from clevrhope.sources.official.names import SPLITS
from clevrhope.splits.hops import OFFICIAL_NUMBERS
from clevrhope.splits.kinds import MINIMAL_IID, MINIMAL_OOD

_NAME = re.compile(
    r"clevr_ho(?P<whole>\d+)_(?P<split>test|val)_predict(?:\.json)?"
    r"|(?:filtered_)?clevr_atom_ho(?P<atom>\d+)_exists_(?P<mis>mis)?match_ho_predict(?:\.json)?"
)

MAX_BYTES = 1 << 28
"""The most bytes of a file; 121,500 predictions have some 5 MB."""


def is_official(path: Path) -> bool:
    """Whether a file has the name of official predictions."""
    return _NAME.fullmatch(path.name) is not None


def read_official(path: Path) -> Block:
    """The rows of a file of official predictions.

    Raises:
        PredictionsError: the file is not such an object, names another pair, or has an unknown answer.
    """
    found = _NAME.fullmatch(path.name)
    assert found is not None
    number = int(found["whole"] or found["atom"])
    hop = next((hop for hop, n in OFFICIAL_NUMBERS.items() if n == number), None)
    if hop is None:
        raise PredictionsError(f"{path}: its name has pair {number}; the official data have 0 to 28")
    of_minimal = MINIMAL_IID if found["mis"] else MINIMAL_OOD
    split = SPLITS[found["split"]] if found["whole"] else of_minimal
    if split == MINIMAL_IID and not path.name.startswith("filtered_"):
        raise PredictionsError(
            f"{path}: predictions of the set before it was filtered; give the file whose name begins with "
            "filtered_"
        )
    rows = Rows(path, ": row ")
    content = read_object(path, "official predictions", error=PredictionsError, max_bytes=MAX_BYTES)
    for row, about in content.items():
        if not (row.isascii() and row.isdecimal() and isinstance(about, dict) and "pred" in about):
            raise PredictionsError(
                f"{path}: {shown(row)} is {shown(about)}; expected a row's number, and an object with pred"
            )
        answer = _answer(path, row, about["pred"])
        rows.add(int(row), {"hop": hop, "split": split, "question_index": int(row), "answer": answer})
    return rows.block()


def _answer(path: Path, row: str, given: Any) -> str:
    names = _answers()
    if isinstance(given, str):
        return given
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < len(names):
        return NO_ANSWER if names[given] in SPECIAL_TOKENS else names[given]
    raise PredictionsError(f"{path}: row {row}: pred is {shown(given)}; expected 0 to {len(names) - 1}")


@cache
def _answers() -> list[str]:
    """The answers by their official numbers."""
    return make_vocab([], [], default_vocabulary().answers).answers()
