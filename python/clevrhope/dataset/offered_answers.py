"""The two answers offered by a choice question about several images, read from its program."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.integer[Any]]

CONVERSE: Mapping[str, str] = {"left": "right", "right": "left", "front": "behind", "behind": "front"}
"""Maps each relation to its converse, which holds with the two objects exchanged."""


def offered_answers(programs: Numbers, functions: Sequence[str], answers: Mapping[str, int]) -> Numbers:
    """The two answers that choice questions offer, (N, 2); -1 in the rows of other questions.

    Args:
        programs: (N, P) rows of tokens.
        functions: the names of tokens by number, such as `choose_color[red]`, `option_color[blue]`.
        answers: the numbers of answers by their text.
    """
    first, second = (np.full(len(functions), -1) for _ in range(2))
    for token, name in enumerate(functions):
        function, _, value = name.removesuffix("]").partition("[")
        if function == "choose_relation":
            first[token], second[token] = answers[value], answers[CONVERSE[value]]
        elif function.startswith("choose_"):
            first[token] = answers[value]
        elif function.startswith("option_"):
            second[token] = answers[value]
    offered: Numbers = np.stack([first[programs].max(axis=1), second[programs].max(axis=1)], axis=1)
    return offered
