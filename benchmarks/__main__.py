"""Measures the speed of the engine, of rendering and of training on this machine: `python -m benchmarks`.

It runs in a checkout, with the development environment (`make .venv/dev.stamp`).
"""

import json
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from clevrhope.__main__ import run_command
from clevrhope.cli.arguments import PATH, Command, Whole, json_option, shown_progress
from clevrhope.errors import RenderError

_rendering_device = click.option(
    "--device", metavar="NAME", help="Where Blender renders, as for build.  [default: auto]"
)


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--full", is_flag=True, help="Repeat more often, and use all sixteen reference images.")
@click.option("--no-images", is_flag=True, help="Skip rendering.")
@_rendering_device
@json_option
@click.pass_context
def benchmarks(
    context: click.Context, full: bool, no_images: bool, device: str | None, as_json: bool
) -> None:
    """Measures questions, programs, scenes and images per second on this machine, in less than a minute."""
    if context.invoked_subcommand is not None:
        if full or no_images or device or as_json:
            raise click.UsageError(
                f"options before {context.invoked_subcommand} are for benchmarks alone; put options of "
                f"{context.invoked_subcommand} after it"
            )
        return
    from benchmarks.speeds import run, text_rows

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


@benchmarks.command(cls=Command)
@click.option(
    "--model",
    "names",
    multiple=True,
    metavar="NAME",
    help="A model, as for train; repeatable.  [default: lxmert_s and tensor_nmn]",
)
@click.option("--device", metavar="NAME", default="auto", help="A torch device.  [default: auto]")
@click.option("--precision", type=click.Choice(["float32", "tf32", "bf16"]), help="As for train.")
@click.option("--updates", type=Whole(1), default=20, show_default=True, help="Timed updates per stage.")
@click.option("--compile", "compiles", is_flag=True, help="Compile the losses, as recipe.compile does.")
@json_option
def models(names: tuple[str, ...], as_json: bool, **choices: Any) -> None:
    """Times training updates of full-size models, compared with this machine's matrix products."""
    from clevrhope.runtime.extras import check_torch

    check_torch()
    from benchmarks.models import MODELS, measure_models, text_lines

    advance = None if as_json else lambda what: click.echo(f"timing {what} ...", err=True)
    speeds = measure_models(names or MODELS, **choices, advance=advance)
    click.echo(json.dumps(speeds.as_json()) if as_json else "\n".join(text_lines(speeds)))


@benchmarks.command(cls=Command)
@click.option(
    "--images",
    type=Whole(1),
    default=4,
    show_default=True,
    help="Number of reference scenes, spread over the 16 that there are.",
)
@click.option(
    "--scenes",
    "folder",
    type=PATH,
    metavar="DIR",
    help="Folder of other reference scenes: scenes.json, and 00.png, 01.png, ... at 512 samples.",
)
@click.option("--no-cycles", is_flag=True, help="Time the native renderer alone.")
@click.option(
    "--device",
    metavar="NAME",
    help="Where Blender renders, as for build; also measures 1, 2 and 4 workers there, and its kernels.",
)
@click.option("--workers", type=Whole(1), help="Number of Blender's processes, as for build.")
@click.option(
    "--curve",
    type=PATH,
    metavar="FILE.png",
    help="Draw quality over time, with more settings of Cycles; this takes minutes.",
)
@click.option(
    "--sheet",
    type=PATH,
    metavar="FILE.png",
    help="Draw the scenes as Cycles and the native renderer show them, and their difference times 8.",
)
@json_option
def render(curve: Path | None, sheet: Path | None, as_json: bool, **choices: Any) -> None:
    """Compares Blender's Cycles and the native renderer on the same scenes: their time and their images."""
    from benchmarks.render import compare, text_lines
    from benchmarks.render_workers import WORKERS_TRIED, DeviceRun, measure_workers
    from benchmarks.render_workers import text_lines as lines_by_workers

    if curve is not None:
        from clevrhope.runtime.extras import check_extra

        check_extra("plots need", "matplotlib", "plots")

    def advance(what: str) -> None:
        if not as_json:
            click.echo(f"rendering {what} ...", err=True)

    progress = shown_progress({"quiet": as_json})
    n_images, folder, device, workers = (choices[name] for name in ("images", "folder", "device", "workers"))
    by_workers: DeviceRun | None = None
    with tempfile.TemporaryDirectory(prefix="clevrhope-bench-") as kernels:
        if device and not choices["no_cycles"]:  # first, because it times the compilation of kernels
            options = {"folder": folder, "advance": advance, "progress": progress}
            tried = (workers,) if workers else WORKERS_TRIED
            with suppress(RenderError):  # `compare` gets the same error, and reports it
                by_workers = measure_workers(n_images, device, Path(kernels), tried=tried, **options)
        compared = compare(
            n_images,
            folder=folder,
            cycles=not choices["no_cycles"],
            device=device or "auto",
            workers=workers,
            kernels=Path(kernels) if by_workers else None,
            curve=curve is not None,
            advance=advance,
            progress=progress,
        )
    found, lines = compared.as_json(), text_lines(compared)
    if by_workers is not None and compared.cycles:
        found["cycles"]["by_workers"] = by_workers.as_json()
        lines += ["", *lines_by_workers(by_workers)]
    if curve is not None or sheet is not None:
        from benchmarks.render_images import write_curve, write_sheet

        if curve is not None:
            write_curve(compared, curve)
        if sheet is not None:
            write_sheet(compared, sheet)
    click.echo(json.dumps(found) if as_json else "\n".join(lines))


def run_benchmark(arguments: list[str]) -> int:
    """Runs one command line and returns its exit code, as `clevrhope` does."""
    return run_command(arguments, benchmarks, name="benchmarks")


if __name__ == "__main__":
    sys.exit(run_benchmark(sys.argv[1:]))
