"""The commands that need no dataset: hops, bench."""

import json

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list instead of words.")
def hops(as_json: bool) -> None:
    """Lists the paper's 29 held-out pairs; any other pair of values can be built too."""
    from clevrhope.hops import paper_hops

    if as_json:
        rows = [
            {"hop": hop.name, "values": dict(hop.pair or ()), "diversity": hop.diversity}
            for hop in paper_hops()
        ]
        click.echo(json.dumps(rows))
        return
    click.echo(f"{'HOP':<18} {'types':<20} diversity")
    for hop in paper_hops():
        types = ", ".join(kind for kind, _ in hop.pair or ())
        click.echo(f"{hop.name:<18} {types:<20} {hop.diversity:>9}")


@click.command()
@click.option("--full", is_flag=True, help="More repetitions, and all sixteen reference pictures.")
@click.option("--no-pictures", is_flag=True, help="Leave rendering out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")
def bench(full: bool, no_pictures: bool, as_json: bool) -> None:
    """Measures questions, programs, scenes and pictures a second on this machine, in under a minute."""
    from clevrhope.bench import run, text_rows

    result = run(
        full=full,
        pictures=not no_pictures,
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
