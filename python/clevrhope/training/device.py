"""A device's name and a precision in, how to compute on it out."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import torch

from clevrhope.training.request import Precision


@contextmanager
def computing(device: torch.device, *, precision: Precision, deterministic: bool) -> Iterator[None]:
    """Sets torch's switches for a block, and puts them back.

    On the CPU the same number of threads gives the same bits in any case. On a GPU `deterministic` forbids
    what does not; it is slower there.
    """
    before = (
        torch.backends.cuda.matmul.allow_tf32,
        torch.backends.cudnn.allow_tf32,
        torch.backends.cudnn.benchmark,
        torch.are_deterministic_algorithms_enabled(),
    )
    tf32 = precision != "float32"
    gpu = device.type == "cuda"
    if gpu and deterministic:
        # cuBLAS reads it when it is first used in a process.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    try:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        torch.backends.cudnn.benchmark = gpu and not deterministic
        torch.use_deterministic_algorithms(gpu and deterministic)
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before[:2]
        torch.backends.cudnn.benchmark = before[2]
        torch.use_deterministic_algorithms(before[3])


def casting(device: torch.device, precision: Precision) -> AbstractContextManager[object]:
    """Autocast to bfloat16 where the precision says so; else nothing."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


def chosen_precision(asked: Precision | None, of_recipe: Precision, device: torch.device) -> Precision:
    """What was asked for, or the recipe's; on a CPU, of which few are faster in bfloat16, float32."""
    if asked is not None:
        return asked
    return of_recipe if device.type == "cuda" else "float32"
