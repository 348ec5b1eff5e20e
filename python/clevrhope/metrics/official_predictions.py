"""Predictions as the official CLEVR-HOPE has them: JSON files of {row: {"pred", "target"}}, one a test set.

A row is the question's place in its HDF5 file, and answers are numbers of the official vocab.json, which are
those of this program.
"""

import re
from dataclasses import replace
from pathlib import Path

from clevrhope.dataset.vocab import NO_ANSWER, SPECIAL_TOKENS, make_vocab
from clevrhope.errors import PredictionsError, shown
from clevrhope.metrics.rows import Block, Rows
from clevrhope.runtime.forms import ANY, INDEX, Fields, Kind, MapOf, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.scenes.vocabulary import default_vocabulary
from clevrhope.sources.official.names import PAIRS, SPLITS
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
    if number not in PAIRS:
        raise PredictionsError(f"{path}: its name has pair {number}; the official data have 0 to 28")
    of_minimal = MINIMAL_IID if found["mis"] else MINIMAL_OOD
    split = SPLITS[found["split"]] if found["whole"] else of_minimal
    if split == MINIMAL_IID and not path.name.startswith("filtered_"):
        raise PredictionsError(
            f"{path}: predictions of the set before it was filtered; give the file whose name begins with "
            "filtered_"
        )
    rows, answers = Rows(path, ": row "), make_vocab([], [], default_vocabulary().answers).answers()
    content = read_object(path, "official predictions", error=PredictionsError, max_bytes=MAX_BYTES)
    check_form(content, _ROWS, path, error=PredictionsError)

    def named(row: str, key: str) -> str:
        answer = content[row][key]
        if isinstance(answer, str):
            return answer
        if not (INDEX.test(answer) and answer < len(answers)):
            raise PredictionsError(
                f"{path}: row {row}: {key} is {shown(answer)}; expected 0 to {len(answers) - 1}"
            )
        return NO_ANSWER if answers[answer] in SPECIAL_TOKENS else answers[answer]

    about = {"hop": PAIRS[number], "split": split}
    for row in content:
        rows.add(int(row), {**about, "question_index": int(row), "answer": named(row, "pred")})
    targets = [named(row, "target") if "target" in said else None for row, said in content.items()]
    return replace(rows.block(), right=targets)


_ROWS = MapOf(
    Fields({"pred": ANY}, {"target": ANY}),
    keys=Kind("a row's number", lambda text: text.isascii() and text.isdecimal()),
)
"""The form of a file: a row's number, and an object with its prediction."""
