"""The command that runs a grid of datasets and models: experiment."""

from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import PATH, Command, options, shown_progress
from clevrhope.errors import ConfigError, MissingFileError
from clevrhope.runtime.terminal import say


@click.command(cls=Command, short_help="Runs a grid of datasets and models, with a report.")
@click.argument("file", metavar="FILE.toml", type=PATH)
@options("""
    --out DIR: Folder of the experiment.  [default: out/FILE]
    --jobs N: Parallel runs; with --engine ray, per GPU.
    --engine local|ray|together = local: Where runs are executed: on this machine, each in a process; in a Ray
        cluster; or on one device, where one process trains all runs of a small model together.  [default:
        local]
    --address HOST:PORT: The head of the Ray cluster, or auto.
    --plan -> only_plan: Print the commands, and what is missing or wrong; run and write nothing.
    --publish DIR: Run nothing; copy the results of a finished experiment, and what they come from, to
        DIR/FILE.csv and DIR/FILE.json.
    --quiet: Print nothing but errors.
""")
def experiment(
    file: Path, out: Path | None, only_plan: bool, publish: Path | None, quiet: bool, **choices: Any
) -> int:
    """Runs an experiment: builds its datasets, trains and evaluates its models, and writes a report.

    After an interruption, run the same command again to resume; finished steps are skipped. FILE.toml can
    also name an experiment of the package: smoke, hour, hour-pairs, partners, hour-pixels, baselines,
    hour-gpu, levels, rewards, covr, suites, first6, diversity, paper. A run that fails does not stop the
    others; failures are listed at the end, and the exit code is 1.
    """
    from clevrhope.experiments.checks import findings
    from clevrhope.experiments.config import find_file, read_experiment
    from clevrhope.experiments.plan import make_plan
    from clevrhope.experiments.run import run_experiment

    plan = make_plan(read_experiment(find_file(file), out=out))
    if only_plan:
        found = [*findings(plan)]
        for sentence in dict.fromkeys(each for each in found if isinstance(each, str)):
            say(sentence)
        for chain in (*plan.datasets.values(), *plan.runs, *plan.zero_shot):
            for step in chain.steps:
                say(f"{'done ' if step.done else 'to do'}  clevrhope {' '.join(step.arguments)}")
        say(f"{len(plan.runs):,} runs, {plan.n_done:,} of them done; report: {plan.report}/report.html")
        if plan.cpu_minutes_left:
            say(f"What is to do takes about {plan.cpu_minutes_left / 60:.1f} hours of CPU time")
        for missing in dict.fromkeys(str(each) for each in found if isinstance(each, MissingFileError)):
            say(f"missing  {missing}")
        wrong = [each for each in found if isinstance(each, ConfigError)]
        problems = list(dict.fromkeys(str(e) for e in wrong if not isinstance(e, MissingFileError)))
        for problem in problems[:-1]:
            say(problem, err=True)
        if problems:
            raise ConfigError(problems[-1])
        return 0
    if publish is not None:
        from clevrhope.experiments.publication import publish as copy

        for path in copy(plan, publish, shown_progress({"quiet": quiet})):
            say(f"Published: {path}")
        return 0
    made = run_experiment(
        plan,
        **choices,
        progress=shown_progress({"quiet": quiet}),
        tell=lambda sentence: say(sentence, err=True),
    )
    if not quiet:
        say(f"{made.n_done:,} of {made.n_runs:,} runs are done, {made.n_new:,} of them new")
        say(f"Report: {made.report}" if made.report else "No report: no run has predictions yet")
    if made.failures:
        say(f"{len(made.failures)} failed; run the same command to try them again", err=True)
    return 1 if made.failures else 0
