"""A suite of paired tests written beside a folder of `made_folder`, small enough to be scored by hand."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from made_folder import POOLS, Rows

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS, TIERS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.questions_h5 import QuestionWriter
from clevrhope.dataset.vocab import read_vocab, write_vocab
from clevrhope.metrics import Scored, Scores
from clevrhope.metrics.pairs import Relation


@dataclass(frozen=True)
class MadePair:
    """A pair of a question of the split and one that the suite made."""

    row: int
    """The question's row in the split's file."""
    answer: str
    """The right answer to the other question."""
    test: str
    relation: Relation
    tier: str = "in"
    cell: str = "00"
    value: str = ""
    swapped: bool = False
    """Whether the question of the split is the partner."""
    program: int = 0
    """Added to the tokens of the other question's program: 0 for the same one."""


def write_suite(
    folder: Path,
    hop: str,
    split: str,
    pairs: Sequence[MadePair],
    *,
    name: str = "mine",
    types: dict[str, str] | None = None,
) -> Path:
    """Writes the pairs; `types` are those of tests that have one. Gives the HDF5 file."""
    layout = Layout(folder)
    vocab = read_vocab(layout.vocab)
    numbers = vocab.answer_token_to_idx
    columns = read_table(layout.questions_h5(hop, split))
    own = np.asarray([pair.row for pair in pairs])
    tests = list(dict.fromkeys(pair.test for pair in pairs))
    swapped = np.asarray([pair.swapped for pair in pairs])
    n = len(pairs)

    def sides(of_split: Sequence[int] | np.ndarray, of_suite: Sequence[int] | np.ndarray) -> np.ndarray:
        """(2K,) of the original and the partner of each pair."""
        a, b = np.asarray(of_split), np.asarray(of_suite)
        return np.stack([np.where(swapped, b, a), np.where(swapped, a, b)], axis=1).reshape(-1)

    def of_pair(values: Sequence[int], kind: type = np.int8) -> np.ndarray:
        return np.repeat(np.asarray(values, dtype=kind), 2)

    programs = np.zeros((2 * n, 4), dtype=np.int32)
    programs[:, 1] = sides(np.zeros(n), [pair.program for pair in pairs])
    lengths = np.full(2 * n, 3, dtype=np.int32)
    arrays = {
        "questions": np.zeros((2 * n, 4), dtype=np.int32),
        "question_lengths": lengths,
        "programs": programs,
        "program_lengths": lengths,
        "answers": sides(columns.answers[own], [numbers[pair.answer] for pair in pairs]).astype(np.int32),
        "image_idxs": np.repeat(columns.image_idxs[own], 2),
        "question_families": np.repeat(columns.question_families[own], 2),
        "relation_needed": np.full((2 * n, 3), -1, dtype=np.int8),
        "pair_idxs": of_pair(range(n), np.int32),
        "role": np.tile(np.asarray([0, 1], dtype=np.int8), n),
        "test": of_pair([tests.index(pair.test) for pair in pairs], np.int16),
        "tier": of_pair([TIERS.index(pair.tier) for pair in pairs]),
        "cell": of_pair([int(pair.cell, 2) for pair in pairs]),
        "touches": of_pair([0] * n),
        "relation": of_pair([pair.relation for pair in pairs]),
        "value": of_pair([numbers[pair.value] if pair.value else -1 for pair in pairs], np.int32),
        "orig_idxs": sides(own, [-1] * n).astype(np.int32),
        "clevr_programs": np.zeros((2 * n, 4), dtype=np.int32),
    }
    attributes = {
        "suite": name,
        "tests": tests,
        "types": [(types or {}).get(test, "") for test in tests],
        "controls": [""] * len(tests),
        "n_originals": len(columns),
    }
    path = layout.suite_h5(hop, name, split)
    path.parent.mkdir(parents=True, exist_ok=True)
    with QuestionWriter(path, hop=hop, split=split, pool=POOLS[split], attributes=attributes) as writer:
        writer.append(arrays)
    write_vocab(layout.suite_vocab(hop, name), vocab)
    return path


Answer = Callable[[str, str], str]
"""The answer from the name of a test, "" for a question of a split, and the right answer."""


def suite_answers(folder: Path, hop: str, suite: str, answer: Answer) -> Rows:
    """Predictions about the questions of the splits that a suite is of, and about those that it made."""
    layout = Layout(folder)
    names = read_vocab(layout.vocab).answers()
    rows: Rows = []
    for path in sorted(layout.suite(hop, suite).glob("*.h5")):
        pairs = read_table(path, PAIRS)
        place = {"hop": hop, "split": path.stem}
        for k, right in enumerate(read_table(layout.questions_h5(hop, path.stem)).answers.tolist()):
            rows.append({**place, "question_index": k, "answer": answer("", names[right])})
        for k in np.flatnonzero(pairs.orig_idxs < 0).tolist():
            given = answer(pairs.tests[pairs.test[k]], names[pairs.answers[k]])
            rows.append({**place, "suite": suite, "question_index": k, "answer": given})
    return rows


def percents(scores: Scores) -> dict[str, float | None]:
    return {
        name: scores[name].value
        for name in ("accuracy", "consistency", "both_right", "original_accuracy", "partner_accuracy", "rad")
    }


def n_pairs(parts: Mapping[str, Scored]) -> list[tuple[str, int]]:
    return [(name, each.mean.counts["n_pairs"]) for name, each in parts.items()]
