"""The commands that render scene files and list what can render them: render, devices."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import (
    PASSES,
    PATH,
    PROPERTIES,
    blender_option,
    json_option,
    options,
    quiet_option,
    read_names,
    rendering_options,
    show_result,
    shown_progress,
    with_options,
)
from clevrhope.cli.command import Command


@click.command(cls=Command, short_help="Renders any CLEVR scene file.")
@click.argument("scenes", type=PATH, metavar="SCENES.json")
@options("""
    --out DIR!: Folder of the images, as PNG files.
    --config FILE.toml -> config_file: Settings in the form of build's: the tables [look] and [rendering], and
        properties.
""")
@with_options(*rendering_options)
@options(f"""
Images
    --width PIXELS: Of an image, in pixels.  [default: 480]
    --height PIXELS: Of an image, in pixels.  [default: 320]
    {PASSES}
    {PROPERTIES}
""")
@with_options(quiet_option, json_option)
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


@click.command(cls=Command, short_help="Lists the devices that Blender can render on.")
@with_options(blender_option, json_option)
def devices(as_json: bool) -> None:
    """Lists the devices that Blender can render on here, as --device takes them, and the native renderer."""
    from clevrhope.images.machine import find_renderers, text_lines

    renderers = find_renderers()
    click.echo(json.dumps(renderers.as_json()) if as_json else "\n".join(text_lines(renderers)))
