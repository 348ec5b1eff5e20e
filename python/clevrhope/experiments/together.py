"""Training of an experiment's runs in one process: those of a [[model]] table together."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from clevrhope.errors import ClevrhopeError
from clevrhope.experiments.checks import parsed
from clevrhope.experiments.plan import RunChain
from clevrhope.experiments.processes import Failure
from clevrhope.runtime.progress import Progress


def train_in_one_process(
    runs: Sequence[RunChain], *, progress: Progress
) -> Iterator[tuple[RunChain, Failure | None]]:
    """Trains runs that are not trained yet; gives each with its failure, or None once its step is done.

    Raises:
        KeyboardInterrupt: SIGTERM or Ctrl-C came; the states of the runs are written.
    """
    from clevrhope.cli.models import read_train_request, train
    from clevrhope.training.together import train_together

    left = sorted((run for run in runs if not run.chain.steps[0].done), key=lambda run: run.model)
    for _, group in groupby(left, key=lambda run: run.model):
        of_table = list(group)
        steps = [run.chain.steps[0] for run in of_table]
        requests = [read_train_request(parsed(train, step.arguments)) for step in steps]
        made: Sequence[object]
        try:
            made = train_together(requests, progress)
        except ClevrhopeError as error:
            made = [error] * len(steps)
        for run, step, result in zip(of_table, steps, made, strict=True):
            if isinstance(result, ClevrhopeError):
                yield run, Failure(step.name, str(result))
            else:
                step.set_done()
                yield run, None
