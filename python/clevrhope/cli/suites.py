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
    "--train",
    is_flag=True,
    help="Make train sets with questions of the suite, such as train_carets, in place of pairs.",
)
@quiet_option
@json_option
def suite(name: str, folder: Path, **choices: Any) -> None:
    """Makes the paired tests of SUITE (carets, rad, holdout) for the questions of a finished dataset.

    A pair is a question of the dataset and a partner whose answer follows from its answer. The pairs are
    written to hops/HOP/suites/SUITE in DIR, and so are the train sets of --train, in which a partner of
    one of the questions so far follows every ten questions.
    """
    from clevrhope.pipeline.augmentation import make_train_sets
    from clevrhope.pipeline.suites import make_suite

    made = (make_train_sets if choices["train"] else make_suite)(
        folder,
        name,
        hops=read_names(choices["hops"]) or None,
        suite_files=choices["templates"],
        progress=shown_progress(choices),
    )
    if choices["as_json"]:
        click.echo(json.dumps({"folder": str(folder), "suite": name, "splits": list(map(asdict, made))}))
    elif not choices["quiet"]:
        for split in made:
            n_pairs, n_questions = split.n_pairs, split.n_originals
            added = f"{n_questions:,} questions and {n_pairs:,} added"
            pairs = f"{n_pairs:,} pairs of {n_questions:,} questions"
            click.echo(f"{split.hop} {split.split}: {added if choices['train'] else pairs}")
            for test in split.tests:
                cells = ", ".join(f"{n:,} of {cell}" for cell, n in test.cells.items())
                shown = f"  ({cells})" if cells else ""
                click.echo(f"  {test.test:<20} {test.tier:<7} {test.n_pairs:>8,}{shown}")
