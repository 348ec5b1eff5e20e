"""Chains of steps as tasks of a Ray cluster whose machines share the experiment's folder."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from clevrhope.experiments.plan import Chain
from clevrhope.experiments.processes import Failure, Slot, run_chain
from clevrhope.images.ray.cluster import connect, import_ray

_RETRIES = 3
"""Retries of a task whose machine or worker was lost; it resumes from what it had made."""


def run_on_ray(
    chains: Sequence[Chain], *, address: str | None, threads: int, per_gpu: int
) -> Iterator[Failure | None]:
    """Runs chains; gives the failure of each, or None, in the order in which they end.

    Args:
        chains: independent of each other.
        address: of the cluster, as for `build --address`.
        threads: cores of each, at most those of the largest machine.
        per_gpu: chains that share a GPU, if the cluster has GPUs.

    Raises:
        RenderError: Ray is missing, or no cluster answers.
        ConfigError: the address is invalid.
    """
    ray = import_ray()
    fresh = connect(address)
    try:
        cores, gpus = _task_resources(
            [node["Resources"] for node in ray.nodes() if node["Alive"]], threads, per_gpu
        )
        task = ray.remote(_run_in).options(num_cpus=cores, num_gpus=gpus, max_retries=_RETRIES)
        waiting = {task.remote(Path.cwd(), chain, threads=cores, per_gpu=per_gpu): chain for chain in chains}
        while waiting:
            (ended, *_), _ = ray.wait(list(waiting), num_returns=1)
            chain = waiting.pop(ended)
            try:
                failure = ray.get(ended)
            except ray.exceptions.RayError as error:
                failure = Failure(chain.name, str(error).strip().splitlines()[-1])
            yield failure
    finally:
        if fresh and "ray" in sys.modules:
            ray.shutdown()


def _task_resources(nodes: Sequence[Mapping[str, float]], threads: int, per_gpu: int) -> tuple[int, float]:
    """Cores and share of a GPU per task, no more than a machine has: Ray would wait for more forever."""
    with_gpu = [node for node in nodes if node.get("GPU")]
    most = max((int(node.get("CPU", 0)) for node in with_gpu or nodes), default=1)
    return max(1, min(threads, most)), 1 / per_gpu if with_gpu else 0


def _run_in(folder: Path, chain: Chain, *, threads: int, per_gpu: int) -> Failure | None:
    """Runs a chain in the folder that its paths are relative to; Ray's workers start elsewhere."""
    os.chdir(folder)
    # Ray shows each task the GPU that it was given.
    return run_chain(chain, threads=threads, slot=Slot(side_by_side=per_gpu))
