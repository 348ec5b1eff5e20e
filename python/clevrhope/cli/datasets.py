"""The commands that make data: build, merge, plan, hops, render, questions, export."""

import secrets
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clevrhope.cli.arguments import (
    DATASET,
    PASSES,
    PATH,
    PROPERTIES,
    Command,
    json_option,
    options,
    quiet_option,
    read_names,
    rendering_options,
    repeated,
    show_result,
    shown_progress,
)
from clevrhope.cli.request import dataset_options, read_request
from clevrhope.errors import ConfigError, command_line
from clevrhope.runtime.terminal import say, say_json

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
        say_json(plan_json(made))
        return
    say("\n".join(plan_lines(made)))
    if choices["seed"] is None and request.seed is not None and request.edition is None:
        again = repeated({"--seed": request.seed}, "build")
        say(f"The seed was drawn; to build this dataset: {again}")


@click.command(cls=Command, short_help="Lists the paper's 29 held-out pairs.")
@options("    --json -> as_json: Print one JSON list instead of a table.")
def hops(**choices: Any) -> None:
    """Lists the paper's 29 held-out pairs, with their official numbers (HOP00 to HOP28) and tuples.

    The tuples of size, color, shape and material stand in the names of official files.

    Any other pair of values can be built, too.
    """
    from clevrhope.splits.hops import OFFICIAL_NUMBERS, official_values, paper_hops

    lines = [f"{'HOP':<18} {'types':<20} {'diversity':>9} official  in official names"]
    listed = []
    for hop in paper_hops():
        name, values, diversity = hop.name, dict(hop.held_out or ()), hop.diversity
        number = OFFICIAL_NUMBERS[name]
        row = {"hop": name, "values": values, "diversity": diversity, "official_number": number}
        listed.append({**row, "official_values": official_values(hop)})
        types = ", ".join(values)
        lines.append(f"{name:<18} {types:<20} {diversity:>9} {f'HOP{number:02}':>8}  {official_values(hop)}")
    show_result(choices, listed, lines)


@click.command(cls=Command, short_help="Renders any CLEVR scene file.")
@click.argument("scenes", type=PATH, metavar="SCENES.json")
@options("""
    --out DIR!: Folder of the images, as PNG files.
    --config FILE.toml -> config_file: Settings in the form of build's: the tables [look] and [rendering], and
        properties.
""")
@rendering_options
@options(f"""
Images
    --width PIXELS: Of an image, in pixels.  [default: 480]
    --height PIXELS: Of an image, in pixels.  [default: 320]
    {PASSES}
    {PROPERTIES}
""")
@quiet_option
@json_option
def render(scenes: Path, out: Path, **choices: Any) -> None:
    """Renders the scenes of a CLEVR scene file, including CLEVR's own.

    After an interruption, run the same command again to resume.
    """
    from clevrhope.config.sources import resolve_config
    from clevrhope.pipeline.scene_images import render_scene_file, text_lines

    names = ("renderer", "quality", "samples", "device", "width", "height", "properties")
    config = resolve_config(file=choices["config_file"], **{name: choices[name] for name in names})
    made = render_scene_file(
        scenes,
        out,
        rendering=config.rendering,
        properties=config.properties,
        changes=config.look,
        workers=choices["workers"],
        passes=read_names(choices["passes"]),
        engine=choices["engine"],
        address=choices["address"],
        progress=shown_progress(choices),
    )
    show_result(choices, {**asdict(made), "folder": str(made.folder)}, text_lines(made))


@click.command(cls=Command, short_help="Asks questions about any CLEVR scene file.")
@click.argument("scenes", type=PATH, metavar="SCENES.json")
@options(f"""
    --out FILE!: A new file of questions, with programs and answers, in CLEVR's form.
    --questions-per-scene N = 9: The number of questions about a scene; some scenes yield fewer.  [default: 9]
    --seed SEED: The seed of the questions; if left out, one is drawn and printed.
    --templates DIR: Question templates in CLEVR's format.  [default: the package's]
    {PROPERTIES}
""")
@quiet_option
@json_option
def questions(scenes: Path, out: Path, seed: int | None, **choices: Any) -> None:
    """Asks questions about the scenes of a CLEVR scene file, whose images render makes."""
    from clevrhope.pipeline.scene_questions import ask_about_scene_file, text_lines

    drawn = secrets.randbelow(2**32) if seed is None else seed
    names = ("questions_per_scene", "templates", "properties")
    given = {name: choices[name] for name in names}
    made = ask_about_scene_file(scenes, out, seed=drawn, progress=shown_progress(choices), **given)
    lines = text_lines(made)
    if seed is None:
        lines.append(f"Seed {drawn} was drawn; to reproduce: {repeated({'--seed': drawn})}")
    show_result(choices, {**asdict(made), "file": str(made.file), "seed": drawn}, lines)


