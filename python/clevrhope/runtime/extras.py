"""What the extras bring in, asked for by name; a sentence that says how to get it where it is missing."""

from importlib import import_module

from clevrhope.errors import ConfigError


def check_torch() -> None:
    """Passes where torch and safetensors are installed.

    Raises:
        ConfigError: they are not; says how to get them.
    """
    for module in ("torch", "safetensors"):
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"{module} is not installed, which models need: pip install clevrhope[train]"
            ) from error
