"""Tables of coverage: how far one model's right answers are another's, on the pairs of a suite."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from clevrhope.metrics.bootstrap import Floats
from clevrhope.metrics.pairs import coverage
from clevrhope.metrics.pairs.relations import Flags
from clevrhope.report.instances import Instance
from clevrhope.report.page import Cell, Table
from clevrhope.splits.kinds import SPLITS

MOST = 12
"""Most rows and columns of a table; more could not be read."""


def coverage_tables(instances: Sequence[Instance], suite: str) -> Iterator[Table]:
    """A table for each split on which two runs or more answered the pairs of a suite.

    Runs that dropped types of train questions are left out: they are many instances of one model.
    """
    for split in SPLITS:
        own = [
            (each, rights) for each in instances for rights in _right(each, suite, split) if not each.dropped
        ]
        found = _mean_coverage(own)
        names = list(dict.fromkeys(name for name, _ in found))
        if not found or len(names) > MOST:
            continue
        yield Table(
            title=f"Coverage on the pairs of {suite} on {split}, per cent",
            head=["also right, of those right by", *names],
            rows=[
                [Cell(i), *(Cell(f"{found[i, j]:.1f}" if (i, j) in found else "") for j in names)]
                for i in names
            ],
            note="Of the questions that a run of the column's model has right, the share that a run of the "
            "row's model has right too; mean over held-out pairs and pairs of different runs. On the "
            "diagonal, both are runs of one model. Both questions of a pair count. Source: Jimenez et al., "
            "tables 13 to 17, where a model covers itself by 100%.",
        )


def _right(each: Instance, suite: str, split: str) -> Iterator[tuple[Flags, Flags]]:
    """(2K,) flags, of each question of a suite on a split: answered, and right."""
    for rows in each.pairs.get(split, ()):
        if rows.target.suite == suite:
            yield np.tile(rows.answered, 2), np.concatenate([rows.original, rows.partner])


def _mean_coverage(own: Sequence[tuple[Instance, tuple[Flags, Flags]]]) -> dict[tuple[str, str], float]:
    """Model i, model j -> mean of the coverage of j's runs by i's, in per cent."""
    by_questions: dict[tuple[Path, str], list[tuple[str, Flags, Flags]]] = {}
    for each, (answered, right) in own:
        result = each.result
        place = (result.source.dataset.resolve(), result.hop)
        by_questions.setdefault(place, []).append((_name(each), answered, right))
    shares: dict[tuple[str, str], list[float]] = {}
    for runs in by_questions.values():
        common = np.logical_and.reduce([answered for _, answered, _ in runs])
        found: Floats = coverage(np.stack([right[common] for *_, right in runs]))
        for i, j in product(range(len(runs)), repeat=2):
            if i != j and np.isfinite(found[i, j]):
                shares.setdefault((runs[i][0], runs[j][0]), []).append(100 * float(found[i, j]))
    # Models in the order in which they come, though no two runs may share their questions.
    names = list(dict.fromkeys(_name(each) for each, _ in own))
    return {(i, j): float(np.mean(shares[i, j])) for i, j in product(names, repeat=2) if (i, j) in shares}


def _name(each: Instance) -> str:
    """The model with its train size, which makes it another one."""
    size = each.result.size
    return f"{each.result.model}, {size}" if size else each.result.model
