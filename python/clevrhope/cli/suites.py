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
    help="The folder of a suite of your own, or one of templates with it in suites/SUITE; docs/suites.md "
    "describes its files.",
)
@click.option("--remove", is_flag=True, help="Remove the suite from DIR, or from the HOPs that are named.")
@quiet_option
@json_option
def suite(name: str, folder: Path, **choices: Any) -> None:
    """Makes the paired tests of SUITE (carets, rad) for the questions of a finished dataset.

    A pair is a question of the dataset and a partner whose answer follows from its answer. The pairs are
    written to hops/HOP/suites/SUITE in DIR.
    """
    from clevrhope.pipeline.suites import make_suite, remove_suite

    if choices["remove"]:
        if choices["templates"]:
            raise click.UsageError("--remove does not go with --templates: it makes no pairs")
        removed = remove_suite(folder, name, hops=read_names(choices["hops"]) or None)
        if choices["as_json"]:
            click.echo(json.dumps({"folder": str(folder), "suite": name, "removed": removed}))
        elif not choices["quiet"]:
            click.echo(f"{folder}: {name} of {', '.join(removed)} was removed")
        return
    made = make_suite(
        folder,
        name,
        hops=read_names(choices["hops"]) or None,
        suite_files=choices["templates"],
        progress=shown_progress(choices),
    )
    if choices["as_json"]:
        click.echo(json.dumps({"folder": str(folder), "suite": name, "splits": list(map(asdict, made))}))
    elif not choices["quiet"]:
        from clevrhope.pipeline.suite_words import suite_lines

        click.echo("\n".join(suite_lines(made)))


@click.command(short_help="Lists the question families, for suites of one's own.")
@click.argument("names", metavar="[FAMILY]...", nargs=-1)
@click.option(
    "--templates", type=PATH, metavar="FOLDER", help="Templates of your own.  [default: the package's]"
)
@json_option
def families(names: tuple[str, ...], templates: Path | None, as_json: bool) -> None:
    """Lists question families with their first phrasing, parameters and nodes.

    FAMILY is a file, such as one_hop, or a family, such as "one_hop 3"; without it, all are listed. Entries
    of a suite of one's own name families, parameters and nodes in this way.
    """
    from clevrhope.questions.families import family_lines, read_families

    found = read_families(templates, names)
    click.echo(json.dumps(list(map(asdict, found))) if as_json else "\n".join(family_lines(found)))
