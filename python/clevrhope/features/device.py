"""A device's name in, torch's device out."""

import torch

from clevrhope.errors import ConfigError, first_sentence


def chosen_device(name: str) -> torch.device:
    """The device of a name; "auto" is a GPU where there is one.

    Raises:
        ConfigError: there is no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError) as error:
        # Of a name that it does not know torch lists all that there are anywhere.
        why = f" ({first_sentence(error)})" if name.startswith("cuda") else ""
        raise ConfigError(f'--device: no "{name}" here{why}; there are: {", ".join(_there())}') from error
    return device


def _there() -> list[str]:
    """Names of devices that this machine has."""
    gpus = range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
    return ["auto", "cpu", *(f"cuda:{number}" for number in gpus)]
