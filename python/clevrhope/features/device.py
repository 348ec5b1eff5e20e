"""A device's name in, torch's device out."""

import torch

from clevrhope.errors import ConfigError


def chosen_device(name: str) -> torch.device:
    """The device of a name; "auto" is a GPU where there is one.

    Raises:
        ConfigError: there is no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        said = str(error).splitlines()[0]
        raise ConfigError(f'device: no "{name}" here ({said[:120]})') from error
    return device
