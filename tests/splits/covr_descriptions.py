"""Descriptions of questions that are made up, by the properties and terms of each."""

from collections.abc import Iterable, Sequence

import numpy as np

from clevrhope.splits.covr.description import Description, Words

STEPS = {
    "compscope": ("some", "filter_color[red]", "scene", "scene"),
    "has-quant-all": ("all_same_color", "scene"),
    "has-count": ("count", "scene"),
    "num-3": ("count_is[3]", "scene"),
}
"""Property -> steps of programs that have it and none of the others."""

PROPERTIES = tuple(STEPS)
TERMS = ("red", "blue", "cube", "sphere", "left", "same_color")
FUNCTIONS = (
    *(
        "<NULL>",
        "<START>",
        "<END>",
        "<UNK>",
        "scene",
        "count",
        "count_is[3]",
        "some",
        "all_same_color",
        "unique",
    ),
    *("filter_color[red]", "filter_color[blue]", "filter_shape[cube]", "filter_shape[sphere]", "query_color"),
    *("with_relation[left]", "with_same_color", "query_shape"),
)
WORDS = Words(
    FUNCTIONS,
    ("<NULL>", "no", "yes", "3", "red", "cube", "left"),
    ("count", "verify_count", "query_attr"),
    TERMS,
)


def of_programs(
    texts: Iterable[str], answers: Sequence[str] = (), templates: Sequence[str] = ()
) -> Description:
    """Questions with these programs, whose steps are separated by spaces, answers and templates."""
    rows = [[FUNCTIONS.index(step) for step in ("<START> " + text).split()] for text in texts]
    width = max(map(len, rows), default=1)
    return Description(
        "covr_train",
        WORDS,
        programs=np.asarray([[*row, *[0] * (width - len(row))] for row in rows], np.int32).reshape(-1, width),
        answers=np.asarray([WORDS.answers.index(each) for each in answers or ["yes"] * len(rows)]),
        templates=np.asarray([WORDS.templates.index(each) for each in templates or ["count"] * len(rows)]),
        terms=np.zeros(len(rows), np.int64),
        in_program_split=np.zeros(len(rows), bool),
    )


def described(questions: Iterable[Sequence[str]], split: str = "covr_train") -> Description:
    """Questions that have the properties, and name the terms, that are listed for each."""
    rows = list(questions)
    programs = of_programs(" ".join(step for name in row for step in STEPS.get(name, ())) for row in rows)
    terms = [sum(1 << bit for bit, name in enumerate(TERMS) if name in row) for row in rows]
    fields = vars(programs) | {"split": split, "terms": np.asarray(terms, np.int64)}
    return Description(**fields)
