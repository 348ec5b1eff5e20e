"""Running an experiment: all steps of a plan that are not done, and the report."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from clevrhope.errors import ClevrhopeError, PredictionsError
from clevrhope.experiments.build_files import Places, write_settings
from clevrhope.experiments.checks import check_plan, parsed
from clevrhope.experiments.engines import Failure, run_chain, run_here, run_on_ray
from clevrhope.experiments.plan import Chain, Plan, RunChain
from clevrhope.images.renderers import row_recorded
from clevrhope.runtime.atomic import check_own
from clevrhope.runtime.lock import locked
from clevrhope.runtime.paths import check_links
from clevrhope.runtime.progress import LOG, Progress, Silent
from clevrhope.runtime.resources import available_cores

if TYPE_CHECKING:
    from clevrhope.report.writer import Report

RunChains = Callable[[Sequence[Chain]], Iterator[Failure | None]]
"""Runs chains, and gives the failure of each, or None, as they end."""

_CORES_OF_A_DATASET = 2
"""Least number of cores for each of the datasets that are made at once."""


@dataclass(frozen=True)
class Outcome:
    """The result of running an experiment.

    Attributes:
        report: the report's page; None where no run has predictions.
        n_runs: number of all runs.
        n_done: number of runs that are done.
        n_new: number of runs that this call trained, or evaluated again.
        failures: failed steps; the runs that need them are not done.
    """

    report: Path | None
    n_runs: int
    n_done: int
    n_new: int
    failures: tuple[Failure, ...]


def run_experiment(
    plan: Plan,
    *,
    jobs: int | None = None,
    engine: str = "local",
    address: str | None = None,
    progress: Progress | None = None,
    tell: Callable[[str], None] = LOG.warning,
) -> Outcome:
    """Builds datasets, trains and evaluates runs in parallel, and writes the report; skips what is done.

    If a step fails, its log is kept, and steps that do not need it still run. Another call does the rest.

    Args:
        plan: the steps.
        jobs: number of parallel runs, in place of the file's; with Ray, per GPU.
        engine: "local"; "ray" for a cluster whose machines share the folder; or "together" to train the runs
            of each [[model]] that allows it in this process, as one stack of models; all else is as "local".
        address: of the cluster.
        progress: shows the stages; None shows nothing.
        tell: called with a sentence when a step fails, and when runs cannot be trained together; by default,
            the log gets it.

    Raises:
        DatasetError: another process runs this experiment, or its folder cannot be written.
        ConfigError: something in the file is bound to fail; nothing is run.
        RenderError: `engine` is "ray", and Ray is missing or does not answer.
        KeyboardInterrupt: SIGTERM or Ctrl-C came.
    """
    from clevrhope.report.writer import PAGES

    check_plan(plan)
    check_own(plan.report, PAGES)
    progress = progress or Silent()
    cores = available_cores()
    content = plan.experiment.content
    jobs = jobs or (cores if content.jobs == "cores" else content.jobs)
    threads = content.threads
    run_chains: RunChains = partial(run_here, jobs=jobs, threads=threads)
    if engine == "ray":
        run_chains = partial(run_on_ray, address=address, threads=threads, per_gpu=jobs)
    failures: list[Failure] = []

    def note(failure: Failure | None) -> None:
        if failure is not None:
            failures.append(failure)
            tell(f"failed: {failure}")

    with locked(plan.experiment.out):
        check_links(plan.experiment.out, _written(plan), deep=False)
        with progress.stage("Datasets", total=len(plan.datasets), unit="folders") as advance:
            advance(sum(chain.done for chain in plan.datasets.values()), there=True)
            for failure in _make_datasets(plan, cores):
                note(failure)
                advance(1)
        left = [run for run in plan.runs if plan.datasets[run.dataset].done and not run.done]
        # Runs that start from another run begin once all others have ended.
        first = [run for run in left if run.source is None]
        second = [run for run in left if run.source is not None]
        for runs in (first, second):
            for failure in _train_and_evaluate(runs, engine == "together", run_chains, progress, tell):
                note(failure)
        asked = zip(plan.zero_shot, plan.experiment.content.zero_shot, strict=True)
        able = [each for each, of in asked if plan.datasets[of.dataset].done and not each.done]
        with progress.stage("Zero-shot", total=len(able), unit="models") as advance:
            for failure in run_chains(able):
                note(failure)
                advance(1)
        made = write_report(plan, failures, progress)
    n_new = sum(run.done for run in left)
    return Outcome(made.html if made else None, len(plan.runs), plan.n_done, n_new, tuple(failures))


def _written(plan: Plan) -> Iterator[str]:
    """What the steps of an experiment write, as paths below its folder; existing datasets are elsewhere."""
    out = plan.experiment.out
    chains = (*plan.datasets.values(), *plan.runs, *plan.zero_shot)
    steps = [step for chain in chains for step in chain.steps]
    paths = [path for step in steps for path in (step.mark, step.log, step.made)]
    for dataset in plan.experiment.datasets:
        places = Places(out, dataset)
        paths += [places.templates, *filter(None, map(places.own_suite, dataset.suites))]
    for path in (*paths, plan.report):
        if path.is_relative_to(out):
            yield path.relative_to(out).as_posix()


def _make_datasets(plan: Plan, cores: int) -> Iterator[Failure | None]:
    """Makes the datasets that are not done; gives the failure of each, or None, as they end."""
    places = {config.name: Places(plan.experiment.out, config) for config in plan.experiment.datasets}
    for config in plan.experiment.datasets:
        if config.is_built:
            write_settings(places[config.name], f"{plan.experiment.file}: dataset {config.name}")
    left = [config for config in plan.experiment.datasets if not plan.datasets[config.name].done]
    chains = [plan.datasets[config.name] for config in left]
    jobs = min(len(left), cores // _CORES_OF_A_DATASET)
    share_a_folder = len({places[config.name].data for config in left}) < len(left)
    # A renderer with processes of its own takes all cores and GPUs by itself.
    shares_no_cores = any(
        each.is_built and each.render and not row_recorded(each.config.get("rendering", {})).is_in_process
        for each in left
    )
    if jobs < 2 or share_a_folder or shares_no_cores:
        for chain in chains:
            yield run_chain(chain, threads=cores)
    else:
        yield from run_here(chains, jobs=jobs, threads=cores // jobs)


def _train_and_evaluate(
    runs: Sequence[RunChain],
    together: bool,
    run_chains: RunChains,
    progress: Progress,
    tell: Callable[[str], None],
) -> Iterator[Failure | None]:
    """Runs whatever is left of some runs, unless what they start from failed; gives the failure of each."""
    able = [run for run in runs if run.source is None or run.source.is_trained]
    if len(able) < len(runs):
        tell(f"Left out, as what they start from failed: {len(runs) - len(able)} of {len(runs)} runs")
    if together:
        for run, failed in _train_together(able, progress, tell):
            yield failed
            able.remove(run)
    if able:
        with progress.stage("Runs", total=len(able), unit="runs") as advance:
            for failure in run_chains(able):
                yield failure
                advance(1)


def _train_together(
    runs: Sequence[RunChain], progress: Progress, tell: Callable[[str], None]
) -> Iterator[tuple[RunChain, Failure]]:
    """Trains runs that are not trained yet, those of a [[model]] as one stack; gives those that fail.

    Runs that cannot be trained so are left as they are.

    Raises:
        KeyboardInterrupt: SIGTERM or Ctrl-C came; the states of the runs are written.
    """
    from clevrhope.cli.models import read_train_request, train
    from clevrhope.training.stacked_runs import train_together

    left = [run for run in runs if not run.is_trained]
    for _, group in groupby(left, key=lambda run: run.model):
        stack = list(group)
        requests = [read_train_request(parsed(train, run.steps[0].arguments)) for run in stack]
        try:
            made = train_together(requests, progress)
        except ClevrhopeError as error:
            tell(f"{len(stack)} runs are not trained together, each has a process of its own: {error}")
            continue
        for run, result in zip(stack, made, strict=True):
            if isinstance(result, ClevrhopeError):
                yield run, Failure(run.steps[0].name, str(result))
            else:
                run.steps[0].set_done()


def write_report(plan: Plan, failures: Sequence[Failure], progress: Progress) -> "Report | None":
    """Writes the report of all runs that are trained and evaluated; None where there are none."""
    from clevrhope.report import report

    # A folder can hold a run of other settings, whose predictions are not those of this file.
    there = [run.folder for run in plan.runs if run.is_trained and (run.folder / "predictions").is_dir()]
    if not there:
        return None
    content = plan.experiment.content
    try:
        return report(
            there,
            plan.report,
            title=content.title or plan.experiment.file.stem,
            question=content.report.question,
            failures=[str(each) for each in failures],
            progress=progress,
        )
    except PredictionsError:
        return None
