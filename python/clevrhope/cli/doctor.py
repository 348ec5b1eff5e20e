"""The command that checks this machine and this environment: doctor."""

import json
from dataclasses import asdict

import click

from clevrhope.cli.arguments import blender_option, json_option, with_options
from clevrhope.cli.command import Command


@click.command(cls=Command, short_help="Checks this installation and tells you how to fix what is wrong.")
@with_options(blender_option, json_option)
def doctor(as_json: bool) -> int:
    """Lists versions, extras, Blender, GPUs, disk and memory, and what to type if one is amiss.

    Exits with 1 if something that is installed does not work; what is optional and missing is no failure.
    """
    from clevrhope.doctor import examine

    findings = examine()
    is_broken = any(each.state == "broken" for each in findings)
    if as_json:
        listed = [asdict(each) for each in findings]
        click.echo(json.dumps({"works": not is_broken, "findings": listed}))
        return int(is_broken)
    width = max(len(each.name) for each in findings)
    for each in findings:
        click.echo(f"{each.state:<8} {each.name:<{width}}  {each.value}")
        if each.remedy:
            click.echo(f"{'':<{width + 11}}-> {each.remedy}")
    click.echo("Something that is installed does not work." if is_broken else "Everything installed works.")
    return int(is_broken)
