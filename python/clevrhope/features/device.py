"""The torch device with a given name, and the GPUs of this machine."""

import os

import torch

from clevrhope.errors import ConfigError, first_sentence


def chosen_device(name: str) -> torch.device:
    """The device with this name; "auto" is a GPU if there is one, else the CPU.

    Raises:
        ConfigError: this machine has no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError) as error:
        # For an unknown name, torch lists all device types, available or not.
        why = f" ({first_sentence(error)})" if name.startswith("cuda") else ""
        n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
        known = ", ".join(["auto", "cpu", *(f"cuda:{number}" for number in range(n_gpus))])
        raise ConfigError(f'--device: no "{name}" here{why}; there are: {known}') from error
    return device


def visible_gpus() -> list[str]:
    """The GPUs that this process sees, each by its name in `CUDA_VISIBLE_DEVICES`."""
    n = torch.cuda.device_count()
    numbers = [str(number) for number in range(n)]
    outer = os.environ.get("CUDA_VISIBLE_DEVICES")
    # CUDA ignores all names from the first invalid one on, and so does this count.
    return numbers if outer is None else [name.strip() for name in outer.split(",")][:n]
