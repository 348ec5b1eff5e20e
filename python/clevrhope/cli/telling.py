"""The commands that need no dataset: hops, devices, bench."""

import json
from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import PATH, Whole


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list instead of words.")
def hops(as_json: bool) -> None:
    """Lists the paper's 29 held-out pairs; any other pair of values can be built too."""
    from clevrhope.splits.hops import paper_hops

    if as_json:
        rows = [
            {"hop": hop.name, "values": dict(hop.pair or ()), "diversity": hop.diversity}
            for hop in paper_hops()
        ]
        click.echo(json.dumps(rows))
        return
    click.echo(f"{'HOP':<18} {'types':<20} diversity")
    for hop in paper_hops():
        types = ", ".join(kind for kind, _ in hop.pair or ())
        click.echo(f"{hop.name:<18} {types:<20} {hop.diversity:>9}")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")
def devices(as_json: bool) -> None:
    """Lists what Blender can render on here, GPUs and CPU, as --device takes it; and the native renderer."""
    from clevrhope.images.machine import find_renderers, text_lines

    renderers = find_renderers()
    click.echo(json.dumps(renderers.as_json()) if as_json else "\n".join(text_lines(renderers)))


@click.group(invoke_without_command=True)
@click.option("--full", is_flag=True, help="More repetitions, and all sixteen reference images.")
@click.option("--no-images", is_flag=True, help="Leave rendering out.")
@click.option("--device", metavar="NAME", help="Where Blender renders, as for build.  [default: auto]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")
@click.pass_context
def bench(context: click.Context, full: bool, no_images: bool, device: str | None, as_json: bool) -> None:
    """Measures questions, programs, scenes and images a second on this machine, in under a minute."""
    if context.invoked_subcommand is not None:
        if full or no_images or device or as_json:
            raise click.UsageError(
                f"options before {context.invoked_subcommand} are those of bench alone; put its own behind it"
            )
        return
    from clevrhope.bench.engine import run, text_rows

    result = run(
        full=full,
        images=not no_images,
        device=device or "auto",
        advance=lambda what: None if as_json else click.echo(f"measuring {what} ...", err=True),
    )
    if as_json:
        click.echo(json.dumps(result.as_json()))
        return
    click.echo(f"{result.machine}, {result.cores} cores")
    for name, value in text_rows(result):
        click.echo(f"{name:<38} {value:>14}")
    for note in result.notes:
        click.echo(note)


@bench.command()
@click.option(
    "--model",
    "names",
    multiple=True,
    metavar="NAME",
    help="As for train.  [default: lxmert_s and tensor_nmn]",
)
@click.option("--device", metavar="NAME", default="auto", help="As torch spells it.  [default: auto]")
@click.option("--precision", type=click.Choice(["float32", "tf32", "bf16"]), help="As for train.")
@click.option("--updates", type=Whole(1), default=20, show_default=True, help="Timed of each stage.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")
def models(names: tuple[str, ...], as_json: bool, **choices: Any) -> None:
    """Times updates of models at full size, against the machine's own products of matrices."""
    from clevrhope.runtime.extras import check_torch

    check_torch()
    from clevrhope.bench.models import MODELS, measure_models, text_lines

    told = None if as_json else lambda what: click.echo(f"timing: {what} ...", err=True)
    speeds = measure_models(names or MODELS, **choices, advance=told)
    click.echo(json.dumps(speeds.as_json()) if as_json else "\n".join(text_lines(speeds)))


@bench.command()
@click.option(
    "--images",
    type=Whole(1),
    default=4,
    show_default=True,
    help="Reference scenes, spread over all; there are 16.",
)
@click.option(
    "--scenes",
    "folder",
    type=PATH,
    metavar="DIR",
    help="Other reference scenes: scenes.json, and 00.png, 01.png, ... at 512 samples.",
)
@click.option("--no-cycles", is_flag=True, help="The native renderer alone.")
@click.option("--device", metavar="NAME", help="Where Blender renders, as for build.  [default: auto]")
@click.option("--workers", type=Whole(1), help="Blender's processes, as for build.")
@click.option(
    "--curve",
    type=PATH,
    metavar="FILE.png",
    help="Draw quality over time, with more efforts of Cycles; takes minutes.",
)
@click.option(
    "--sheet",
    type=PATH,
    metavar="FILE.png",
    help="Draw scenes by Cycles, natively, and their difference, times 8.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")
def render(
    images: int,
    folder: Path | None,
    no_cycles: bool,
    device: str | None,
    workers: int | None,
    curve: Path | None,
    sheet: Path | None,
    as_json: bool,
) -> None:
    """Times Blender's Cycles and the native renderer on the same scenes, and how close they come."""
    from clevrhope.bench.render import compare, text_lines

    if curve is not None:
        from clevrhope.describe.stats.plots import check_plots

        check_plots()
    compared = compare(
        images,
        folder=folder,
        cycles=not no_cycles,
        device=device or "auto",
        workers=workers,
        curve=curve is not None,
        advance=lambda what: None if as_json else click.echo(f"rendering: {what} ...", err=True),
    )
    if curve is not None or sheet is not None:
        from clevrhope.bench.render_images import write_curve, write_sheet

        if curve is not None:
            write_curve(compared, curve)
        if sheet is not None:
            write_sheet(compared, sheet)
    click.echo(json.dumps(compared.as_json()) if as_json else "\n".join(text_lines(compared)))
