"""The command that makes paired tests: suite."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import PATH, json_option, only_hops, quiet_option, read_names, shown_progress


@click.command(short_help="Makes paired tests (RAD, CARETS) of a dataset's questions.")
@click.argument("name", metavar="SUITE")
@click.argument("folder", type=PATH, metavar="DIR")
@only_hops
@click.option(
    "--templates",
    type=PATH,
    metavar="FOLDER",
    help="The folder of a suite of your own; docs/suites.md describes its files.",
)
@click.option(
    "--from",
    "origin",
    type=click.Choice(["questions", "search"]),
    default="questions",
    show_default=True,
    help="Take originals from the dataset's questions alone, or also search the images for them.",
)
@click.option(
    "--per-cell",
    type=click.IntRange(min=0),
    metavar="N",
    help="Pairs of each cell of a test by a search; by default 10, 50 or 2500, by the dataset's preset.",
)
@quiet_option
@json_option
def suite(name: str, folder: Path, **choices: Any) -> None:
    """Makes the paired tests of SUITE (carets, rad) for the questions of a finished dataset.

    A pair is a question of the dataset and a partner whose answer follows from its answer. The pairs are
    written to hops/HOP/suites/SUITE in DIR. Questions that no dataset has, and with --from search others that
    are rare in it, are searched for on the images of each split.
    """
    from clevrhope.pipeline.suites import make_suite
    from clevrhope.splits.kinds import SPLITS

    made = make_suite(
        folder,
        name,
        hops=read_names(choices["hops"]) or None,
        suite_files=choices["templates"],
        origin=choices["origin"],
        per_cell=choices["per_cell"],
        progress=shown_progress(choices),
    )
    if choices["as_json"]:
        click.echo(json.dumps({"folder": str(folder), "suite": name, "splits": list(map(asdict, made))}))
    elif not choices["quiet"]:
        for split in made:
            n_pairs, n_questions = split.n_pairs, split.n_originals
            click.echo(f"{split.hop} {split.split}: {n_pairs:,} pairs of {n_questions:,} questions")
            width = max(len(test.test) for test in split.tests)
            for test in split.tests:
                cells = ", ".join(f"{n:,} of {cell}" for cell, n in test.cells.items())
                # Elsewhere, the split's rule leaves one cell alone.
                cannot = test.impossible if SPLITS[split.split].rule == "with" else ()
                never = f"none can be in {', '.join(cannot)}" if cannot else ""
                notes = "; ".join(filter(None, (cells, never)))
                shown = f"  ({notes})" if notes else ""
                click.echo(f"  {test.test:<{width}} {test.tier:<7} {test.n_pairs:>8,}{shown}")
            short = [f"{test.test} {cell} by {n:,}" for test in split.tests for cell, n in test.short.items()]
            if short:
                click.echo(f"  Cells that are short of {split.per_cell:,} pairs: {', '.join(short)}")
