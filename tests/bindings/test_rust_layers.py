"""Which module of the engine may use which: those below it alone, and no circle."""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "rust" / "core" / "src"

MODULES = (
    "message",
    "json",
    "chunk",
    "png_file",
    "rng",
    "vocab",
    "scene",
    "program",
    "holdout",
    "question",
    "split",
    "audit",
    "render",
    "error",
)
"""Modules of the engine, from the lowest up. Each may use those before it."""

Module = tuple[str, ...]


def module_of(path: Path) -> Module:
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def names_in(text: str) -> Iterator[list[str]]:
    """The paths in what follows `use`, groups in braces taken apart."""
    depth, begin = 0, 0
    parts = []
    for place, c in enumerate(text):
        depth += (c == "{") - (c == "}")
        if c == "," and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    for part in (*parts, text[begin:]):
        head, brace, group = part.strip().partition("{")
        before = [name for name in head.split("::") if name]
        if not brace:
            yield before
            continue
        for names in names_in(group.rpartition("}")[0]):
            yield [*before, *names]


def used(path: Path, modules: frozenset[Module]) -> Iterator[Module]:
    """The modules that a file's own lines use, tests apart."""
    text = re.sub(r"//[^\n]*", "", path.read_text("utf-8").partition("#[cfg(test)]")[0])
    if path.name == "mod.rs":
        text = re.sub(r"\bpub use [^;]+;", "", text)  # a folder's table of contents, for those outside
    statements = [names for each in re.findall(r"\buse ([^;]+);", text) for names in names_in(each)]
    inline = [each.split("::") for each in re.findall(r"\b(?:crate|super)(?:::\w+)+", text)]
    here = module_of(path)
    for names in (*statements, *inline):
        base: Module = here
        if names[0] == "crate":
            names = names[1:]
            base = ()
        elif names[0] == "super":
            while names and names[0] == "super":
                names, base = names[1:], base[:-1]
        elif names[0] == "self":
            names = names[1:]
        elif (*here, names[0]) not in modules:
            continue  # another crate
        for n in range(len(names), -1, -1):
            if (module := (*base, *names[:n])) in modules and module not in ((), here):
                yield module
                break


@pytest.fixture(scope="module")
def graph() -> dict[Module, set[Module]]:
    files = sorted(SOURCES.rglob("*.rs"))
    modules = frozenset(map(module_of, files))
    found = {module_of(path): set(used(path, modules)) for path in files}
    # A folder's own file is its table of contents: what it uses of its folder is below it.
    return {module: {each for each in uses if each != module[: len(each)]} for module, uses in found.items()}


def test_no_module_uses_itself_by_way_of_others(graph: dict[Module, set[Module]]) -> None:
    assert len(graph) > 100
    assert sum(map(len, graph.values())) > 300
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' -> '.join('::'.join(each) for each in error.args[1])}")


def test_no_module_uses_one_above_it(graph: dict[Module, set[Module]]) -> None:
    tops = {module[0] for module in graph if module}
    assert tops == set(MODULES)
    wrong = [
        f"{'::'.join(module)} uses {'::'.join(each)}"
        for module, uses in graph.items()
        for each in uses
        if module and MODULES.index(each[0]) > MODULES.index(module[0])
    ]
    assert not wrong


def test_braces_are_taken_apart() -> None:
    found = list(names_in("crate::a::{b, c::{d, self}}"))
    assert found == [["crate", "a", "b"], ["crate", "a", "c", "d"], ["crate", "a", "c", "self"]]
