"""Chains of steps in, run as tasks of a Ray cluster whose machines share the experiment's folder."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from clevrhope.experiments.plan import Chain
from clevrhope.experiments.processes import Failure, run_chain
from clevrhope.images.ray_cluster import connect, import_ray

_RETRIES = 3
"""Of a task whose machine or worker went away; what it had made stays, so it goes on."""


def run_on_ray(
    chains: Sequence[Chain], *, address: str | None, threads: int, a_gpu: int
) -> Iterator[tuple[Chain, Failure | None]]:
    """Each chain with what came of it, in the order in which they end.

    Args:
        chains: that do not need each other.
        address: of the cluster, as `build --address` takes it.
        threads: cores of each.
        a_gpu: chains side by side on a GPU, where the cluster has some.

    Raises:
        RenderError: Ray is missing, or no cluster answers.
        ConfigError: no address.
    """
    ray = import_ray()
    fresh = connect(address)
    try:
        gpus = 1 / a_gpu if ray.cluster_resources().get("GPU") else 0
        task = ray.remote(_run_in).options(num_cpus=threads, num_gpus=gpus, max_retries=_RETRIES)
        waiting = {task.remote(Path.cwd(), chain, threads=threads): chain for chain in chains}
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


def _run_in(folder: Path, chain: Chain, *, threads: int) -> Failure | None:
    """Runs a chain where its paths are meant from; a worker begins elsewhere."""
    os.chdir(folder)
    return run_chain(chain, threads=threads)
