"""Makes what `load` gives a torch Dataset where torch is installed; torch is imported only here."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any


@cache
def torch_class(plain: type) -> type:
    """A class as a subclass of torch's Dataset, or the class itself where there is no torch."""
    if find_spec("torch") is None:
        return plain
    bases = (plain, import_module("torch.utils.data").Dataset)
    return type(f"Torch{plain.__name__}", bases, {"__doc__": plain.__doc__})


def restored(plain: type, state: dict[str, Any]) -> Any:
    """An object with this state, for pickle: a class that was made at run time has no name to be found by."""
    made: Any = torch_class(plain)
    found = made.__new__(made)
    found.__dict__.update(state)
    return found
