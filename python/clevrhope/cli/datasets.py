"""The commands that make datasets: build, merge, plan, hops."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clevrhope.cli.arguments import PATH, options, show_result, shown_progress
from clevrhope.cli.command import Command
from clevrhope.cli.request import dataset_options, read_request

if TYPE_CHECKING:
    from clevrhope.pipeline import Request, Summary


@click.command(cls=Command)
@dataset_options
@options("""
Machine
    --shard I/N: Make only part I of N, on a machine and in a folder of its own; merge joins the parts.
""")
def build(**choices: Any) -> int:
    """Makes a dataset, or extends an existing one.

    After an interruption, run the same command again to resume. An edition is compared at the end with what
    everybody has; the exit code is 1 if its content is another.
    """
    from clevrhope.pipeline import build as run
    from clevrhope.pipeline import build_part, parse_shard

    request = read_request(choices)
    if choices["shard"] is None:
        return _show_summary(choices, request, run(request, progress=shown_progress(choices)))
    # A drawn seed would differ from machine to machine.
    seed = choices["seed"] if choices["seed"] is not None or not request.edition else request.edition.seed
    request = replace(request, seed=seed)
    part = build_part(request, parse_shard(choices["shard"]), progress=shown_progress(choices))
    result = {
        "folder": str(part.folder),
        "shard": str(part.shard),
        "splits": part.n_splits,
        "images": part.n_images,
        "seconds": round(part.seconds, 3),
    }
    lines = [
        "",
        f"{part.folder}: part {part.shard}, {part.n_splits} splits, {part.n_images:,} images",
        f"When all {part.shard.of} parts are done, join them with clevrhope merge PART... --out DIR and "
        "the options of build.",
    ]
    show_result(choices, result, lines)
    return 0


@click.command(cls=Command, short_help="Joins the parts that several machines have built.")
@click.argument("parts", nargs=-1, required=True, type=PATH, metavar="PART...")
@dataset_options
def merge(parts: tuple[Path, ...], **choices: Any) -> int:
    """Joins parts made by `build --shard` into --out, with the same bytes as a build on one machine.

    It takes the options of build. If they are left out, preset, sizes, --strictness, --minimal-pool,
    --covr-hold, --distractors, --clevr-share, --images and --no-json are those of the parts.
    """
    from clevrhope.pipeline import merge as run

    request = replace(read_request(choices, parts=parts), seed=choices["seed"])
    return _show_summary(choices, request, run(parts, request, progress=shown_progress(choices)))


@click.command(cls=Command, short_help="Shows what a build would make, and how long it takes.")
@dataset_options
def plan(**choices: Any) -> None:
    """Shows what `build` would make, how large it would be and how long it would take; writes nothing."""
    from clevrhope.pipeline.forecast import make_plan, plan_json, plan_lines

    request = read_request(choices)
    made = make_plan(request, progress=shown_progress(choices))
    if choices["as_json"]:
        click.echo(json.dumps(plan_json(made)))
    else:
        click.echo("\n".join(plan_lines(made)))
        if choices["seed"] is None and request.seed is not None and request.edition is None:
            click.echo(f"The seed was drawn; to build this dataset: --seed {request.seed}")


@click.command(cls=Command, short_help="Lists the paper's 29 held-out pairs.")
@options("    --json -> as_json: Print one JSON list instead of a table.")
def hops(as_json: bool) -> None:
    """Lists the paper's 29 held-out pairs, with their numbers in the official data (HOP00 to HOP28).

    Any other pair of values can be built, too.
    """
    from clevrhope.splits.hops import OFFICIAL_NUMBERS, paper_hops

    pairs = [
        (hop.name, dict(hop.held_out or ()), hop.diversity, OFFICIAL_NUMBERS[hop.name])
        for hop in paper_hops()
    ]
    if as_json:
        names = ("hop", "values", "diversity", "official_number")
        click.echo(json.dumps([dict(zip(names, pair, strict=True)) for pair in pairs]))
        return
    click.echo(f"{'HOP':<18} {'types':<20} {'diversity':>9} official")
    for name, pair, diversity, number in pairs:
        click.echo(f"{name:<18} {', '.join(pair):<20} {diversity:>9} {f'HOP{number:02}':>8}")


def _show_summary(choices: dict[str, Any], request: "Request", summary: "Summary") -> int:
    """Prints a run's summary as JSON or text, compares an edition, and returns the exit code."""
    from clevrhope.editions import verify

    verified = verify(summary.folder, shown_progress(choices)) if request.edition else None
    if choices["as_json"]:
        result = {
            "folder": str(summary.folder),
            "seed": summary.seed,
            "questions": summary.n_questions,
            "scenes": summary.n_images,
            "images_rendered": summary.n_rendered,
            "images_annotated": summary.n_annotated,
            "images_copied": summary.n_copied,
            "scenes_from_clevr": summary.n_published,
            "bytes": summary.n_bytes,
            "seconds": round(summary.seconds, 3),
            "splits": summary.splits,
            **({"covr": summary.covr} if summary.covr else {}),
            "suites_removed": {suite: list(hops) for suite, hops in summary.suites.items()},
            "contact_sheet": str(summary.contact_sheet),
            **({"edition": verified.as_json()} if verified else {}),
        }
        click.echo(json.dumps(result))
    elif not choices["quiet"]:
        click.echo("\n".join([*_summary_lines(request, summary), *(verified.lines() if verified else ())]))
    elif verified and not verified.ok:
        click.echo("\n".join(verified.lines()), err=True)
    return 0 if verified is None or verified.ok else 1


