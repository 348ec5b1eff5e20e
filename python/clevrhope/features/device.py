"""The torch device that a name stands for."""

import torch

from clevrhope.errors import ConfigError, first_sentence


def chosen_device(name: str) -> torch.device:
    """The device of that name; "auto" is a GPU if there is one, else the CPU.

    Raises:
        ConfigError: this machine has no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError) as error:
        # For a name that it does not know, torch lists all device types, here or not.
        why = f" ({first_sentence(error)})" if name.startswith("cuda") else ""
        n_gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
        known = ", ".join(["auto", "cpu", *(f"cuda:{number}" for number in range(n_gpus))])
        raise ConfigError(f'--device: no "{name}" here{why}; there are: {known}') from error
    return device
