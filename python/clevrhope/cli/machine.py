"""The commands about this machine and this environment: doctor and devices."""

from dataclasses import asdict
from typing import Any

import click

from clevrhope.cli.arguments import Command, blender_option, json_option, show_result


@click.command(cls=Command, short_help="Checks this installation and tells you how to fix what is wrong.")
@blender_option
@json_option
def doctor(**choices: Any) -> int:
    """Lists versions, extras, Blender, cores and memory, and what to type if one is amiss.

    Exits with 1 if something that is installed does not work; what is optional and missing is no failure.
    """
    from clevrhope.doctor import examine

    findings = examine()
    is_broken = any(each.state == "broken" for each in findings)
    width = max(len(each.name) for each in findings)
    lines = []
    for each in findings:
        lines.append(f"{each.state:<8} {each.name:<{width}}  {each.value}")
        if each.remedy:
            lines.append(f"{'':<{width + 11}}-> {each.remedy}")
    lines.append("Something that is installed does not work." if is_broken else "Everything installed works.")
    show_result(choices, {"works": not is_broken, "findings": list(map(asdict, findings))}, lines)
    return int(is_broken)


@click.command(cls=Command, short_help="Lists the devices that Blender can render on.")
@blender_option
@json_option
def devices(**choices: Any) -> None:
    """Lists the devices that Blender can render on here, as --device takes them, and the native renderer."""
    from clevrhope.images.machine import find_renderers, text_lines

    renderers = find_renderers()
    show_result(choices, renderers.as_json(), text_lines(renderers))