def _summary_lines(request: "Request", summary: "Summary") -> list[str]:
    from clevrhope.runtime.display import duration, size
    from clevrhope.splits.covr.kinds import covr_file

    lines = [
        "",
        f"{summary.folder}: {summary.n_questions:,} questions about {summary.n_images:,} scenes"
        + (f" ({summary.n_published:,} of them CLEVR's own)" if summary.n_published else "")
        + f", {size(summary.n_bytes)}, seed {summary.seed}; {summary.n_rendered:,} images rendered, "
        + (f"{summary.n_copied:,} copied from CLEVR, " if summary.n_copied else "")
        + f"{duration(summary.seconds)}",
    ]
    for hop, splits in summary.splits.items():
        counts = ", ".join(f"{split} {entry['questions']:,}" for split, entry in splits.items())
        lines.append(f"  {hop}: {counts}")
    for hop, splits in summary.covr.items():
        counts = ", ".join(f"{covr_file(split)} {entry['questions']:,}" for split, entry in splits.items())
        lines.append(f"  {hop}, over several images: {counts}")
    lines += [f"  {sentence}" for sentence in (*summary.kept, *summary.exhausted)]
    if summary.suites:
        made = ", ".join(f"{suite} of {', '.join(hops)}" for suite, hops in summary.suites.items())
        lines.append(
            "  Pairs of fewer questions or in damaged files were removed; clevrhope suite makes them again: "
            f"{made}"
        )
    edition = request.edition
    seed = "" if edition and edition.seed == summary.seed else f" --seed {summary.seed}"
    lines.append(f"To reproduce:{f' --edition {edition.name}' if edition else ''}{seed}")
    lines.append(f"Overview:     {summary.contact_sheet}")
    for hop in summary.hops[:3]:
        lines.append(f"Datasheet:    {summary.folder / 'hops' / hop / 'DATASHEET.md'}")
    if len(summary.hops) > 3:
        lines.append(f"              and {len(summary.hops) - 3} more")
    images = summary.folder / "images"
    where = f"{images} (images)" if images.is_dir() else "no images yet (--no-render)"
    lines.append(f"Files:        {summary.folder / 'hops'} (questions), {where}")
    return lines
