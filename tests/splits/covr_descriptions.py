"""Descriptions of questions that are made up, by the properties and terms of each."""

from collections.abc import Iterable, Sequence

import numpy as np

from clevrhope.splits.covr.description import Description

PROPERTIES = ("compscope", "has-quant-all", "has-count", "num-3")
TERMS = ("red", "blue", "cube", "sphere", "left", "same_color")


def described(questions: Iterable[Sequence[str]], split: str = "covr_train") -> Description:
    """Questions that have the properties, and name the terms, that are listed for each."""
    rows = list(questions)
    properties = [[int(name in row) for name in PROPERTIES] for row in rows]
    terms = [sum(1 << bit for bit, name in enumerate(TERMS) if name in row) for row in rows]
    return Description(
        split,
        np.asarray(properties, np.int8).reshape(len(rows), len(PROPERTIES)),
        np.asarray(terms, np.int64),
        PROPERTIES,
        TERMS,
    )
