"""The commands that make datasets: build, merge, plan."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clevrhope.cli.arguments import PATH, shown_progress
from clevrhope.cli.request import dataset_options, read_request

if TYPE_CHECKING:
    from clevrhope.pipeline import PartSummary, Summary


@click.command()
@dataset_options
@click.option(
    "--shard",
    metavar="I/N",
    help="Only the I-th of N parts, each for a machine and a folder of its own; merge joins them.",
)
def build(**choices: Any) -> None:
    """Makes a dataset, or extends the one in the folder; run it again after any stop to go on."""
    from clevrhope.pipeline import build as run
    from clevrhope.pipeline import build_part, parse_shard

    request = read_request(choices)
    if choices["shard"] is None:
        _tell(choices, run(request, progress=shown_progress(choices)))
    else:
        # A seed that was drawn would be another one on each machine.
        given = replace(request, seed=choices["seed"])
        part = build_part(given, parse_shard(choices["shard"]), progress=shown_progress(choices))
        if choices["as_json"]:
            click.echo(json.dumps(_part_json(part)))
        elif not choices["quiet"]:
            click.echo(
                f"\n{part.folder}: part {part.shard}, {part.n_splits} splits, {part.n_images:,} images\n"
                f"When all {part.shard.of} are there: clevrhope merge PART... --out DIR, with build's options"
            )


@click.command()
@click.argument("parts", nargs=-1, required=True, type=PATH, metavar="PART...")
@dataset_options
def merge(parts: tuple[Path, ...], **choices: Any) -> None:
    """Joins what `build --shard` made into --out, the same bytes as one machine's; takes build's options.

    Preset, sizes, --match, --strictness, --clevr-share, --images and --no-json are the parts' where left out.
    """
    from clevrhope.pipeline import merge as run

    request = replace(read_request(choices, parts=parts), seed=choices["seed"])
    _tell(choices, run(parts, request, progress=shown_progress(choices)))


def _tell(choices: dict[str, Any], summary: "Summary") -> None:
    """Prints what a run left behind."""
    if choices["as_json"]:
        click.echo(json.dumps(_summary_json(summary)))
    elif not choices["quiet"]:
        _show_summary(summary)


@click.command()
@dataset_options
def plan(**choices: Any) -> None:
    """Says what the same `build` would make, how large it is and how long it takes here; writes nothing."""
    from clevrhope.pipeline.plan import make_plan, plan_json, plan_lines

    request = read_request(choices)
    made = make_plan(request)
    if choices["as_json"]:
        click.echo(json.dumps(plan_json(made)))
    else:
        click.echo("\n".join(plan_lines(made)))
        if choices["seed"] is None and request.seed is not None:
            click.echo(f"The seed was drawn; for a build with these numbers: --seed {request.seed}")


def _summary_json(summary: "Summary") -> dict[str, Any]:
    return {
        "folder": str(summary.folder),
        "seed": summary.seed,
        "questions": summary.n_questions,
        "scenes": summary.n_images,
        "pictures_rendered": summary.n_rendered,
        "pictures_annotated": summary.n_annotated,
        "pictures_copied": summary.n_copied,
        "scenes_from_clevr": summary.n_published,
        "bytes": summary.n_bytes,
        "seconds": round(summary.seconds, 3),
        "splits": summary.splits,
        "contact_sheet": str(summary.contact_sheet),
    }


def _part_json(part: "PartSummary") -> dict[str, Any]:
    return {
        "folder": str(part.folder),
        "shard": str(part.shard),
        "splits": part.n_splits,
        "pictures": part.n_images,
        "seconds": round(part.seconds, 3),
    }


def _show_summary(summary: "Summary") -> None:
    from clevrhope.runtime.display import duration, size

    click.echo(
        f"\n{summary.folder}: {summary.n_questions:,} questions about {summary.n_images:,} scenes"
        + (f" ({summary.n_published:,} CLEVR's own)" if summary.n_published else "")
        + f", {size(summary.n_bytes)}, seed {summary.seed}; {summary.n_rendered:,} images rendered, "
        + (f"{summary.n_copied:,} copied from CLEVR, " if summary.n_copied else "")
        + f"{duration(summary.seconds)}"
    )
    for hop, splits in summary.splits.items():
        counts = ", ".join(f"{split} {entry['questions']:,}" for split, entry in splits.items())
        click.echo(f"  {hop}: {counts}")
    for sentence in (*summary.kept, *summary.exhausted):
        click.echo(f"  {sentence}")
    click.echo(f"The same again: --seed {summary.seed}")
    click.echo(f"Look at it:     {summary.contact_sheet}")
    for hop in summary.hops[:3]:
        click.echo(f"Its numbers:    {summary.folder / 'hops' / hop / 'DATASHEET.md'}")
    if len(summary.hops) > 3:
        click.echo(f"                and {len(summary.hops) - 3} more")
    images = summary.folder / "images"
    where = f", {images} (images)" if images.is_dir() else "; no images yet, left out with --no-render"
    click.echo(f"Read it from:   {summary.folder / 'hops'} (questions){where}")
