"""Accuracy on the tune set by setting: which settings of a model a search would choose, and logs of runs."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from clevrhope.metrics.estimates import mean_of
from clevrhope.report.page import Table
from clevrhope.report.results import Result, grouped
from clevrhope.report.tables import spread, table_of


class TunedRun(NamedTuple):
    """A run, the name of its tune set, and its accuracy there in per cent: at its end, and the best."""

    result: Result
    tuned_on: str
    last: float
    best: float


class TunedSetting(NamedTuple):
    """The runs of a model with one setting, on sub-datasets that its other settings were trained on, too.

    Attributes:
        runs: on all of these sub-datasets.
        chosen: whether its mean accuracy at the end is the highest; the first one's of several.
    """

    runs: Sequence[TunedRun]
    chosen: bool


def read_curve(path: Path) -> tuple[str, list[tuple[int, float]]]:
    """The update and value of each point in the log of a run's last stage, and the set that it was tuned on.

    Values are accuracies in per cent on that set, or the training loss of a run without one ("").
    """
    try:
        records: list[Mapping[str, Any]] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError):
        return "", []
    records = [each for each in records if each.get("stage") == records[-1].get("stage")]
    tuned = [each for each in records if "tuned_on" in each]
    if tuned:
        return str(tuned[0]["tuned_on"]), [(each["update"], each["accuracy"]) for each in tuned]
    return "", [(each["update"], each["loss"]) for each in records if "loss" in each]


def tuned_settings(last: Sequence[Result]) -> list[TunedSetting]:
    """The settings of each model that has several at a train size and was tuned on one set with each.

    Settings are compared on the sub-datasets that all of them were trained on; seeds are averaged first. The
    weights of a run's end are compared, which are those that reports are about.

    Args:
        last: results of last weights.
    """
    runs: dict[Path, TunedRun] = {}
    for result in last:
        tuned_on, points = read_curve(result.source.origin / "log.jsonl")
        if tuned_on and not result.source.after:
            values = [accuracy for _, accuracy in points]
            runs[result.source.origin] = TunedRun(result, tuned_on, values[-1], max(values))
    found = []
    for of_model in grouped(runs.values(), _searched).values():
        settings = grouped(of_model, lambda run: run.result.source.group)
        places = [{run.result.sub_dataset for run in own} for own in settings.values()]
        shared = set.intersection(*places)
        if len(settings) < 2 or not shared:
            continue
        kept = [[run for run in own if run.result.sub_dataset in shared] for own in settings.values()]
        means = [_mean_of_places(own) for own in kept]
        found += [TunedSetting(own, k == means.index(max(means))) for k, own in enumerate(kept)]
    return found


def tuning_table(settings: Sequence[TunedSetting]) -> Table:
    """A row for each setting."""
    return table_of(
        settings,
        [
            ("model", lambda of: of.runs[0].result.source.model),
            ("train size", lambda of: of.runs[0].result.size),
            ("setting", lambda of: of.runs[0].result.source.group),
            ("tuned on", lambda of: of.runs[0].tuned_on),
            ("at the end, %", lambda of: spread([run.last for run in of.runs])),
            ("best, %", lambda of: spread([run.best for run in of.runs])),
            ("chosen", lambda of: "yes" if of.chosen else ""),
        ],
    )


def _searched(run: TunedRun) -> tuple[object, ...]:
    """What runs that differ in their settings have in common; datasets are no settings."""
    source = run.result.source
    return source.model, source.setup.get("dataset.folder"), run.result.size, run.tuned_on


def _mean_of_places(runs: Sequence[TunedRun]) -> float:
    places = grouped(runs, lambda run: run.result.sub_dataset).values()
    return mean_of([mean_of([run.last for run in own]).value for own in places]).value
