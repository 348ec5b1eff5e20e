"""The command that writes finished datasets once more: export."""

import json
from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import PATH, Whole, only_hops, only_splits, read_names, shown_progress


@click.command()
@click.argument("folder", type=PATH, metavar="DIR")
@click.option(
    "--format",
    "format_name",
    required=True,
    metavar="NAME",
    help="parquet (Hugging Face), webdataset, clevr (CLEVR_v1.0's folders), iep (its models' HDF5) or coco "
    "(masks and boxes).",
)
@click.option("--out", type=PATH, required=True, help="New folder; it appears when it is whole.")
@only_hops
@only_splits
@click.option(
    "--train-questions",
    type=Whole(1),
    metavar="N",
    help="Only the first so many of train; 25000 and 200000 are the paper's smaller sets.",
)
@click.option("--no-images", is_flag=True, help="Text only.")
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")
def export(folder: Path, **choices: Any) -> None:
    """Writes a finished dataset once more, for Hugging Face, WebDataset, readers of CLEVR or of COCO."""
    from clevrhope.export import export as run

    splits = read_names(choices["splits"])
    made = run(
        folder,
        choices["out"],
        format=choices["format_name"],
        hops=choices["hops"] or None,
        splits=splits or None,
        train_questions=choices["train_questions"],
        images=not choices["no_images"],
        progress=shown_progress(choices),
    )
    if choices["as_json"]:
        click.echo(json.dumps(made.as_json()))
    elif not choices["quiet"]:
        from clevrhope.runtime.display import size

        images = f"{made.n_images:,} images" if made.images else "text only, no images"
        if made.n_copies > made.n_images:
            images += f" ({made.n_copies:,} copies, one for each split that uses it)"
        click.echo(f"{made.folder}: {made.n_questions:,} questions, {images}, {size(made.n_bytes)}")
