"""Chains of steps in, run as tasks of a Ray cluster whose machines share the experiment's folder."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from clevrhope.experiments.plan import Chain
from clevrhope.experiments.processes import Failure, run_chain
from clevrhope.images.ray.cluster import connect, import_ray

_RETRIES = 3
"""Of a task whose machine or worker went away; what it had made stays, so it goes on."""


def run_on_ray(
    chains: Sequence[Chain], *, address: str | None, threads: int, a_gpu: int
) -> Iterator[tuple[Chain, Failure | None]]:
    """Each chain with what came of it, in the order in which they end.

    Args:
        chains: that do not need each other.
        address: of the cluster, as `build --address` takes it.
        threads: cores of each, or as many as the largest machine has.
        a_gpu: chains side by side on a GPU, where the cluster has some.

    Raises:
        RenderError: Ray is missing, or no cluster answers.
        ConfigError: no address.
    """
    ray = import_ray()
    fresh = connect(address)
    try:
        cores, gpus = _of_a_task([node["Resources"] for node in ray.nodes() if node["Alive"]], threads, a_gpu)
        task = ray.remote(_run_in).options(num_cpus=cores, num_gpus=gpus, max_retries=_RETRIES)
        waiting = {task.remote(Path.cwd(), chain, threads=cores, a_gpu=a_gpu): chain for chain in chains}
        while waiting:
            (ended, *_), _ = ray.wait(list(waiting), num_returns=1)
            chain = waiting.pop(ended)
            try:
                failure = ray.get(ended)
            except ray.exceptions.RayError as error:
                failure = Failure(chain.name, str(error).strip().splitlines()[-1])
            yield chain, failure
    finally:
        if fresh and "ray" in sys.modules:
            ray.shutdown()


def _of_a_task(nodes: Sequence[Mapping[str, float]], threads: int, a_gpu: int) -> tuple[int, float]:
    """Cores and share of a GPU of a task: no more than a machine has, for which Ray would wait for ever."""
    with_gpu = [node for node in nodes if node.get("GPU")]
    most = max((int(node.get("CPU", 0)) for node in with_gpu or nodes), default=1)
    return max(1, min(threads, most)), 1 / a_gpu if with_gpu else 0


def _run_in(folder: Path, chain: Chain, *, threads: int, a_gpu: int) -> Failure | None:
    """Runs a chain where its paths are meant from; a worker begins elsewhere."""
    os.chdir(folder)
    return run_chain(chain, threads=threads, side_by_side=a_gpu)
