"""Which module of the engine may use which: those below it alone, and no circle."""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "rust" / "core" / "src"

MODULES = (
    *("message", "json", "machine", "chunk", "png_file", "rng", "article", "vocab", "scene"),
    *("program", "holdout", "question", "split", "covr", "suite", "audit", "render", "error"),
)
"""Modules of the engine, from the lowest up. Each may use those before it."""

Module = tuple[str, ...]

PUB_USE = re.compile(r"\bpub(?:\([^)]*\))? use ([^;]+);")


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


def code_of(path: Path) -> str:
    """A file without its comments and its tests."""
    code = re.split(r"#\[cfg\(test\)\]\s*mod tests \{", path.read_text("utf-8"))[0]
    return re.sub(r"//[^\n]*", "", code)


def alias(name: str) -> str:
    return name.rpartition(" as ")[2]


def locate(here: Module, names: list[str], modules: frozenset[Module]) -> tuple[Module, list[str]] | None:
    """The module that a path leads to from `here`, and the names in it; None if it is another crate's."""
    names = [name.partition(" as ")[0] for name in names]
    base: Module = here
    if names[0] == "crate":
        names, base = names[1:], ()
    elif names[0] == "super":
        while names and names[0] == "super":
            names, base = names[1:], base[:-1]
    elif names[0] == "self":
        names = names[1:]
    elif (*here, names[0]) not in modules:
        return None
    n = next(n for n in range(len(names), -1, -1) if (*base, *names[:n]) in modules)
    return (*base, *names[:n]), names[n:]


Reexports = dict[tuple[Module, str], tuple[Module, list[str]]]
"""By module and re-exported name, what it stands for: a module, and the names in it."""


def reexports_of(path: Path, modules: frozenset[Module]) -> Reexports:
    here = module_of(path)
    found: Reexports = {}
    for statement in re.findall(PUB_USE, code_of(path)):
        for names in names_in(statement):
            if located := locate(here, names, modules):
                found[here, alias(names[-1])] = located
    return found


def used(path: Path, modules: frozenset[Module], reexports: Reexports) -> Iterator[Module]:
    """The modules that define what a file's own lines use, tests apart."""
    here = module_of(path)
    code = code_of(path)
    private = re.sub(PUB_USE, "", code)
    bare = re.sub(r"\buse [^;]+;|\bmod \w+;", "", private)
    statements = [names for each in re.findall(r"\buse ([^;]+);", private) for names in names_in(each)]
    # A file need not use a name that it re-exports.
    statements += [
        names
        for each in re.findall(PUB_USE, code)
        for names in names_in(each)
        if re.search(rf"\b{alias(names[-1])}\b", bare)
    ]
    inline = [each.split("::") for each in re.findall(r"(?<![:\w])\w+(?:::\w+)+", bare)]
    for names in (*statements, *inline):
        if not (located := locate(here, names, modules)):
            continue
        module, rest = located
        while rest and (module, rest[0]) in reexports:
            module, original = reexports[module, rest[0]]
            rest = [*original, *rest[1:]]
        if module not in ((), here):
            yield module


def graph_of_sources() -> dict[Module, set[Module]]:
    files = sorted(SOURCES.rglob("*.rs"))
    modules = frozenset(map(module_of, files))
    reexports = {name: target for path in files for name, target in reexports_of(path, modules).items()}
    return {module_of(path): set(used(path, modules, reexports)) for path in files}


@pytest.fixture(scope="module")
def graph() -> dict[Module, set[Module]]:
    return graph_of_sources()


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


def test_a_name_is_used_where_it_is_defined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SOURCES", tmp_path)
    (tmp_path / "lib.rs").write_text("pub mod a;\n")
    (tmp_path / "a").mkdir()
    table = "mod b;\nmod c;\n\npub use b::Low;\npub use c::High as Top;\n"
    (tmp_path / "a" / "b.rs").write_text("pub struct Low;\n")
    (tmp_path / "a" / "c.rs").write_text("use super::Low;\n\npub struct High(Low);\n")
    (tmp_path / "a" / "mod.rs").write_text(table)
    assert graph_of_sources() == {(): set(), ("a",): set(), ("a", "b"): set(), ("a", "c"): {("a", "b")}}

    # A folder's own file that uses what it re-exports is above it.
    code = "pub fn top() -> Top { todo!() }\n"
    (tmp_path / "a" / "mod.rs").write_text(f"#[cfg(test)]\nmod samples;\n{table}\n{code}")
    assert graph_of_sources()[("a",)] == {("a", "c")}
