"""Makes torch datasets of what `load` and `stream` give, where torch is; imports torch only here."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any


@cache
def torch_class(plain: type) -> type:
    """A class as a subclass of torch's Dataset, or the class itself where there is no torch.

    One without items by number becomes an IterableDataset.
    """
    if find_spec("torch") is None:
        return plain
    base = "Dataset" if hasattr(plain, "__getitem__") else "IterableDataset"
    bases = (plain, getattr(import_module("torch.utils.data"), base))
    return type(f"Torch{plain.__name__}", bases, {"__doc__": plain.__doc__})


def restored(plain: type, state: dict[str, Any]) -> Any:
    """An object with this state, for pickle: a class that was made at run time has no name to be found by."""
    made: Any = torch_class(plain)
    found = made.__new__(made)
    found.__dict__.update(state)
    return found
