"""The two answers that a question of choice about several images offers, read off its program."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.integer[Any]]

CONVERSE: Mapping[str, str] = {"left": "right", "right": "left", "front": "behind", "behind": "front"}
"""The relation that an object has to another one where that one has this relation to it."""


def offered_answers(programs: Numbers, functions: Sequence[str], answers: Mapping[str, int]) -> Numbers:
    """The two answers that questions of choice offer, (N, 2); -1 in rows of other questions.

    Args:
        programs: (N, P) rows of tokens.
        functions: the tokens' names by number, such as `choose_color[red]`, `option_color[blue]`.
        answers: numbers of answers by their text.
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
