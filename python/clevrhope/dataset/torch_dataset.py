"""The classes of `load` and `stream`: sequences of items, and torch datasets if torch is installed."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, Self, SupportsIndex, overload


class ItemSequence(ABC):
    """Items by number, like a list: counted from either end, iterated in order, and sliced."""

    _rows: range | list[int]
    """The row of each item; for a slice, only the rows that it selects."""
    _unit: ClassVar[str]
    """What messages call an item."""

    @abstractmethod
    def _item(self, k: int) -> dict[str, Any]:
        """The item of row k."""

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, number: SupportsIndex) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, number: slice) -> Self: ...

    @overload
    def __getitem__(self, number: Sequence[SupportsIndex]) -> list[dict[str, Any]]: ...

    def __getitem__(
        self, number: SupportsIndex | slice | Sequence[SupportsIndex]
    ) -> "dict[str, Any] | Self | list[dict[str, Any]]":
        if isinstance(number, slice):
            part = copy(self)
            part._rows = self._rows[number]
            return part
        if isinstance(number, Sequence):  # of a BatchSampler
            return [self._item(self._row(each)) for each in number]
        return self._item(self._row(number))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self._item, self._rows)

    def _row(self, number: SupportsIndex) -> int:
        """The row of an item; negative numbers count from the end."""
        try:
            return self._rows[number]
        except IndexError:
            raise IndexError(f"{self._unit} {number} of {len(self)}") from None


def collate(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Joins items of `load` or `stream` into a batch, as a DataLoader's `collate_fn`.

    Numbers, and arrays that have the same shape in all items, become tensors with the batch as their first
    dimension; the two questions of a pair become batches of their own. All else becomes a list with an
    element for each item: scenes, texts, and the images of sets, which differ in number.
    """
    default_collate = import_module("torch.utils.data").default_collate
    batch: dict[str, Any] = {}
    for name in items[0]:
        values = [item[name] for item in items]
        if all(isinstance(value, Mapping) for value in values) and name in ("original", "partner"):
            batch[name] = collate(values)
        else:
            batch[name] = default_collate(values) if _can_be_stacked(values) else values
    return batch


def _can_be_stacked(values: Sequence[Any]) -> bool:
    """Whether values are all numbers, or all arrays or tensors of one shape."""
    shapes = {getattr(each, "shape", None) for each in values}
    return all(isinstance(each, int | float) for each in values) or (len(shapes) == 1 and None not in shapes)


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
