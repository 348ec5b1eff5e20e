"""Items by number, like a list: counted from either end, iterated in order, and sliced."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import Any, ClassVar, Self, SupportsIndex, overload


class ItemSequence(ABC):
    """Items that are made from their rows on access."""

    _rows: range
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

    def __getitem__(self, number: SupportsIndex | slice) -> "dict[str, Any] | Self":
        if not isinstance(number, slice):
            return self._item(self._row(number))
        part = copy(self)
        part._rows = self._rows[number]
        return part

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self._item, self._rows)

    def _row(self, number: SupportsIndex) -> int:
        """The row of an item; negative numbers count from the end."""
        try:
            return self._rows[number]
        except IndexError:
            raise IndexError(f"{self._unit} {number} of {len(self)}") from None
