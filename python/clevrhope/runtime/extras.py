"""Checks for packages that come with the extras of this package."""

from importlib import import_module

from clevrhope.errors import ConfigError


def check_extra(need: str, module: str, extra: str) -> None:
    """Checks that a module can be imported; `need` begins the message, such as "plots need".

    Raises:
        ConfigError: it is missing, or built for another numpy; says which extra contains it.
    """
    try:
        import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"{need} {module}, which cannot be imported ({error}): pip install 'clevrhope[{extra}]'"
        ) from error


def check_torch() -> None:
    """Checks that torch and safetensors are installed; errors as for `check_extra`."""
    for module in ("torch", "safetensors"):
        check_extra("models need", module, "train")
