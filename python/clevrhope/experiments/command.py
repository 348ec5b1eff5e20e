"""The command that runs a grid of datasets and models: experiment."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clevrhope.cli.arguments import PATH, Whole, shown_progress

if TYPE_CHECKING:
    from clevrhope.experiments.plan import Plan


@click.command()
@click.argument("file", metavar="FILE.toml", type=PATH)
@click.option("--out", type=PATH, metavar="DIR", help="In place of the file's.  [default: out/FILE]")
@click.option("--jobs", type=Whole(1), metavar="N", help="Runs side by side; with --engine ray, on each GPU.")
@click.option(
    "--engine", type=click.Choice(["local", "ray"]), default="local", help="Where runs run.  [default: local]"
)
@click.option("--address", metavar="HOST:PORT", help="Of the Ray cluster's head, or auto.")
@click.option("--plan", "only_plan", is_flag=True, help="Print what would be run; run and write nothing.")
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
def experiment(
    file: Path,
    out: Path | None,
    only_plan: bool,
    quiet: bool,
    jobs: int | None,
    engine: str,
    address: str | None,
) -> int:
    """Runs a grid from build to report; what is done is skipped, so run it again after any stop.

    Names of files that come with the package work too: smoke, hour, first6, diversity, paper. A run that
    fails does not stop the others; it is told of at the end, and the exit code is 1.
    """
    from clevrhope.experiments.checks import check_plan
    from clevrhope.experiments.config import read_experiment
    from clevrhope.experiments.plan import make_plan
    from clevrhope.experiments.run import run_experiment
    from clevrhope.experiments.shipped import find_file

    plan = make_plan(read_experiment(find_file(file), out=out))
    if only_plan:
        check_plan(plan)
        _show(plan)
        return 0
    made = run_experiment(
        plan,
        jobs=jobs,
        engine=engine,
        address=address,
        progress=shown_progress({"quiet": quiet}),
        tell=lambda sentence: click.echo(f"failed: {sentence}", err=True),
    )
    if not quiet:
        click.echo(f"{made.n_done:,} of {made.n_runs:,} runs are done, {made.n_new:,} of them now")
        click.echo(f"Report: {made.report}" if made.report else "No report: no run has predictions yet")
    if made.failures:
        click.echo(f"{len(made.failures)} failed; the same command tries them again", err=True)
    return 1 if made.failures else 0


def _show(plan: "Plan") -> None:
    """Prints each command with whether it is done."""
    for chain in (*plan.datasets.values(), *(run.chain for run in plan.runs)):
        for step in chain.steps:
            click.echo(f"{'done ' if step.done else 'to do'}  clevrhope {' '.join(step.arguments)}")
    click.echo(f"{len(plan.runs):,} runs, {plan.n_done:,} of them done; report: {plan.report}/report.html")
