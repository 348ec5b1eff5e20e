"""Command lines in, exit codes out: 0 done, 1 failed, 2 wrong input, 130 stopped with Ctrl-C.

Commands only translate; what they do is in the modules that they import when they run, so that `--help` is
quick. Results go to standard output, all else to standard error; an error is one sentence.
"""

import signal
import sys

import click

from clevrhope.cli.exports import export
from clevrhope.cli.making import build, merge, plan
from clevrhope.cli.measuring import audit, score, stats
from clevrhope.cli.modelling import evaluate, features, train
from clevrhope.cli.rendering import render
from clevrhope.cli.reporting import answers, ask, baseline, report
from clevrhope.cli.telling import bench, devices, hops
from clevrhope.errors import ClevrhopeError
from clevrhope.experiments.command import experiment


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="clevrhope")
def commands() -> None:
    """Makes datasets that test systematic generalisation in visual question answering (CLEVR-HOPE)."""


for command in (
    answers,
    ask,
    audit,
    baseline,
    bench,
    build,
    devices,
    evaluate,
    experiment,
    export,
    features,
    hops,
    merge,
    plan,
    render,
    report,
    score,
    stats,
    train,
):
    commands.add_command(command)

RESUMED = (build, experiment, features, merge, render, train)
"""Begun again after they were stopped, these go on where they were."""


def main() -> None:
    """Runs the command line and exits."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """Runs one command line; gives its exit code, with any error told in one sentence on standard error."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        code = commands.main(args=arguments, prog_name="clevrhope", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        return _fail(error.format_message(), 2)
    except (KeyboardInterrupt, click.Abort):
        goes_on = bool(arguments) and arguments[0] in {each.name for each in RESUMED}
        return _fail("stopped; run the same command to resume" if goes_on else "stopped", 130)
    except ClevrhopeError as error:
        # Errors that are also a ValueError are about what was asked for; the others about doing it.
        return _fail(str(error), 2 if isinstance(error, ValueError) else 1)
    except BrokenPipeError:
        sys.stdout = None  # the reader of our output left; Python would complain at exit otherwise
        return 1
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(*_: object) -> None:
    raise KeyboardInterrupt


def _fail(sentence: str, code: int) -> int:
    click.echo(f"clevrhope: {sentence}", err=True)
    return code


if __name__ == "__main__":
    main()
