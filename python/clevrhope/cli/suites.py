"""The command that makes paired tests: suite."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clevrhope.cli.arguments import (
    PATH,
    Whole,
    json_option,
    only_hops,
    quiet_option,
    read_names,
    shown_progress,
)

if TYPE_CHECKING:
    from clevrhope.pipeline.suites import SuiteSplit


@click.command(short_help="Makes paired tests (RAD, CARETS, edited images) of a dataset's questions.")
@click.argument("name", metavar="SUITE")
@click.argument("folder", type=PATH, metavar="DIR")
@only_hops
@click.option(
    "--templates",
    type=PATH,
    metavar="FOLDER",
    help="The folder of a suite of your own; docs/suites.md describes its files. With visual, the dataset's "
    "question templates, if they are not the package's.",
)
@click.option(
    "--visual",
    "n_visual",
    type=Whole(1),
    metavar="N",
    help="With visual, the most questions of a split whose images are edited.  "
    "[default: by the dataset's preset, demo 20, small 200, paper 5,000]",
)
@click.option(
    "--properties",
    type=PATH,
    metavar="FILE",
    help="With visual, the dataset's properties file, if it is not the package's.",
)
@quiet_option
@json_option
def suite(name: str, folder: Path, **choices: Any) -> None:
    """Makes the paired tests of SUITE (carets, rad, visual) for the questions of a finished dataset.

    A pair is a question of the dataset and a partner whose answer follows from its answer; in visual, the
    partner is the same question about an edited image. The pairs are written to hops/HOP/suites/SUITE in DIR.
    """
    from clevrhope.dataset.suite_pools import VISUAL

    if name == VISUAL:
        _make_visual(folder, choices)
        return
    for option, value in (("--visual", choices["n_visual"]), ("--properties", choices["properties"])):
        if value is not None:
            raise click.UsageError(f"{option} goes with the suite visual alone")
    from clevrhope.pipeline.suites import make_suite

    made = make_suite(
        folder,
        name,
        hops=read_names(choices["hops"]) or None,
        suite_files=choices["templates"],
        progress=shown_progress(choices),
    )
    _show(made, folder, name, choices)


def _make_visual(folder: Path, choices: Mapping[str, Any]) -> None:
    """Makes the suite of edited images."""
    from clevrhope.dataset.suite_pools import VISUAL
    from clevrhope.pipeline.visual.suite import make_visual_suite

    made = make_visual_suite(
        folder,
        choices["n_visual"],
        hops=read_names(choices["hops"]) or None,
        templates=choices["templates"],
        properties=choices["properties"],
        progress=shown_progress(choices),
    )
    _show(made, folder, VISUAL, choices, notes=[split.notes() for split in made])


def _show(
    made: "Sequence[SuiteSplit]",
    folder: Path,
    name: str,
    choices: Mapping[str, Any],
    notes: Sequence[Sequence[str]] = (),
) -> None:
    """Prints what was made on each split; `notes` are sentences for each."""
    if choices["as_json"]:
        click.echo(json.dumps({"folder": str(folder), "suite": name, "splits": list(map(asdict, made))}))
    elif not choices["quiet"]:
        for number, split in enumerate(made):
            n_pairs, n_questions = split.n_pairs, split.n_originals
            click.echo(f"{split.hop} {split.split}: {n_pairs:,} pairs of {n_questions:,} questions")
            for test in split.tests:
                cells = ", ".join(f"{n:,} of {cell}" for cell, n in test.cells.items())
                shown = f"  ({cells})" if cells else ""
                click.echo(f"  {test.test:<20} {test.tier:<7} {test.n_pairs:>8,}{shown}")
            for note in notes[number] if notes else ():
                click.echo(f"  {note}")
