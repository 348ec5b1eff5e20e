"""Turns the classes of `load` and `stream` into torch datasets, if torch is installed."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any


@cache
def torch_class(plain: type) -> type:
    """Returns a subclass that is also a torch Dataset, or the class itself if torch is not installed.

    A class whose items cannot be accessed by number becomes an IterableDataset.
    """
    if find_spec("torch") is None:
        return plain
    base = "Dataset" if hasattr(plain, "__getitem__") else "IterableDataset"
    bases = (plain, getattr(import_module("torch.utils.data"), base))
    return type(f"Torch{plain.__name__}", bases, {"__doc__": plain.__doc__})


def restored(plain: type, state: dict[str, Any]) -> Any:
    """Restores an object for pickle, which cannot find a class that was made at run time by name."""
    made: Any = torch_class(plain)
    found = made.__new__(made)
    found.__dict__.update(state)
    return found