@click.command("import", cls=Command, short_help="Imports published files, such as the official CLEVR-HOPE.")
@click.argument("source", type=PATH, metavar="SOURCE")
@options("""
    --out DIR!: A new folder, or one that was imported from the same files before.
    --form NAME: The form of the files; by default, the one that is found.
    --hop HOP... -> hops: Only this HOP; repeatable.
    --splits SPLITS...: Only these splits, separated by commas.
    --templates DIR: Question templates that the texts were made with, such as CLEVR's own folder: programs
        are read from texts if the files do not have them.
    --features: Also copy the official detector features (user_<split>_vg_frcnn.h5), which lxmert reads; they
        take half of their size.
""")
@quiet_option
@json_option
def import_(source: Path, out: Path, **choices: Any) -> None:
    """Imports published files as a dataset that every command takes; images stay where they are."""
    from clevrhope.pipeline.importing import import_source

    made = import_source(
        source,
        out,
        form=choices["form"],
        hops=choices["hops"],
        splits=read_names(choices["splits"]),
        templates=choices["templates"],
        features=choices["features"],
        progress=shown_progress(choices),
    )
    described = made.manifest.source or {}
    counts = {f"{hop} {split}": n for (hop, split), n in made.n_questions.items()}
    result = {"folder": str(out), **described, "questions": counts}
    lines = [
        f"{out}: {sum(counts.values()):,} questions of {len(counts)} splits, form {described['form']}; "
        f"programs: {described['programs']}",
        *(f"  {note}" for note in described["notes"]),
    ]
    show_result(choices, result, lines)


