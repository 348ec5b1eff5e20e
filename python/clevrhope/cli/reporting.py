"""The commands that make predictions without training, and tables and figures of predictions."""

import json
from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import PATH, Whole, only_hops, read_names, shown_progress

_OUT = click.option("--out", type=PATH, required=True, metavar="FILE", help="Where to write, JSON lines.")


def read_size(text: str | None) -> int | None:
    """A train size such as 25k or 2500; None for none.

    Raises:
        UsageError: it is no number.
    """
    if text is None:
        return None
    number = text.removesuffix("k")
    if not number.isdecimal():
        raise click.UsageError(f'--size: "{text}" is no number of questions, such as 25k or 2500')
    return int(number) * (1000 if text.endswith("k") else 1)


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.option(
    "--kind",
    required=True,
    metavar="NAME",
    help="majority, majority_by_family (of the train set), always_no, or symbolic: the true programs, run.",
)
@only_hops
@click.option("--size", metavar="25k|N", help="The first so many questions of train.  [default: all]")
@_OUT
def baseline(folder: Path, kind: str, hops: tuple[str, ...], size: str | None, out: Path) -> None:
    """Writes what a guesser, or the symbolic oracle, answers to the test sets of DIR."""
    from clevrhope.dataset.contents import find_hop
    from clevrhope.dataset.layout import Layout
    from clevrhope.metrics.baselines import baseline as run
    from clevrhope.metrics.write import write_predictions

    n = write_predictions(out, run(folder, kind, hops=hops, size=read_size(size)))
    only = "".join(f" --hop {find_hop(Layout(folder), hop)}" for hop in hops)
    click.echo(f"{out}: {n:,} predictions of {kind}; clevrhope score {folder} {out}{only}")


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.option("--split", "splits", multiple=True, metavar="NAME", help="Only this test set; can be repeated.")
@only_hops
@click.option("--limit", type=Whole(1), metavar="N", help="Only the first N questions of each split.")
@_OUT
def ask(folder: Path, splits: tuple[str, ...], hops: tuple[str, ...], limit: int | None, out: Path) -> None:
    """Writes requests for a model that only answers: image, question, allowed answers."""
    from clevrhope.metrics.ask import write_requests

    n = write_requests(folder, out, splits=read_names(splits), hops=hops, limit=limit)
    click.echo(f'{out}: {n:,} requests; answer each with a line {{"id": ..., "reply": ...}}, then')
    click.echo(f"clevrhope answers REPLIES.jsonl --requests {out} --out predictions.jsonl")


@click.command()
@click.argument("replies", metavar="REPLIES.jsonl", type=PATH)
@click.option("--requests", type=PATH, required=True, metavar="FILE", help="What `ask` wrote.")
@click.option("--model", metavar="NAME", help="What reports call it.  [default: the name of REPLIES]")
@click.option("--dataset", "folder", type=PATH, metavar="DIR", help="Where its values are not CLEVR's.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")
@_OUT
def answers(
    replies: Path, requests: Path, model: str | None, folder: Path | None, as_json: bool, out: Path
) -> None:
    """Reads replies in free words and writes predictions; those that cannot be read count as wrong."""
    from clevrhope.metrics.ask import write_answers
    from clevrhope.metrics.write import NOT_TRAINED

    found = write_answers(replies, requests, out, model=model or replies.stem, folder=folder)
    if as_json:
        told = {"predictions": str(out), "replies": found.n_replies, "unreadable": found.n_unreadable}
        click.echo(json.dumps({**told, "note": NOT_TRAINED}))
        return
    first = f" (first {found.unreadable[0]})" if found.unreadable else ""
    click.echo(
        f"{out}: {found.n_replies:,} predictions, {found.n_unreadable:,} replies that cannot be read{first}; "
        f'marked "{NOT_TRAINED}"'
    )


@click.command()
@click.argument("runs", metavar="RUNS...", nargs=-1, required=True)
@click.option("--out", type=PATH, metavar="DIR", default="out/report", help="[default: out/report]")
@click.option("--model", metavar="NAME", help="Whose files are that do not say it; or give NAME=FILE.")
@click.option("--dataset", type=PATH, metavar="DIR", help="The dataset of files of predictions.")
@click.option("--title", metavar="TEXT", default="Systematicity gaps", help="Of the page.")
@click.option(
    "--least-iid",
    type=float,
    metavar="PERCENT",
    default=0.0,
    help="complex_iid accuracy from which runs of controlled diversity count.  [default: 0]",
)
@click.option(
    "--way", "ways", multiple=True, metavar="NAME", help="Of models that answer in several ways, only this."
)
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
def report(runs: tuple[str, ...], out: Path, quiet: bool, **choices: Any) -> None:
    """Makes the paper's tables and figures of RUNS, beside the paper's numbers, as HTML and Markdown.

    RUNS are folders of clevrhope train, folders of them, or files of predictions (NAME=FILE, with --dataset).
    """
    from clevrhope.report import report as run
    from clevrhope.report.writer import counted

    made = run(
        runs,
        out,
        model=choices["model"],
        dataset=choices["dataset"],
        title=choices["title"],
        least_iid=choices["least_iid"],
        ways=read_names(choices["ways"]),
        progress=shown_progress({"quiet": quiet}),
    )
    for sentence in made.skipped:
        click.echo(f"left out: {sentence}", err=True)
    if not quiet:
        n, n_figures = counted(made.n_results, "set"), counted(len(made.figures), "figure")
        click.echo(f"{made.html}: {n} of predictions, {n_figures}")
        click.echo(f"The same as Markdown: {made.markdown}; as numbers: {made.csv}")
