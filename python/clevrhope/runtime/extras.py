"""Checks for packages that come with the extras of this package."""

from importlib import import_module

from clevrhope.errors import ConfigError


def check_torch() -> None:
    """Checks that torch and safetensors are installed.

    Raises:
        ConfigError: one is not; says how to install them.
    """
    for module in ("torch", "safetensors"):
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"{module} is not installed, which models need: pip install 'clevrhope[train]'"
            ) from error
