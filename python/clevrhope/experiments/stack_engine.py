"""Training of an experiment's runs in one process: those of a [[model]] table together."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ClevrhopeError
from clevrhope.experiments.checks import parsed
from clevrhope.experiments.plan import RunChain
from clevrhope.experiments.processes import Failure
from clevrhope.runtime.progress import Progress

if TYPE_CHECKING:
    from clevrhope.training.request import TrainRequest


def train_in_one_process(
    runs: Sequence[RunChain], *, progress: Progress
) -> Iterator[tuple[RunChain, Failure | None]]:
    """Trains runs that are not trained yet; gives each with its failure, or None once its step is done.

    Runs whose model cannot be trained together with others are left out.

    Raises:
        KeyboardInterrupt: SIGTERM or Ctrl-C came; the states of the runs are written.
    """
    from clevrhope.cli.models import read_train_request, train
    from clevrhope.training.stacked_runs import train_together

    left = sorted((run for run in runs if not run.steps[0].done), key=lambda run: run.model)
    for _, group in groupby(left, key=lambda run: run.model):
        of_table = list(group)
        steps = [run.steps[0] for run in of_table]
        requests = [read_train_request(parsed(train, step.arguments)) for step in steps]
        if not _is_stackable(requests[0]):
            continue
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


def _is_stackable(request: "TrainRequest") -> bool:
    """Whether a request's model can be trained together with others of its kind."""
    from clevrhope.models.names import find_model
    from clevrhope.training.run import check_settings
    from clevrhope.training.stacked_runs import check_stackable

    try:
        if not hasattr(find_model(request.model), "stack_losses"):
            return False
        check_stackable(check_settings(request, read_vocab(Layout(request.dataset).vocab)), request)
    except ClevrhopeError:
        return False
    return True
