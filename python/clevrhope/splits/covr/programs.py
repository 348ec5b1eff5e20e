"""Anonymised programs, which tell how questions are composed, and draws of them for the program split.

An anonymised program has neither values, relations, numbers nor types. As in COVR, the names of operations
tell shapes from other types, as `find`, `query_name` and `choose_name` do.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clevrhope.splits.covr.fragments import Flags, Steps

PROGRAM_DRAWS = (1, 2, 3)
"""Numbers of the draws of programs; the paper gives a mean and a deviation over several."""

SHARE_OF_PROGRAMS = 0.2
"""The share of anonymised programs that a draw holds out. Source: Bogin et al. 2021, section 5."""

_SHAPE = r"shape\b.*"
_ANONYMOUS: Mapping[str, str] = {
    rf"query_{_SHAPE}": "query_name",
    rf"choose_{_SHAPE}": "choose_name",
    r"choose_relation.*": "choose_relation",
    r"(all_same|choose|filter|option|query|verify)_.*": r"\1",
    r"equal_(?!integer).*": "equal",
    r"with_same_.*": "with_relation",
    r"(.*?)\[.*": r"\1",
}
"""Patterns of functions -> their anonymised names; the first that matches counts."""


@dataclass(frozen=True)
class AnonymisedPrograms:
    """The anonymised programs of N questions.

    Attributes:
        texts: each of the M different ones once, its operations in prefix order.
        of_questions: (N,) the number of each question's program among them.
    """

    texts: tuple[str, ...]
    of_questions: npt.NDArray[np.intp]

    def drawn(self, number: int) -> Flags:
        """(N,) whether each question's program belongs to a draw.

        A program is drawn by a hash of its text and the draw's number, whatever other programs there are.
        """
        bound = int(SHARE_OF_PROGRAMS * 2**64)
        digests = (hashlib.sha256(f"clevrhope COVR program {number} {text}".encode()) for text in self.texts)
        is_drawn = [int.from_bytes(digest.digest()[:8], "little") < bound for digest in digests]
        return np.asarray(is_drawn, bool)[self.of_questions]


def anonymised_programs(steps: Steps) -> AnonymisedPrograms:
    """Leaves values, relations, numbers and types out of programs."""
    names = [_anonymised(name) for name in steps.names]
    found, numbers = np.unique(names, return_inverse=True)
    rows, of_questions = np.unique(numbers.astype(np.uint8)[steps.tokens], axis=0, return_inverse=True)
    texts = tuple(" ".join(filter(None, found[row])) for row in rows)
    return AnonymisedPrograms(texts, of_questions.reshape(-1))


def _anonymised(name: str) -> str:
    """The operation of a function; "" for a special token."""
    if name.startswith("<"):
        return ""
    patterns = ((re.fullmatch(pattern, name), new) for pattern, new in _ANONYMOUS.items())
    return next((match.expand(new) for match, new in patterns if match), name)
