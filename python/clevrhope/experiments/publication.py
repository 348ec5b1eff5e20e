"""Copies the results of a finished experiment into a repository, with what they come from."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from clevrhope.errors import ConfigError, DatasetError
from clevrhope.experiments.plan import Plan
from clevrhope.experiments.run import write_report
from clevrhope.runtime.atomic import disk_errors, write_whole
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.progress import Progress, Silent


def publish(plan: Plan, folder: Path, progress: Progress | None = None) -> tuple[Path, Path]:
    """Writes the report anew, and copies its results.csv and provenance.json as NAME.csv and NAME.json.

    NAME is that of the experiment's file, whose digest is added to NAME.json.

    Raises:
        ConfigError: a run is unfinished or failed, or the code was changed since its commit, or NAME.csv is
            that of another experiment.
        DatasetError: the folder cannot be made or written to.
    """
    file = plan.experiment.file
    chains = (*plan.datasets.values(), *plan.runs, *plan.zero_shot)
    left = [chain.name for chain in chains if not chain.done]
    if left:
        raise ConfigError(
            f"{plan.experiment.out}: {len(left)} of {len(chains)} datasets and runs of {file.name} are not "
            f"there or failed, such as {left[0]}; repeat the experiment without --publish until nothing "
            "fails, or name its folder with --out"
        )
    experiment = {"file": file.name, "sha256": sha256(file.read_bytes()).hexdigest()}
    table, record = folder / f"{file.stem}.csv", folder / f"{file.stem}.json"
    if (record.exists() or table.exists()) and _experiment_of(record) != experiment:
        raise ConfigError(
            f"{table}: written by another experiment, or before {file.name} was changed; remove it and "
            f"{record.name}, or give {file.name} another name"
        )
    with disk_errors(folder, option="--publish"):  # before the report is written, which takes a while
        folder.mkdir(parents=True, exist_ok=True)
    made = write_report(plan, (), progress or Silent())
    if made is None or made.skipped:
        reason = made.skipped[0] if made else "no run has predictions"
        raise ConfigError(f"{file}: the report lacks a run, so it is not published: {reason}")
    content = read_object(made.provenance, "the provenance of a report")
    for of in (content["report"], *(each.get("made_with", {}) for each in content["runs"])):
        if of.get("changed") or "processor" not in of:
            raise ConfigError(
                f"{file}: a run or its report was made with changes that are in no commit"
                if of.get("changed")
                else f"{file}: a run does not say what made it, as it is of an earlier version"
            )
    write_whole(table, made.csv.read_bytes(), option="--publish")
    whole = json.dumps({"experiment": experiment, **content}, indent=2) + "\n"
    write_whole(record, whole.encode(), option="--publish")
    return table, record


def _experiment_of(record: Path) -> Any:
    """The experiment that a published record names; None where it names none."""
    try:
        return read_object(record, "the provenance of results").get("experiment")
    except DatasetError:
        return None
