"""Episodes of an export: their words, forms and supports as the columns of a question file."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from clevrhope.dataset.nonce_text import in_real_words
from clevrhope.runtime.reading import reading
from clevrhope.sources.source import Columns, Numbering, image_numbers
from clevrhope.splits.nonce.episodes import COMPLEX, FORMS
from clevrhope.splits.nonce.kinds import STATEMENT_WIDTH, TOLD
from clevrhope.splits.nonce.supports import support_width

CELLS: Mapping[str, str] = {
    **dict.fromkeys(("form", "grid", "real_question"), "string"),
    **dict.fromkeys(("real_words", "statements"), "list<element: string>"),
    "support_indices": "list<element: int32>",
}
"""The columns of an export from which those of a question file follow, and their types."""

_FILTER = re.compile(r"filter_(\w+)\[(\w+)\]")


def episode_columns(
    cells: Mapping[str, Sequence[Any]],
    attributes: Mapping[str, Any],
    numbering: Numbering,
    where: Callable[[int], str],
) -> Columns:
    """The columns of consecutive episodes that their export says in words, but for programs and answers.

    `cells` has those of `CELLS` and programs, and `attributes` are those of the exported question file.

    Raises:
        DatasetError: a cell does not fit the others, or the attributes; `where` names the place of its row.
    """
    n, told = len(cells["form"]), attributes["types"] == TOLD
    width = support_width((form.n_b for form in FORMS), told=told)
    columns: dict[str, Any] = {
        "question_families": np.zeros(n, np.int32),
        "grids": np.zeros(n, np.int8),
        "pairs": np.zeros((n, 2), np.int32),
        "words": np.zeros((n, len(attributes["value_names"])), np.int32),
        "support_idxs": image_numbers(cells["support_indices"], where, width),
        "statements": np.zeros((n, width, STATEMENT_WIDTH), np.int32),
    }
    for row in range(n):
        with reading(where(row), "an episode whose words, form, grid and program fit each other"):
            of_row = {name: values[row] for name, values in cells.items()}
            for name, values in _of_episode(of_row, attributes, numbering):
                shape, most = np.shape(values), columns[name].shape[1:]
                if any(size > room for size, room in zip(shape, most, strict=True)):
                    raise ValueError(f"{name} of shape {shape}, where {most} is the most")
                columns[name][(row, *map(slice, shape))] = values
    questions = zip(cells["real_question"], cells["form"], strict=True)
    # Only questions of templates begin with a capital letter.
    spelled = [text if form.startswith(COMPLEX) else text.lower() for text, form in questions]
    return {**numbering.texts(spelled, where), **columns}


def _of_episode(
    cells: Mapping[str, Any], attributes: Mapping[str, Any], numbering: Numbering
) -> Iterator[tuple[str, Any]]:
    """The columns of one episode, of which rows may be shorter than in the file."""
    values = [*attributes["value_names"]]
    meanings = dict(each.split(": ") for each in cells["real_words"])
    yield "question_families", [*attributes["forms"]].index(cells["form"])
    yield "grids", [*attributes["grid_names"]].index(cells["grid"])
    named = dict(_FILTER.findall(" ".join(cells["program"])))
    yield "pairs", [values.index(named[kind]) for kind in cells["grid"].split("_")]
    words, _ = numbering.rows([*meanings])
    numbers = dict(zip(meanings.values(), words[:, 1].tolist(), strict=True))  # after <START>
    yield "words", [numbers.get(value, 0) for value in values]
    said = [in_real_words(each.lower(), meanings) for each in cells["statements"]]
    yield "statements", numbering.rows(said)[0]
