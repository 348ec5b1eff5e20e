"""Grids of settings: in a [[model]] table, a list in place of a value stands for a table with each value."""

import re
from collections.abc import Collection, Mapping
from itertools import product
from math import prod
from typing import Any

from clevrhope.errors import ConfigError, listed
from clevrhope.runtime.toml import toml_value

MOST_RUNS = 1_000
"""Most runs of a grid."""

SET = "set"
"""The table of a model's own settings, in which a list is a grid, too."""

_Axis = tuple[tuple[str, ...], list[Any]]
"""The path of a setting, and its values."""

_LONGEST = 32
"""Characters of a value in the name of a folder; longer ones are numbered."""


def grid_points(table: Any, place: str, *, lists: Collection[str]) -> list[Any]:
    """The tables that a [[model]] table with lists stands for: one for each combination of their values.

    Each has a label of its own: that of the table, or the model's name, followed by its settings, such as
    "lxmert_s-updates481000-rate5e-05". A table without such lists is returned as it is. A value that is
    itself a list is an element of a list.

    Args:
        table: the table, as read from TOML.
        place: of the table, for messages.
        lists: the keys whose values are lists themselves.

    Raises:
        ConfigError: a list is empty or has a value twice, or there are more than `MOST_RUNS` combinations.
    """
    if not isinstance(table, Mapping):
        return [table]
    own = table[SET] if isinstance(table.get(SET), Mapping) else {}
    settings: dict[tuple[str, ...], Any] = {
        **{(key,): value for key, value in table.items() if key not in (*lists, "label")},
        **{(SET, key): value for key, value in own.items()},
    }
    axes: list[_Axis] = [(path, values) for path, values in settings.items() if isinstance(values, list)]
    if not axes:
        return [table]
    names = [".".join(path) for path, _ in axes]
    for name, (_, values) in zip(names, axes, strict=True):
        if not values:
            raise ConfigError(f"{place}.{name} is []; expected a value, or several for a grid")
        texts = [toml_value(each) for each in values]
        if repeated := [text for text in texts if texts.count(text) > 1]:
            raise ConfigError(f"{place}.{name}: {repeated[0]} is listed twice")
    n = prod(len(values) for _, values in axes)
    if n > MOST_RUNS:
        raise ConfigError(
            f"{place}: the lists in {listed(names, most=5)} make {n:,} combinations of settings; a grid has "
            f"at most {MOST_RUNS:,} runs"
        )
    label = str(table.get("label") or str(table.get("name", "")).rpartition(":")[2])
    words = _words(axes)
    if "label" not in table and isinstance(table.get("name"), list):
        label = ""  # it is among the words
    points = []
    for numbers in product(*(range(len(values)) for _, values in axes)):
        point = {**table, **({SET: {**own}} if own else {})}
        for (path, values), k in zip(axes, numbers, strict=True):
            (point[SET] if len(path) > 1 else point)[path[-1]] = values[k]
        parts = [of_axis[k] for of_axis, k in zip(words, numbers, strict=True)]
        points.append({**point, "label": "-".join(filter(None, [label, *parts]))})
    return points


def _words(axes: list[_Axis]) -> list[list[str]]:
    """The words of each axis's values in labels, such as "rate5e-05"; long or equal values are numbered."""
    last = [path[-1].rpartition(".")[2] for path, _ in axes]
    found = []
    for (path, values), short in zip(axes, last, strict=True):
        key = short if last.count(short) == 1 else path[-1]
        if path == ("name",):
            key = ""
        texts = [str(each).rpartition(":")[2] if not key else str(each) for each in values]
        texts = [re.sub(r"[^\w.]+", "-", text, flags=re.ASCII).strip("-") for text in texts]
        if len({*texts}) < len(texts) or not all(0 < len(text) <= _LONGEST for text in texts):
            texts = [str(k) for k in range(1, len(values) + 1)]
        found.append([key + text for text in texts])
    return found
