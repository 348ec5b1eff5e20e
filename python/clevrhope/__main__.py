"""The command line. Exit codes: 0 done, 1 failed, 2 wrong input, 130 stopped with Ctrl-C.

Each command imports what it needs only when it runs, so that `--help` is quick. Results go to standard
output, everything else to standard error. An error is reported in one sentence.
"""

import errno
import signal
import sys

import click

from clevrhope.cli.arguments import CommandGroup
from clevrhope.cli.asking import answers, ask
from clevrhope.cli.datasets import build, export, hops, import_, merge, plan, questions, render
from clevrhope.cli.inspection import audit, browse, info, show, stats, verify
from clevrhope.cli.machine import devices, doctor
from clevrhope.cli.models import evaluate, features, train
from clevrhope.cli.predictions import baseline, report, score
from clevrhope.cli.suites import captions, suite
from clevrhope.errors import ClevrhopeError
from clevrhope.experiments.command import experiment
from clevrhope.runtime.atomic import FULL_DISK
from clevrhope.runtime.reading import NOT_UTF8, name_not_utf8, os_reason
from clevrhope.runtime.stopping import Stop
from clevrhope.runtime.terminal import one_line, say

GROUPS = {
    "Make data": (build, plan, merge, hops, render, questions, suite, captions, import_, export),
    "Look at data": (info, show, browse, stats, audit, verify),
    "Train and evaluate models": (features, train, evaluate, experiment),
    "Predictions and reports": (score, report, baseline, ask, answers),
    "This machine": (doctor, devices),
}
"""The commands under each heading of `clevrhope --help`."""


def _print_manual(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked and not context.resilient_parsing:
        from clevrhope.cli.manual import manual
        from clevrhope.version import software_version

        say(manual(commands, software_version()))
        context.exit()


@click.group(cls=CommandGroup, groups=GROUPS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="clevrhope")
@click.option(
    "--man",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_manual,
    help="Print the help of all commands as a man page and exit.",
)
def commands() -> None:
    """Makes datasets that test systematic generalisation in visual question answering (CLEVR-HOPE)."""


RESUMABLE = ("build", "captions", "experiment", "features", "merge", "render", "train")
"""Commands that continue an interrupted run when they are given again."""


OF_THE_MACHINE = {
    *FULL_DISK,
    *(errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ESTALE),
}
"""Errors of the system that no command can prevent, such as those of a disk that can only be read."""


def run_command(
    arguments: list[str],
    command: click.Command = commands,
    *,
    name: str = "clevrhope",
    stop: Stop | None = None,
) -> int:
    """Runs one command line, of `clevrhope` or of another command, and returns its exit code.

    Errors are written to standard error, each in one sentence. Without arguments, the help is printed there.
    `stop` handles signals already; by default, one does from here on.
    """
    stop = stop or Stop()
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        code = command.main(args=arguments, prog_name=name, standalone_mode=False)
        sys.stdout.flush()  # at exit, nobody would tell that the disk is full
        return code if isinstance(code, int) else 0
    except BaseException as error:
        if stop.is_set or isinstance(error, KeyboardInterrupt | click.Abort):
            stop.is_told = True
            if sys.stderr.isatty():
                say("", err=True)  # ends the line on which the terminal shows ^C
            resumable = bool(arguments) and arguments[0] in RESUMABLE
            return _fail("stopped; run the same command to resume" if resumable else "stopped", 130)
        return _failed(error)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _failed(error: BaseException) -> int:
    """Tells what ended a command, and returns the exit code; an error that is a bug is raised."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(error.format_message(), err=True)
        return 2
    if isinstance(error, click.ClickException):
        return _fail(error.format_message(), 2)
    if isinstance(error, ClevrhopeError):
        # An error that is also a ValueError means wrong input; the others mean that the work failed.
        return _fail(str(error), 2 if isinstance(error, ValueError) else 1)
    if isinstance(error, BrokenPipeError):
        sys.stdout = None  # the reader of our output is gone; otherwise Python would complain at exit
        return 1
    if isinstance(error, OSError) and error.errno in OF_THE_MACHINE:
        if error.filename is None:
            sys.stdout = None
        return _fail(f"{error.filename or 'the output'}: {os_reason(error)}", 1)
    if isinstance(error, UnicodeEncodeError) and (name := name_not_utf8(error.object)):
        return _fail(f"{name}: {NOT_UTF8}", 2)
    raise error


def _fail(sentence: str, code: int) -> int:
    # A value in it may have ends of lines, with which a file could write lines of its own.
    say(f"clevrhope: {one_line(sentence)}", err=True)
    return code


if __name__ == "__main__":
    sys.exit(run_command(sys.argv[1:]))
