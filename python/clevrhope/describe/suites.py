"""Measures the pairs of suites, as measured.json has them: the pairs of each test, and their answers."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.contents import check_suite
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import PAIRS, RELATIONS, TIERS
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.vocab import read_vocab
from clevrhope.describe import bag_of_words
from clevrhope.errors import DatasetError
from clevrhope.splits.covr.kinds import COVR_SPLITS
from clevrhope.splits.kinds import SPLITS

Booleans = npt.NDArray[np.bool_]

CELLS = ("00", "01", "10", "11")
"""Whether the original mentions the held-out pair, then whether the partner does."""


def measure_suites(layout: Layout, manifest: Manifest, hop: str) -> dict[str, dict[str, Any]]:
    """Suite -> split -> the measurements of its pairs; suites with an unreadable file are left out."""
    found: dict[str, dict[str, Any]] = {}
    for suite in sorted(manifest.suites.get(hop, {})):
        with suppress(DatasetError):
            if of_splits := _measure_suite(layout, manifest, hop, suite):
                found[suite] = of_splits
    return found


def _measure_suite(layout: Layout, manifest: Manifest, hop: str, suite: str) -> dict[str, Any]:
    check_suite(layout, manifest, hop, suite)
    vocab = read_vocab(layout.suite_vocab(hop, suite))
    return {
        split: measure_pairs(
            read_table(layout.suite_h5(hop, suite, split), PAIRS, vocab=vocab), vocab.answer_token_to_idx
        )
        for split in (*SPLITS, *COVR_SPLITS)
        if split in manifest.suites[hop][suite]
    }


def measure_pairs(pairs: QuestionTable, answers: Mapping[str, int]) -> dict[str, Any]:
    """The measurements of a file of pairs; `answers` has the number of each answer."""
    partners = pairs.answers[1::2]
    is_yes, is_no = (partners == answers.get(name, -1) for name in ("yes", "no"))
    tests: dict[str, dict[str, Any]] = {}
    for number, (name, kind) in enumerate(zip(pairs.tests, pairs.types, strict=True)):
        of_test = pairs.test[::2] == number
        if not of_test.any():
            continue
        tiers, relations, cells = (
            column[::2][of_test] for column in (pairs.tier, pairs.relation, pairs.cell)
        )
        n_yes, n_yes_no = int((is_yes & of_test).sum()), int(((is_yes | is_no) & of_test).sum())
        all_yes_no = n_yes_no == of_test.sum()
        tests[name] = {
            "type": kind,
            "tier": TIERS[int(tiers[0])],
            "relations": [RELATIONS[relation] for relation in np.unique(relations).tolist()],
            "pairs": int(of_test.sum()),
            "cells": {CELLS[cell]: n for cell, n in sorted(Counter(cells.tolist()).items())},
            "partners_yes": n_yes,
            "partners_yes_or_no": n_yes_no,
            "yes_share": round(n_yes / n_yes_no, 6) if n_yes_no else None,
            "partners_by_words": n_right_by_words(pairs, of_test, is_yes) if all_yes_no else None,
        }
    return {
        "pairs": sum(test["pairs"] for test in tests.values()),
        "originals": pairs.n_originals,
        "empty_tests": [name for name in pairs.tests if name not in tests],
        "tests": tests,
    }


def n_right_by_words(pairs: QuestionTable, of_test: Booleans, is_yes: Booleans) -> int | None:
    """The number of a test's yes/no partners that a bag of their words answers; None if all show one image.

    Args:
        pairs: the 2K questions of the pairs of a suite on a split.
        of_test: (K,) whether each pair is of the test.
        is_yes: (K,) whether yes is the right answer to each partner.
    """
    images = np.atleast_2d(pairs.image_idxs.T)[0, 1::2]  # of a set, the first one
    return bag_of_words.n_right(pairs.questions[1::2][of_test], is_yes[of_test], images[of_test])
