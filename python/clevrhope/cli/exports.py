"""The command that converts finished datasets to other formats: export."""

import json
from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import PATH, options, read_names, shown_progress
from clevrhope.cli.command import Command
from clevrhope.errors import ConfigError


@click.command(cls=Command, short_help="Converts a finished dataset for other libraries.")
@click.argument("folder", type=PATH, metavar="DIR")
@options("""
    --format NAME -> format_name!: parquet (Hugging Face), webdataset, clevr (the layout of CLEVR_v1.0), iep
        (the HDF5 of clevr-iep), coco (masks and boxes) or covr (COVR's JSON lines, of questions over several
        images).
    --out PATH!: A new folder, which appears once it is complete.
    --hop HOP... -> hops: Only this HOP; repeatable.
    --splits SPLITS...: Only these splits, separated by commas.
    --train-questions N: Only the first N questions of train; 25000 and 200000 give the paper's smaller sets.
    --no-images: Export text only.
    --masks: With parquet: also export masks, of a folder built with them.
    --push USER/NAME: With parquet: also upload the export to the Hugging Face Hub, as this dataset; needs a
        token (HF_TOKEN or hf auth login).
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
        images=not choices["no_images"],
        masks=choices["masks"],
        progress=shown_progress(choices),
    )
    address = None if hub_name is None else push(made.folder, hub_name, quiet=choices["quiet"])
    if choices["as_json"]:
        click.echo(json.dumps(made.as_json() | ({"pushed_to": address} if address else {})))
    elif not choices["quiet"]:
        from clevrhope.runtime.display import size
        from clevrhope.splits.covr.kinds import is_covr

        images = f"{made.n_images:,} images" if made.images else "text only, no images"
        if made.n_copies > made.n_images:
            of_sets = any(is_covr(split) for _, split in made.splits)
            users = "split or set" if of_sets else "split"
            images += f" ({made.n_copies:,} copies, one for each {users} that uses it)"
        pairs = f", {made.n_pairs:,} pairs of suites" if made.n_pairs else ""
        click.echo(f"{made.folder}: {made.n_questions:,} questions{pairs}, {images}, {size(made.n_bytes)}")
        if address:
            click.echo(f"uploaded to {address}")
