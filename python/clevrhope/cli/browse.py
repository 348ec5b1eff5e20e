"""The command that shows datasets in a browser: browse."""

from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import PATH, options, shown_progress
from clevrhope.cli.command import Command


@click.command(cls=Command, short_help="Shows a dataset in a browser.")
@click.argument("folder", metavar="DIR", type=PATH)
@options("""
    --predictions RUN_OR_FILE...: Predictions to show with the questions: a run's folder, or a file as for
        score; NAME=FILE names its model; repeatable.
    --port PORT = 8765: The port on this machine; if it is in use, a free one is taken instead.  [default:
        8765]
    --no-browser: Do not open a browser; only print the address.
    --static OUT -> out: Write the pages into a new folder, for any web server.
    --limit N: With --static, the first N questions of each split, and pairs of each suite.  [default: 100]
    --quiet: Show no progress.
""")
def browse(
    folder: Path,
    predictions: tuple[str, ...],
    port: int,
    no_browser: bool,
    out: Path | None,
    limit: int | None,
    **choices: Any,
) -> None:
    """Shows a dataset's questions, images, programs and tests in a browser on this machine.

    Nothing is written into DIR. Only those who have the printed address can open the pages.
    """
    from clevrhope.runtime.extras import check_extra

    for module in ("jinja2", "starlette", "uvicorn"):
        check_extra("browse needs", module, "browse")
    progress = shown_progress(choices)

    def say(sentence: str) -> None:
        click.echo(sentence, err=True)

    if out is not None:
        from clevrhope.browse.static import write_static

        n = write_static(folder, out, limit=limit or 100, predictions=predictions, progress=progress, say=say)
        click.echo(f"{out / 'index.html'}: {n:,} questions")
        return
    if limit is not None:
        raise click.UsageError(
            "--limit is for --static, which it keeps small; without it all questions are there"
        )
    from clevrhope.browse.serving import serve

    serve(folder, predictions=predictions, port=port, open_browser=not no_browser, progress=progress, say=say)
