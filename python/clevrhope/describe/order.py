"""The order in which pages, tables and plots show names."""

from collections.abc import Iterable, Sequence

RELATION_ORDER = ("left", "right", "front", "behind")
"""Order of spatial relations; relations of equal values follow by name."""

TYPE_ORDER = ("yes/no", "count", "size", "color", "material", "shape")
"""Order of answer types, including attributes; others follow."""

VALUE_ORDER = (
    *("yes", "no"),
    *("small", "large"),
    *("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"),
    *("rubber", "metal"),
    *("cube", "sphere", "cylinder"),
)
"""Order of answers within their type; others follow."""


def ordered(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """Names in a given order, followed by any others; after yes and no, numbers are in ascending order."""

    def rank(name: str) -> tuple[int, int, str]:
        if name.isdecimal():
            return (1, int(name), "")
        if name in order:
            return (0 if name in ("yes", "no") else 2, order.index(name), "")
        return (3, 0, name)

    return sorted(set(names), key=rank)