@click.command(cls=Command, short_help="Converts a finished dataset for other libraries.")
@click.argument("folder", type=DATASET, metavar="DIR")
@options("""
Format
    --format NAME -> format_name!: parquet (Hugging Face), webdataset, clevr (the layout of CLEVR_v1.0),
        official (Parquet and HDF5 of the official CLEVR-HOPE), coco (masks and boxes), lmms-eval (tasks for
        lmms-eval), covr (COVR's JSON lines, of questions over several images) or rl (Parquet for
        reinforcement learning: verl, EasyR1).
    --out PATH!: A new folder, which appears once it is complete.
What is exported
    --hop HOP... -> hops: Only this HOP; repeatable.
    --splits SPLITS...: Only these splits, separated by commas.
    --level LEVEL... -> levels: With rl: only questions on this level of difficulty, 1 to 4; repeatable.
    --train-questions N: Only the first N questions of train; 25000 and 200000 give the paper's smaller sets.
    --no-images: Export text only.
    --instruction NAME: With rl: short, think, or a text file; it follows each question.  [default: think]
    --masks: With parquet: also export masks, of a folder built with them.
    --steps: With parquet: also export the steps of each answer in sentences.
Files
    --shard-size N: With parquet or webdataset: the number of images in a file; by default, so many that eight
        loaders have a file each, if these have 16 images or more.
    --push USER/NAME: With parquet: also upload the export to the Hugging Face Hub, as this dataset; needs a
        token (HF_TOKEN or hf auth login).
""")
@options("""
    --quiet: Print nothing but errors.
    --json -> as_json: Print one JSON object instead of text.
""")
def export(folder: Path, **choices: Any) -> None:
    """Converts a finished dataset for Hugging Face, WebDataset, or readers of CLEVR or COCO."""
    from clevrhope.export import export as run
    from clevrhope.export.hub import check_hub, push

    hub_name: str | None = choices["push"]
    if hub_name is not None:
        if choices["format_name"] != "parquet":
            raise ConfigError(f"--push goes with --format parquet, not {choices['format_name']}")
        check_hub(hub_name)
    made = run(
        folder,
        choices["out"],
        format=choices["format_name"],
        hops=choices["hops"] or None,
        splits=read_names(choices["splits"]) or None,
        train_questions=choices["train_questions"],
        levels=choices["levels"],
        instruction=choices["instruction"],
        images=not choices["no_images"],
        masks=choices["masks"],
        steps=choices["steps"],
        shard_size=choices["shard_size"],
        progress=shown_progress(choices),
    )
    if hub_name is not None and not choices["quiet"]:
        n_files = sum(1 for path in made.folder.rglob("*") if path.is_file())
        say(
            f"Uploading {n_files:,} files of {made.folder} to the dataset {hub_name} of the Hub, whose "
            "earlier tables they replace",
            err=True,
        )
    address = None if hub_name is None else push(made.folder, hub_name, quiet=choices["quiet"])
    from clevrhope.dataset.question_kinds import NONCE, SETS, kind_of
    from clevrhope.runtime.display import size

    images = f"{made.n_images:,} images" if made.images else "text only, no images"
    if made.n_copies > made.n_images:
        names = {SETS.name: "set", NONCE.name: "episode of a split"}
        users = dict.fromkeys(names.get(kind_of(split).name, "split") for _, split in made.splits)
        images += f" ({made.n_copies:,} copies, one for each {' or '.join(users)} that uses it)"
    pairs = f", {made.n_pairs:,} pairs of suites" if made.n_pairs else ""
    lines = [f"{made.folder}: {made.n_questions:,} questions{pairs}, {images}, {size(made.n_bytes)}"]
    if address:
        lines.append(f"uploaded to {address}")
    show_result(choices, made.as_json() | ({"pushed_to": address} if address else {}), lines)


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
            **({"nonce": summary.nonce} if summary.nonce else {}),
            "suites_removed": {suite: list(hops) for suite, hops in summary.suites.items()},
            "contact_sheet": str(summary.contact_sheet) if summary.contact_sheet else None,
            **({"edition": verified.as_json()} if verified else {}),
        }
        say_json(result)
    elif not choices["quiet"]:
        say("\n".join([*_summary_lines(request, summary), *(verified.lines() if verified else ())]))
    elif verified and not verified.ok:
        say("\n".join(verified.lines()), err=True)
    return 0 if verified is None or verified.ok else 1


def _summary_lines(request: "Request", summary: "Summary") -> list[str]:
    from clevrhope.runtime.display import duration, size
    from clevrhope.splits.covr.kinds import covr_file
    from clevrhope.splits.nonce.kinds import nonce_file

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
    for splits in summary.nonce.values():
        counts = ", ".join(f"{nonce_file(split)} {entry['questions']:,}" for split, entry in splits.items())
        lines.append(f"  episodes with nonce words: {counts}")
    lines += [f"  {sentence}" for sentence in summary.kept]
    if summary.suites:
        made = ", ".join(f"{suite} of {', '.join(hops)}" for suite, hops in summary.suites.items())
        lines.append(
            "  Pairs of fewer questions or in damaged files were removed; clevrhope suite makes them again: "
            f"{made}"
        )
    edition = request.edition
    more: dict[str, object] = {"--edition": edition.name} if edition else {}
    if edition is None or edition.seed != summary.seed:
        more["--seed"] = summary.seed
    if summary.n_requests > 1:
        every = command_line("info", summary.folder)
        lines.append(f"To reproduce: {every} prints the {summary.n_requests} commands that made this folder")
    else:
        lines.append(f"To reproduce: {repeated(more)}")
    lines.append(f"Overview:     {summary.contact_sheet or command_line('browse', summary.folder)}")
    for hop in summary.hops[:3]:
        lines.append(f"Datasheet:    {summary.folder / 'hops' / hop / 'DATASHEET.md'}")
    if len(summary.hops) > 3:
        lines.append(f"              and {len(summary.hops) - 3} more")
    images = summary.folder / "images"
    where = f"{images} (images)" if images.is_dir() else "no images yet (--no-render)"
    questions = [summary.folder / "hops"] if summary.splits else []
    questions += [summary.folder / "nonce"] if summary.nonce else []
    lines.append(f"Files:        {' and '.join(map(str, questions))} (questions), {where}")
    return lines
