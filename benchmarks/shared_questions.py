"""Accuracies on shared questions: what runs of one pair score on the complex_ood of one sub-dataset of it."""

import csv
from dataclasses import dataclass
from math import nan
from pathlib import Path

from clevrhope.splits.kinds import OOD

_REACH = 1.96
"""Half of a 95% interval, in standard deviations."""


@dataclass(frozen=True)
class Score:
    """A run's accuracy at its end, in per cent.

    Attributes:
        dataset: the folder that it was trained on, such as hour-3.
        trained_on: the sub-dataset there, such as cyan_cylinder-d16.
        run: its seed.
        percent: its accuracy on the shared questions.
        of_images: the variance of that over images, from its interval; NaN if the table has no intervals.
    """

    dataset: str
    trained_on: str
    run: int
    percent: float
    of_images: float = nan

    @property
    def replicate(self) -> int:
        """The seed of the dataset, which its name ends with."""
        return int(self.dataset.rpartition("-")[2])

    @property
    def palette(self) -> str:
        """The name of the sub-dataset without the pair, such as d16 or k8_one."""
        return self.trained_on.partition("-")[2]


def read_scores(path: Path, *, model: str, asked: str) -> list[Score]:
    """The runs of a model in a results.csv that answered complex_ood of the sub-dataset `asked`."""
    with path.open(newline="") as file:
        return [
            Score(
                row["dataset"],
                row["trained_on"] or asked,
                int(row["run"]),
                float(row["mean_percent"]),
                _of_images(row),
            )
            for row in csv.DictReader(file)
            if (row["model"], row["metric"], row["split"]) == (model, "accuracy", OOD)
            and (row["hop"], row["checkpoint"]) == (asked, "last")
        ]


def _of_images(row: dict[str, str]) -> float:
    low, high = row.get("low"), row.get("high")
    return ((float(high) - float(low)) / (2 * _REACH)) ** 2 if low and high else nan
