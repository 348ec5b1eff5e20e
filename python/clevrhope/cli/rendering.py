"""The command that renders scene files: render."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import (
    PATH,
    passes_option,
    read_names,
    rendering_options,
    shown_progress,
    with_options,
)


@click.command()
@click.argument("scenes", type=PATH, metavar="SCENES.json")
@click.option("--out", type=PATH, required=True, metavar="DIR", help="Folder of the images, a PNG a scene.")
@with_options(rendering_options)
@passes_option
@click.option("--properties", type=PATH, metavar="FILE", help="Sizes, colors, materials and shapes.")
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")
def render(scenes: Path, out: Path, **choices: Any) -> None:
    """Renders the scenes of a CLEVR scene file, published ones too; run it again after any stop to go on."""
    from clevrhope.config.sources import resolve_config
    from clevrhope.pipeline.render_scenes import render_scene_file, text_lines

    names = ("renderer", "quality", "samples", "device")
    made = render_scene_file(
        scenes,
        out,
        rendering=resolve_config(**{name: choices[name] for name in names}).rendering,
        properties=choices["properties"],
        workers=choices["workers"],
        passes=read_names(choices["passes"]),
        engine=choices["engine"],
        address=choices["address"],
        progress=shown_progress(choices),
    )
    if choices["as_json"]:
        click.echo(json.dumps({**asdict(made), "folder": str(made.folder)}))
    elif not choices["quiet"]:
        click.echo("\n".join(text_lines(made)))
