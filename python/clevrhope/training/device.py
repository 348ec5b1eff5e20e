"""How a device computes: its precision, and whether results are deterministic."""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import torch

from clevrhope.errors import ConfigError
from clevrhope.training.request import Precision

_BFLOAT16 = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")
"""Names in torch of the CPU instructions for bfloat16, of Intel, AMD and Arm."""


@contextmanager
def computing(
    device: torch.device, *, precision: Precision, deterministic: bool, threads: int | None = None
) -> Iterator[None]:
    """Sets torch's switches within the block, and restores them after it; `threads` None leaves theirs.

    On a CPU the same number of `threads` always gives the same bits. On a GPU `deterministic` forbids
    operations that do not, and makes training slower.

    Raises:
        ConfigError: `deterministic`, and torch has no deterministic version of an operation in the block.
    """
    before = (
        torch.backends.cuda.matmul.allow_tf32,
        torch.backends.cudnn.allow_tf32,
        torch.backends.cudnn.benchmark,
        torch.are_deterministic_algorithms_enabled(),
        torch.get_num_threads(),
    )
    tf32 = precision != "float32"
    gpu = device.type == "cuda"
    if gpu and deterministic:
        # cuBLAS reads this when a process first uses it.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    try:
        torch.set_num_threads(threads or before[4])
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        torch.backends.cudnn.benchmark = gpu and not deterministic
        torch.use_deterministic_algorithms(gpu and deterministic)
        yield
    except RuntimeError as error:
        if not deterministic or "deterministic" not in str(error):
            raise
        operation = str(error).partition(" ")[0]
        raise ConfigError(
            f"--deterministic: torch has no deterministic {operation} on this device; train without it, take "
            "another device, or write the model without this operation"
        ) from error
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before[:2]
        torch.backends.cudnn.benchmark = before[2]
        torch.use_deterministic_algorithms(before[3])
        torch.set_num_threads(before[4])


def machine(device: torch.device) -> dict[str, str]:
    """The device, and on which instructions torch's kernels for the CPU are chosen, for run.json."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {"device": name, "instructions": torch.backends.cpu.get_cpu_capability()}


def casting(device: torch.device, precision: Precision) -> AbstractContextManager[object]:
    """Autocast to bfloat16 for the precision "bf16"; does nothing for others."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


def chosen_precision(requested: Precision | None, of_recipe: Precision, device: torch.device) -> Precision:
    """The requested precision, or else the recipe's, but float32 on a device that is slow in bf16."""
    if requested is not None:
        return requested
    return "float32" if of_recipe == "bf16" and not has_bfloat16(device) else of_recipe


def has_bfloat16(device: torch.device) -> bool:
    """Whether a device has instructions for bfloat16; without them it is several times slower."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # Older versions of torch cannot tell.
    capabilities: Mapping[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return device.type == "cpu" and any(capabilities.get(name) for name in _BFLOAT16)
