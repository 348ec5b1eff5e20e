"""The command that runs a grid of datasets and models: experiment."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clevrhope.cli.arguments import PATH, Command, json_option, options, show_result, shown_progress
from clevrhope.errors import ConfigError, MissingFileError, command_line
from clevrhope.runtime.terminal import say

if TYPE_CHECKING:
    from clevrhope.experiments.plan import Plan


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
@json_option
def experiment(
    file: Path,
    out: Path | None,
    only_plan: bool,
    publish: Path | None,
    quiet: bool,
    as_json: bool,
    **choices: Any,
) -> int:
    """Runs an experiment: builds its datasets, trains and evaluates its models, and writes a report.

    After an interruption, run the same command again to resume; finished steps are skipped. FILE.toml can
    also name an experiment of the package: first, smoke, hour, hour-pairs, partners, hour-pixels, baselines,
    hour-gpu, levels, covr, rewards, suites, first6, diversity, paper. A run that fails does not stop the
    others; failures are listed at the end, and the exit code is 1.
    """
    from clevrhope.experiments.plan import make_plan
    from clevrhope.experiments.reading import find_file, read_experiment
    from clevrhope.experiments.run import run_experiment

    plan = make_plan(read_experiment(find_file(file), out=out))
    if only_plan:
        _show_plan(plan, as_json)
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
    result = {
        "runs": made.n_runs,
        "done": made.n_done,
        "new": made.n_new,
        "report": str(made.report) if made.report else None,
        "failures": list(map(str, made.failures)),
    }
    lines = [
        f"{made.n_done:,} of {made.n_runs:,} runs are done, {made.n_new:,} of them new",
        f"Report: {made.report}" if made.report else "No report: no run has predictions yet",
    ]
    show_result({"as_json": as_json, "quiet": quiet}, result, lines)
    if made.failures:
        say(f"{len(made.failures)} failed; run the same command to try them again", err=True)
    return 1 if made.failures else 0


def _show_plan(plan: "Plan", as_json: bool) -> None:
    """Prints the commands of an experiment, and what is missing or wrong.

    Raises:
        ConfigError: the last of the problems.
    """
    from clevrhope.experiments.checks import findings
    from clevrhope.experiments.noise import detectable, in_words

    found = [*findings(plan)]
    notes = list(dict.fromkeys(each for each in found if isinstance(each, str)))
    missing = list(dict.fromkeys(str(each) for each in found if isinstance(each, MissingFileError)))
    wrong = [each for each in found if not isinstance(each, str | MissingFileError)]
    problems = list(dict.fromkeys(map(str, wrong)))
    chains = (*plan.datasets.values(), *plan.runs, *plan.zero_shot)
    differences = detectable(plan)
    steps = [(command_line(*step.arguments), step.done) for chain in chains for step in chain.steps]
    result = {
        "steps": [{"command": command, "done": done} for command, done in steps],
        "runs": len(plan.runs),
        "done": plan.n_done,
        "report": f"{plan.report}/report.html",
        "cpu_minutes_left": plan.cpu_minutes_left,
        "detectable": [each._asdict() for each in differences],
        "notes": notes,
        "missing": missing,
        "problems": problems,
    }
    lines = [
        *notes,
        *(f"{'done ' if done else 'to do'}  {command}" for command, done in steps),
        f"{len(plan.runs):,} runs, {plan.n_done:,} of them done; report: {plan.report}/report.html",
    ]
    if plan.cpu_minutes_left:
        lines.append(f"What is to do takes about {plan.cpu_minutes_left / 60:.1f} hours of CPU time")
    if differences:
        lines.append(in_words(differences))
    lines += [f"missing  {each}" for each in missing]
    show_result({"as_json": as_json}, result, lines)
    for problem in problems[:-1]:
        say(problem, err=True)
    if problems:
        raise ConfigError(problems[-1])
