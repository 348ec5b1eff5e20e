"""How fast pairs of questions are scored from arrays of answers."""

import statistics
import time
from collections.abc import Sequence

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.metrics.pairs import AnswerSet, Pairs, Relation, score_pairs

SEED = 0

_BREAKDOWNS = {"test": 8, "type": 20, "tier": 2, "cell": 4}
"""Breakdown -> its number of parts."""


def pairs_per_second(n_pairs: int = 1_000_000, repetitions: int = 3) -> float:
    """Median of the pairs scored per second: one run, all relations, four breakdowns, no bootstrap."""
    pairs, answers = _random_pairs(n_pairs)
    generator = np.random.default_rng(SEED)
    originals, partners = generator.integers(-2, 28, size=(2, 1, n_pairs), dtype=np.int16)
    rates = []
    for _ in range(repetitions):
        began = time.perf_counter()
        score_pairs(pairs, originals, partners, answers, seed=SEED)
        rates.append(n_pairs / (time.perf_counter() - began))
    return statistics.median(rates)


def _random_pairs(n_pairs: int) -> tuple[Pairs, AnswerSet]:
    """Pairs of all relations whose right answers stand in them, nine on an image."""
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
    pairs = Pairs(
        originals=originals,
        partners=np.where(relations == Relation.SAME, originals, partners).astype(np.int32),
        relations=relations,
        values=asked,
        images=(np.arange(n_pairs) // 9).astype(np.int32),
        parts={name: generator.integers(0, n, n_pairs, dtype=np.int32) for name, n in _BREAKDOWNS.items()},
    )
    return pairs, AnswerSet.from_numbers(numbers)
