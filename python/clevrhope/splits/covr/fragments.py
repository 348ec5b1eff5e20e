"""Fragments of programs by which questions are held out: `filter_color[red]`, `all(with_*)`.

A fragment is the name of a function, and in parentheses the fragments that its inputs match: the first, or
the first and the second; `_` is any. A name without brackets stands for all values. `*` is any text, and
`{a,b}` is a or b. As in COVR, the filter of all objects of a shape is called `find`, not `filter_shape`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import program_arities

_FIND = "filter_shape["
_SCENE = "scene"
_PART = re.compile(r"\s*([(),]|(?:[\w*\[\]-]|\{[\w*\[\],-]*\})+|\S)")
_NAME = re.compile(r"[\w*\[\]{},-]+")
_WITHIN = re.compile(r"\*|\{|\}|,|[^*{},]+")
_SIGNS = {"*": ".*", "{": "(?:", "}": ")", ",": "|"}

_MOST_STARS = 6

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Steps:
    """The programs of N questions.

    Attributes:
        tokens: (N, P) numbers of names in prefix order.
        names: of functions, `find[...]` included, and of special tokens.
        arities: (N, P) the number of inputs of each step; negative for special tokens.
    """

    tokens: npt.NDArray[np.int32]
    names: Sequence[str]
    arities: npt.NDArray[np.int8]

    @cached_property
    def after(self) -> npt.NDArray[np.int32]:
        """(N, P + 1) the place after each step and all of its inputs."""
        n, width = self.tokens.shape
        rows = np.arange(n)
        after = np.full((n, width + 1), width, np.int32)
        for at in reversed(range(width)):
            end = np.full(n, at + 1, np.int32)
            for k in range(2):
                end = np.where(self.arities[:, at] > k, after[rows, end], end)
            after[:, at] = end
        return after


def step_names(functions: Sequence[str]) -> list[str]:
    """The names that steps may have: functions and special tokens by number, then a `find` for each shape."""
    return [*functions, *(f"find[{name.removeprefix(_FIND)}" for name in functions if name.startswith(_FIND))]


def steps_of(programs: npt.NDArray[np.integer[Any]], functions: Sequence[str]) -> Steps:
    """The steps of (N, P) programs, whose tokens are numbers of functions."""
    finds = np.arange(len(functions), dtype=np.int32)
    shapes = [number for number, name in enumerate(functions) if name.startswith(_FIND)]
    finds[shapes] = np.arange(len(functions), len(functions) + len(shapes))
    tokens = programs.astype(np.int32)
    of_scene = np.zeros(tokens.shape, bool)
    of_scene[:, :-1] = tokens[:, 1:] == functions.index(_SCENE)
    arities = program_arities(functions)[tokens]
    return Steps(np.where(of_scene, finds[tokens], tokens), step_names(functions), arities)


@dataclass(frozen=True)
class Fragment:
    """A function and what its inputs are; None for any input."""

    name: str
    inputs: "tuple[Fragment | None, ...]" = ()

    def is_in(self, steps: Steps) -> Flags:
        """(N,) whether each program has the fragment."""
        found: Flags = self._places(steps).any(axis=1)
        return found

    def names(self) -> Iterator[str]:
        """The names of functions in it, as written."""
        yield self.name
        for each in self.inputs:
            if each is not None:
                yield from each.names()

    def _places(self, steps: Steps) -> Flags:
        """(N, P) where the fragment begins."""
        found = matches(self.name, steps.names)[steps.tokens]
        starts = np.tile(np.arange(1, found.shape[1] + 1), (len(found), 1))
        for k, each in enumerate(self.inputs):
            if each is not None:
                begins = np.pad(each._places(steps), ((0, 0), (0, 1)))
                found &= steps.arities > k
                found &= np.take_along_axis(begins, starts, axis=1)
            starts = np.take_along_axis(steps.after, starts, axis=1)
        return found


def matches(pattern: str, names: Sequence[str]) -> Flags:
    """(V,) whether each name, with its value in brackets or without, matches a pattern."""
    parts = (_SIGNS.get(part) or re.escape(part) for part in _WITHIN.findall(re.sub(r"\*+", "*", pattern)))
    is_match = re.compile("".join(parts)).fullmatch
    return np.asarray(
        [name[:1] != "<" and bool(is_match(name) or is_match(name.partition("[")[0])) for name in names]
    )


def parse_fragment(text: str) -> Fragment:
    """Parses a fragment.

    Raises:
        ValueError: the text is not a fragment.
    """
    parts = _PART.findall(text)
    fragment = _take(parts)
    if fragment is None or parts:
        raise ValueError(text)
    return fragment


def _take(parts: list[str]) -> Fragment | None:
    """Takes a fragment from the beginning of a list of parts; None for `_`."""
    name = parts.pop(0) if parts else ""
    if not is_pattern(name):
        raise ValueError(name)
    if name == "_":
        return None
    if not parts or parts[0] != "(":
        return Fragment(name)
    inputs: list[Fragment | None] = []
    while len(inputs) < 2 and parts and parts.pop(0) in "(,":
        inputs.append(_take(parts))
        if parts and parts[0] == ")":
            parts.pop(0)
            return Fragment(name, tuple(inputs))
    raise ValueError(name)


def is_pattern(text: str) -> bool:
    """Whether a text is one for `matches`: commas are within braces, which are closed and not nested.

    It has at most `_MOST_STARS` signs for any text, since each takes longer to try.
    """
    is_closed = not re.search(r"[{},]", re.sub(r"\{[^{}]*\}", "", text))
    return bool(_NAME.fullmatch(text)) and is_closed and len(re.findall(r"\*+", text)) <= _MOST_STARS


def spellings(pattern: str) -> Iterator[str]:
    """The pattern, and the pattern with each alternative in braces alone; all of these should exist."""
    yield pattern
    for braces in re.finditer(r"\{([^{}]*)\}", pattern):
        for each in braces[1].split(","):
            yield pattern[: braces.start()] + each + pattern[braces.end() :]
