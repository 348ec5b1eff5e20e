"""The commands that inspect datasets: info, show, stats, audit, verify."""

import json
from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import PATH, json_option, no_progress_option, options, read_names, shown_progress
from clevrhope.cli.command import Command


@click.command(cls=Command, short_help="Shows what a folder holds, how to make it again, and what to add.")
@click.argument("folder", metavar="DIR", type=PATH)
@json_option
def info(folder: Path, as_json: bool) -> None:
    """Shows what a dataset's folder holds, how it was made, and what could be added, with the commands."""
    from clevrhope.describe.info.overview import read_overview

    overview = read_overview(folder)
    if as_json:
        click.echo(json.dumps(overview.as_json()))
        return
    from rich.console import Console

    from clevrhope.describe.info.display import show_overview

    show_overview(Console(), overview)


@click.command(cls=Command, short_help="Shows one question with its program and images.")
@click.argument("folder", metavar="DIR", type=PATH)
@options("""
    --hop HOP!: The question's HOP.
    --split SPLIT!: Its split, such as train.
    --question N0 -> number: Its number, from 0 on.
    --save FILE.png: Also write its image here; several images as FILE-0.png, FILE-1.png and so on.
    --json -> as_json: Print one JSON object instead of text.
""")
def show(folder: Path, hop: str, split: str, number: int | None, save: Path | None, as_json: bool) -> None:
    """Shows a question: text, answer, family, and its program with what each step returns on the scene."""
    from clevrhope.describe.question_view import save_images, view_question

    view = view_question(folder, hop, split, number)
    saved = [] if save is None else save_images(folder, view, save)
    if as_json:
        click.echo(json.dumps({**view.as_json(), "saved": list(map(str, saved))}))
        return
    click.echo("\n".join(view.lines()))
    for path in saved:
        click.echo(f"Saved     {path}")


@click.command(cls=Command, short_help="Checks a finished dataset from its files alone.")
@click.argument("folder", metavar="DIR", type=PATH)
@options("""
    --against CLEVR_DIR: A CLEVR_v1.0 folder, to check that nothing of its val and test is in the dataset.
    --templates DIR: The question templates, if not the package's; or the folder of a suite of your own.
    --properties FILE: The properties, if not the package's.
    --quiet: Show no progress.
    --json -> as_json: Print one JSON object instead of text.
""")
def audit(folder: Path, quiet: bool, as_json: bool, **choices: Any) -> int:
    """Checks a finished dataset from its files alone; exits with 1 if any check fails."""
    from clevrhope.audit import audit as run

    report = run(folder, **choices, progress=shown_progress({"quiet": quiet}))
    if as_json:
        click.echo(json.dumps(report.as_json()))
    else:
        from rich.console import Console

        from clevrhope.audit.display import show_report

        show_report(Console(), report)
    return 0 if report.ok else 1


@click.command(cls=Command, short_help="Checks whether a folder's content is that of its edition.")
@click.argument("folder", metavar="DIR", type=PATH)
@no_progress_option
@json_option
def verify(folder: Path, quiet: bool, as_json: bool) -> int:
    """Computes the digests of a finished dataset, and compares an edition's with those that everybody has.

    The digests are of what the files say, not of their bytes: of questions, scenes and pixels. Those of a
    private edition, or of any other dataset, are printed, so that two people can compare them. The exit code
    is 1 if something differs from the edition, or if a file is damaged or missing.
    """
    from clevrhope.editions import verify as run

    found = run(folder, shown_progress({"quiet": quiet}))
    click.echo(json.dumps(found.as_json()) if as_json else "\n".join(found.lines()))
    return 0 if found.ok else 1


@click.command(cls=Command, short_help="Shows what is in a dataset.")
@click.argument("folder", metavar="DIR", type=PATH)
@options("""
    --hop HOP... -> hops: Only this HOP; repeatable.
    --splits SPLITS...: Only these splits, separated by commas.
    --against DIR -> other_root: Another dataset of clevrhope, or a CLEVR_v1.0 folder, to compare with.
    --plots FOLDER: Write PNG plots here, in a subfolder per HOP.
    --datasheet: Draw the plots into DIR's datasheets; print no tables.
    --full: Also list every question family and every pair of values.
    --json -> as_json: Print one JSON object instead of text.
""")
def stats(folder: Path, plots: Path | None, datasheet: bool, as_json: bool, **choices: Any) -> None:
    """Shows a dataset's answers, families, lengths, objects and relations, and how far its splits differ.

    DIR is a dataset of clevrhope or a CLEVR_v1.0 folder.
    """
    from clevrhope.describe.stats.comparison import as_json as sheets_as_json
    from clevrhope.describe.stats.comparison import measure_folder
    from clevrhope.describe.stats.plots import check_outside, check_plots, kinds_of, write_plots

    progress = shown_progress({"quiet": as_json})
    hops, splits = read_names(choices["hops"]), read_names(choices["splits"])
    other_root, full = choices["other_root"], choices["full"]
    if datasheet:
        if splits or other_root or plots or full:
            raise click.UsageError(
                "--datasheet draws all splits of DIR and nothing else; leave out --splits, --against, "
                "--plots and --full"
            )
        from clevrhope.describe.stats.plots import draw_into_datasheets

        written = draw_into_datasheets(folder, hops=hops, progress=progress)
        if as_json:
            click.echo(json.dumps({"folder": str(folder), "plots": [str(path) for path in written]}))
        else:
            n_sheets = len({path.parent for path in written})
            drawn = f"{len(written)} plot{'s' * (len(written) != 1)}"
            of = f"{n_sheets} datasheet{'s' * (n_sheets != 1)}"
            click.echo(f"{drawn} in {of}: {folder}/hops/<pair>/DATASHEET.md")
        return
    if plots is not None:
        check_plots()
        check_outside(plots, folder)
    sheets = measure_folder(folder, hops=hops, splits=splits, against=other_root, progress=progress)
    written = []
    if plots is not None:
        n_plots = sum(len(kinds_of(each)) for each in sheets)
        with progress.stage("Drawing", total=n_plots, unit="plots") as advance:
            for each in sheets:
                written += write_plots(plots / each.group, each, advance=advance)
    if as_json:
        click.echo(json.dumps(sheets_as_json(folder, other_root, sheets, written)))
        return
    from rich.console import Console

    from clevrhope.describe.stats.tables import tables
    from clevrhope.runtime.display import show_table

    console = Console()
    for sheet in sheets:
        console.rule(sheet.group, align="left")
        for table in tables(sheet, full=full):
            show_table(console, table.title, table.head, table.rows, table.note)
    if plots is not None:
        click.echo(f"{len(written)} plots in {plots}")
