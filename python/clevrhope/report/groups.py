"""Groups of runs that share a row: one model, one way of choosing combinations, one diversity and train size.

A figure of a group is the mean over sub-datasets (pairs, palettes, datasets) of the mean over runs on each.
Its 95% interval is a bootstrap over the sub-datasets, or over the images of a single one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from clevrhope.metrics.estimates import Estimate, mean_of_datasets, mean_of_runs, transfer
from clevrhope.report.results import Result
from clevrhope.splits.kinds import IID, OOD

Pick = Callable[[Result], Estimate | None]
"""Takes a figure of one run from its result; None where the run does not have it."""


@dataclass(frozen=True, slots=True)
class Group:
    """Some runs.

    Attributes:
        results: of the runs; what a group has in common is that of the first.
        n_collapsed: runs that were left out since they collapsed.
    """

    results: tuple[Result, ...]
    n_collapsed: int = 0

    @property
    def model(self) -> str:
        """The model's name."""
        return self.results[0].model

    @property
    def combinations(self) -> str:
        """The pair and how its combinations were chosen, as "cyan_cylinder, random"; "" for plain pairs."""
        return _combinations(self.results[0])

    @property
    def diversity(self) -> int:
        """Combinations of the two attributes' values, the held-out one included."""
        return self.results[0].diversity

    @property
    def train_size(self) -> int | None:
        """Questions trained on; None if unknown."""
        return self.results[0].train_size

    @property
    def size(self) -> str:
        """The train size as the paper writes it."""
        return self.results[0].size

    @property
    def sub_datasets(self) -> dict[tuple[Path, str], list[Result]]:
        """The runs on each sub-dataset."""
        found: dict[tuple[Path, str], list[Result]] = {}
        for each in self.results:
            found.setdefault(each.sub_dataset, []).append(each)
        return found

    def of_each(self, pick: Pick) -> list[Estimate]:
        """The mean over the runs on each sub-dataset that has the figure."""
        found = [[pick(each) for each in runs] for runs in self.sub_datasets.values()]
        there = [[each for each in of_runs if each is not None] for of_runs in found]
        return [mean_of_runs(each) for each in there if each]

    def estimate(self, pick: Pick) -> Estimate | None:
        """The group's figure; None where no run has it."""
        of_each = self.of_each(pick)
        return mean_of_datasets(of_each) if of_each else None

    @property
    def transfer(self) -> Estimate | None:
        """Normalised transfer, from means over the sub-datasets; None where one has no question-only runs."""
        found = [self.estimate(pick) for pick in (accuracy(OOD), accuracy(IID), blind(OOD), blind(IID))]
        if any(each.blind is None for each in self.results) or None in found:
            return None
        ood, iid, blind_ood, blind_iid = (each for each in found if each is not None)
        return transfer(ood, iid, blind_ood, blind_iid)

    @property
    def perfect_transfer(self) -> float | None:
        """The normalised transfer of a model that is always right; None as for `transfer`."""
        ood, iid = self.estimate(blind(OOD)), self.estimate(blind(IID))
        if self.transfer is None or ood is None or iid is None:
            return None
        return (100 - ood.value) / (100 - iid.value)

    def without_collapsed(self) -> "Group | None":
        """The group without its collapsed runs; None where there are none, or nothing is left."""
        left = tuple(each for each in self.results if not each.collapsed)
        n = len(self.results) - len(left)
        return replace(self, results=left, n_collapsed=n) if n and left else None


def groups_of(results: Iterable[Result]) -> list[Group]:
    """The groups of results with a complex gap, in order: plain pairs first, by size, falling diversity."""
    found: dict[tuple[str, str, int, int | None], list[Result]] = {}
    for each in results:
        if each.gap("complex") is not None and each.diversity:
            key = (each.model, _combinations(each), each.diversity, each.train_size)
            found.setdefault(key, []).append(each)
    groups = [Group(tuple(each)) for each in found.values()]
    return sorted(groups, key=lambda each: (each.combinations, each.train_size or 0, -each.diversity))


def _combinations(result: Result) -> str:
    return f"{result.pair}, {result.mode}" if result.mode else ""


def accuracy(split: str) -> Pick:
    """Takes the accuracy on a test set."""
    return lambda result: result.accuracies.get(split)


def blind(split: str) -> Pick:
    """Takes the accuracy of the question alone on a test set."""
    return lambda result: None if result.blind is None else result.blind.accuracies.get(split)


def gap_of(kind: str) -> Pick:
    """Takes a plain gap, "complex" or "minimal"."""
    return lambda result: result.gap(kind)


complex_gap = gap_of("complex")
"""Takes the plain complex gap."""


def matched_gap(result: Result) -> Estimate | None:
    """Takes the matched gap."""
    return None if result.matched is None else result.matched.points


def plain_beside_matched(result: Result) -> Estimate | None:
    """Takes the plain gap on the OOD questions that have a match."""
    return None if result.matched is None else result.matched.plain
