"""Measures how fast pairs of questions are made, and scored from arrays and from a file of predictions."""

import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from clevrhope.dataset.folder import Folder
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import read_vocab
from clevrhope.metrics import measures
from clevrhope.metrics.pairs import AnswerSet, Relation, pair_flags, score_groups
from clevrhope.metrics.suites import score_suite
from clevrhope.splits.kinds import IID, OOD

SEED = 0

HOP, SUITE = "rubber_cylinder", "carets"
"""The HOP and suite of the pairs in a file of predictions."""

SIZES = {IID: 12_000, OOD: 1_500}
"""Numbers of questions in the test sets whose pairs are scored from a file: a tenth of the paper's."""

_BREAKDOWNS = {"test": 8, "type": 20, "tier": 2, "cell": 4}
"""Breakdown -> its number of parts."""


def pairs_per_second(n_pairs: int = 1_000_000, repetitions: int = 3) -> float:
    """Median number of pairs scored per second: one run, all relations, four breakdowns, no bootstrap."""
    pairs, answers = _random_pairs(n_pairs)
    generator = np.random.default_rng(SEED)
    parts = {name: generator.integers(0, n, n_pairs, dtype=np.int32) for name, n in _BREAKDOWNS.items()}
    given = generator.integers(-2, 28, size=(1, 2 * n_pairs), dtype=np.int16)
    rates = []
    for _ in range(repetitions):
        began = time.perf_counter()
        flags = pair_flags(pairs, given, answers)
        score_groups(flags, measures.PAIRS, pairs.image_idxs[::2], parts, seed=SEED)
        rates.append(n_pairs / (time.perf_counter() - began))
    return statistics.median(rates)


def file_pairs_per_second(
    n_pairs: int = 200_000, repetitions: int = 3, sizes: Mapping[str, int] = SIZES
) -> tuple[float, float]:
    """Median numbers of pairs made per second from question files, and scored per second from JSON lines.

    Making includes everything from reading the folder on, but neither searching for originals nor writing the
    pairs. Scored are correct answers of as many runs as give at least `n_pairs` pairs, together and without a
    bootstrap.
    """
    from clevrhope.config.presets import PRESETS
    from clevrhope.pipeline import Request, build
    from clevrhope.pipeline.suite_maker import SuiteMaker
    from clevrhope.pipeline.suites import make_suite
    from clevrhope.questions.suites import suite_folder

    with tempfile.TemporaryDirectory(prefix="clevrhope-bench-") as folder:
        root, file = Path(folder, "data"), Path(folder, "predictions.jsonl")
        small = PRESETS["small"]
        config = replace(small, sizes=replace(small.sizes, **sizes))
        build(Request(root, (HOP,), config, seed=SEED, render=False, splits=tuple(sizes)))
        made = sum(split.n_pairs for split in make_suite(root, SUITE))
        layout, hop = Layout(root), Folder.open(root).hop(HOP)
        rates_made = []
        for _ in range(repetitions):
            began = time.perf_counter()
            maker = SuiteMaker(Folder.open(root), SUITE, suite_folder(SUITE), per_cell=0)
            n_made = sum(len(maker.make(hop, split)[1]) for split in sizes)
            rates_made.append(n_made / (time.perf_counter() - began))
        n_runs = -(-n_pairs // made)
        with file.open("w", encoding="utf-8") as lines:
            lines.writelines(_right_lines(layout, n_runs))
        rates_scored = []
        for _ in range(repetitions):
            began = time.perf_counter()
            score_suite(root, SUITE, file, seed=SEED, bootstrap=0)
            rates_scored.append(made * n_runs / (time.perf_counter() - began))
        return statistics.median(rates_made), statistics.median(rates_scored)


def _right_lines(layout: Layout, n_runs: int) -> Iterator[str]:
    """Correct answers to the questions of a suite and of its splits, as `clevrhope evaluate` writes them."""
    names = read_vocab(layout.vocab).answers()
    for run in range(n_runs):
        for path in sorted(layout.suite(HOP, SUITE).glob("*.h5")):
            rows = read_table(path, PAIRS)
            made = np.flatnonzero(rows.orig_idxs < 0)
            own = read_table(layout.questions_h5(HOP, path.stem)).answers
            for place, indices, answers in (
                ({}, range(len(own)), own),
                ({"suite": SUITE}, made.tolist(), rows.answers[made]),
            ):
                first = {"hop": HOP, "split": path.stem, **place}
                for k, number in zip(indices, answers.tolist(), strict=True):
                    row = {**first, "question_index": k, "answer": names[number], "run": run}
                    yield f"{json.dumps(row)}\n"


def _random_pairs(n_pairs: int) -> tuple[QuestionTable, AnswerSet]:
    """Pairs of all relations that contain their own correct answers, nine per image."""
    yes_no, counts, values = ("no", "yes"), [str(k) for k in range(11)], [f"value {k}" for k in range(15)]
    numbers = {text: k for k, text in enumerate((*yes_no, *counts, *values))}
    generator = np.random.default_rng(SEED)
    relations = generator.choice(list(Relation), n_pairs).astype(np.int8)

    def drawn(texts: Sequence[str]) -> Ints:
        return generator.choice([numbers[text] for text in texts], n_pairs).astype(np.int32)

    is_flip, is_positive = relations == Relation.FLIP, relations == Relation.POSITIVE
    originals = np.where(is_flip, drawn(yes_no), np.where(is_positive, drawn(counts), drawn(values)))
    asked = np.where(generator.random(n_pairs) < 0.5, originals, drawn(values))
    implies_yes = np.where(is_flip, originals == numbers["no"], originals == asked)
    implies_yes = np.where(is_positive, originals != numbers["0"], implies_yes)
    partners = np.where(implies_yes, numbers["yes"], numbers["no"])
    partners = np.where(relations == Relation.SAME, originals, partners)
    columns = {
        "answers": np.stack([originals, partners], axis=1).reshape(-1).astype(np.int32),
        "relation": np.repeat(relations, 2),
        "value": np.repeat(asked, 2),
        "image_idxs": (np.arange(2 * n_pairs) // 18).astype(np.int32),
    }
    return QuestionTable(PAIRS, columns), AnswerSet.from_numbers(numbers)
