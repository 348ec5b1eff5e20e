"""clevrhope: datasets that test systematic generalisation in visual question answering, and their parts.

The names below load on first use, so `import clevrhope` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clevrhope.errors import ClevrhopeError as ClevrhopeError

_HOME = {
    "ClevrhopeError": "clevrhope.errors",
}

__all__ = ["ClevrhopeError"]


def __getattr__(name: str) -> object:
    """Imports the module that defines a public name, the first time that the name is asked for."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'clevrhope' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
