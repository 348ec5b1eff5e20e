"""Imports what may be missing: packages of this package's extras, and classes that a user names."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

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


def is_class_name(name: str) -> bool:
    """Whether a name has the form package.module:Class."""
    return all(name.partition(":"))


def import_class(name: str, what: str, *, remedy: str = "") -> Any:
    """Imports the object with this name; exceptions in the module itself, except failed imports, propagate.

    Args:
        name: a name of the form package.module:Class.
        what: begins messages, such as 'model "film"'.
        remedy: ends the message if another module, which the class's module needs, is missing.

    Raises:
        ConfigError: there is no such module or class, or it cannot be imported.
    """
    module_name, _, class_name = name.partition(":")
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        # A console script's path begins with its own folder, not with the user's, where the module is.
        sys.path.append(here)
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if module_name == missing or module_name.startswith(f"{missing}."):
            where = "neither installed nor in the working directory"
            raise ConfigError(f"{what}: no module {missing}, {where}") from error
        raise ConfigError(f"{what}: its module needs {missing}, which is not installed{remedy}") from error
    except (ImportError, SyntaxError, ValueError) as error:
        raise ConfigError(f"{what}: {module_name} cannot be imported ({error})") from error
    finally:
        if added:
            sys.path.remove(here)
    if not hasattr(module, class_name):
        raise ConfigError(f"{what}: {module_name} has no {class_name}")
    return getattr(module, class_name)
