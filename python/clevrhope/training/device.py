"""A device's name and a precision in, how to compute on it out."""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import torch

from clevrhope.training.request import Precision

_BFLOAT16 = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")
"""Instructions of CPUs, as torch calls them: Intel's and AMD's, and Arm's."""


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
    """What was asked for, or the recipe's; float32 where that is bf16 and the device would be slow in it."""
    if asked is not None:
        return asked
    return "float32" if of_recipe == "bf16" and not has_bfloat16(device) else of_recipe


def has_bfloat16(device: torch.device) -> bool:
    """Whether a device has instructions for bfloat16; without them it is several times slower."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # Older versions of torch cannot tell.
    capabilities: Mapping[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return device.type == "cpu" and any(capabilities.get(name) for name in _BFLOAT16)
