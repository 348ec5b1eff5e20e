"""The commands that look into finished datasets: audit, score, stats."""

import json
import secrets
from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import PATH, Whole, only_hops, only_splits, read_names, shown_progress


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.option(
    "--against",
    type=PATH,
    metavar="CLEVR_DIR",
    help="A CLEVR_v1.0 folder: nothing of its val or test may be in the dataset.",
)
@click.option(
    "--templates",
    type=PATH,
    metavar="DIR",
    help="The dataset's question templates, where they are not the package's.",
)
@click.option(
    "--properties",
    type=PATH,
    metavar="FILE",
    help="The dataset's properties, where they are not the package's.",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def audit(folder: Path, against: Path | None, as_json: bool, **choices: Any) -> int:
    """Proves a finished dataset from nothing but its files; exits with 1 where any check fails."""
    from clevrhope.audit import audit as run

    report = run(
        folder,
        against=against,
        templates=choices["templates"],
        properties=choices["properties"],
        progress=shown_progress(choices),
    )
    if as_json:
        click.echo(json.dumps(report.as_json()))
    else:
        from rich.console import Console

        from clevrhope.audit.display import show_report

        show_report(Console(), report)
    return 0 if report.ok else 1


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.argument("predictions", metavar="PREDICTIONS...", nargs=-1, required=True, type=PATH)
@only_hops
@click.option(
    "--by",
    metavar="NAMES",
    help="Breakdowns, commas between them; none leaves them out.  "
    "[default: answer,objects; with --families or --json family, too]",
)
@click.option("--families", is_flag=True, help="Break down by question family, too: some 90 lines a pair.")
@click.option(
    "--bootstrap",
    type=Whole(0),
    metavar="N",
    default=1000,
    show_default=True,
    help="Draws of the images behind the 95% intervals; 0 leaves them out.",
)
@click.option("--seed", type=Whole(0), help="Decides the draws; drawn itself and printed when left out.")
@click.option("--partial", is_flag=True, help="Score what is there, and say how much is missing.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def score(
    folder: Path,
    predictions: tuple[Path, ...],
    hops: tuple[str, ...],
    by: str | None,
    families: bool,
    as_json: bool,
    **choices: Any,
) -> None:
    """Scores predictions (JSON lines or Parquet) on the test sets of a dataset, with gaps and intervals."""
    from clevrhope.metrics import score as run
    from clevrhope.metrics.answer_key import BREAKDOWNS
    from clevrhope.metrics.show import scores_json, scores_lines

    if by is None:
        parts = [name for name in BREAKDOWNS if name != "family" or families or as_json]
    else:
        parts = ["family"] * families + [name.strip() for name in by.split(",") if by != "none"]
    seed = choices["seed"]
    scores = run(
        folder,
        predictions,
        seed=secrets.randbelow(2**32) if seed is None else seed,
        bootstrap=choices["bootstrap"],
        by=parts,
        hops=hops or None,
        partial=choices["partial"],
        progress=shown_progress(choices),
    )
    if as_json:
        click.echo(json.dumps(scores_json(scores)))
    else:
        click.echo("\n".join(scores_lines(scores)))
        if by is None and not families:
            click.echo("Question families are left out; --families shows them.")


def _draw_into_datasheets(folder: Path, hops: tuple[str, ...], as_json: bool, *, others: bool) -> None:
    """What `stats --datasheet` does."""
    from clevrhope.describe.stats.datasheets import draw_into_datasheets

    if others:
        raise click.UsageError(
            "--datasheet draws all splits of DIR, and nothing beside them; leave --splits, --against, "
            "--plots and --full out"
        )
    written = draw_into_datasheets(folder, hops=read_names(hops), progress=shown_progress({"quiet": as_json}))
    if as_json:
        click.echo(json.dumps({"folder": str(folder), "plots": [str(path) for path in written]}))
    else:
        n_sheets = len({path.parent for path in written})
        plots = f"{len(written)} plot{'s' * (len(written) != 1)}"
        sheets = f"{n_sheets} datasheet{'s' * (n_sheets != 1)}"
        click.echo(f"{plots} in {sheets}: {folder}/hops/<pair>/DATASHEET.md")


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
@only_hops
@only_splits
@click.option(
    "--against",
    type=PATH,
    metavar="DIR",
    help="Another dataset of clevrhope, or a CLEVR_v1.0 folder, to set beside it.",
)
@click.option(
    "--plots",
    type=PATH,
    metavar="FOLDER",
    help="Write PNG plots below this folder, one folder a HOP.",
)
@click.option("--datasheet", is_flag=True, help="Draw the plots into DIR's datasheets, and print no tables.")
@click.option("--full", is_flag=True, help="Families and pairs of values one by one, too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def stats(
    folder: Path,
    hops: tuple[str, ...],
    splits: tuple[str, ...],
    against: Path | None,
    plots: Path | None,
    datasheet: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Shows what is in a dataset: answers, families, lengths, objects, relations, and how far splits differ.

    DIR is a dataset of clevrhope or a CLEVR_v1.0 folder.
    """
    from clevrhope.describe.stats.comparison import measure_folder
    from clevrhope.describe.stats.json_object import as_json as sheets_as_json
    from clevrhope.describe.stats.plots import check_outside, check_plots, kinds_of, write_plots

    if datasheet:
        _draw_into_datasheets(folder, hops, as_json, others=bool(splits or against or plots or full))
        return
    if plots is not None:
        check_plots()
        check_outside(plots, folder)
    progress = shown_progress({"quiet": as_json})
    sheets = measure_folder(
        folder,
        hops=read_names(hops),
        splits=read_names(splits),
        against=against,
        progress=progress,
    )
    written: list[Path] = []
    if plots is not None:
        n_plots = sum(len(kinds_of(each)) for each in sheets)
        with progress.stage("Drawing", total=n_plots, unit="plots") as advance:
            for each in sheets:
                written += write_plots(plots / each.group, each, advance=advance)
    if as_json:
        click.echo(json.dumps(sheets_as_json(folder, against, sheets, written)))
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
