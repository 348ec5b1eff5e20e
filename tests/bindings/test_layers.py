"""Which folder of the package may import which: those below it alone; and no circle of modules."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import clevrhope

PACKAGE = Path(clevrhope.__file__).parent

MAY_IMPORT: dict[str, frozenset[str]] = {
    "features": frozenset(),
    "models": frozenset({"features"}),
    "training": frozenset({"features", "models"}),
    "metrics": frozenset(),
    "report": frozenset({"metrics", "models"}),
}
"""Of these packages, those that each may import besides itself; what lies below them all, any may. A report
reads of models what their papers' configurations and recipes are, which is data and needs no torch."""

FOLDERS = (
    *("version", "_core", "errors", "runtime", "pages", "look", "splits", "scenes", "questions", "images"),
    *(
        "programs",
        "config",
        "dataset",
        "replies",
        "rewards",
        "sources",
        "features",
        "models",
        "editions",
        "describe",
        "metrics",
        "audit",
    ),
    *(
        "export",
        "pipeline",
        "inspect_tasks",
        "training",
        "prompts",
        "report",
        "browse",
        "doctor",
        "cli",
        "experiments",
        "__main__",
        "start",
    ),
)
"""Folders and modules of the package, from the lowest up. Each may import those before it."""


def dotted_names(source: str) -> Iterator[str]:
    """What a module imports, wherever in it, also for types alone, as dotted names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not looked at here, and the project has none"
            yield from (f"{node.module}.{each.name}" for each in node.names)


def imported(source: str, package: str) -> Iterator[str]:
    """The packages of clevrhope that a module imports, besides its own."""
    for name in dotted_names(source):
        top, _, rest = name.partition(".")
        if top == "clevrhope" and rest.partition(".")[0] != package:
            yield rest.partition(".")[0]


def wrong_ways(source: str, package: str) -> list[str]:
    above = frozenset(FOLDERS[FOLDERS.index(package) + 1 :])
    apart = frozenset(MAY_IMPORT) - MAY_IMPORT[package] if package in MAY_IMPORT else frozenset()
    return sorted(set(imported(source, package)) & (above | apart))


@pytest.mark.parametrize("package", [each for each in FOLDERS if each != "_core"])
def test_no_folder_imports_one_above_it(package: str) -> None:
    modules = sorted((PACKAGE / package).rglob("*.py")) or [PACKAGE / f"{package}.py"]
    found = {str(path): wrong_ways(path.read_text("utf-8"), package) for path in modules}
    assert not {path: packages for path, packages in found.items() if packages}


def test_every_folder_has_its_place() -> None:
    there = {path.stem for path in PACKAGE.iterdir() if not path.name.startswith(("_assets", "__pycache__"))}
    assert there - {"__init__", "_core.abi3", "py"} == set(FOLDERS)


@pytest.mark.parametrize(
    ("package", "source", "wrong"),
    [
        ("features", "def f():\n    from clevrhope.models.names import find_model", ["models"]),
        ("training", "import clevrhope.metrics.answer_key as key", ["metrics"]),
        ("metrics", "from clevrhope import report, training", ["report", "training"]),
        ("models", "if TYPE_CHECKING:\n    from clevrhope.experiments import Plan", ["experiments"]),
        ("splits", "def f():\n    from clevrhope.scenes import World", ["scenes"]),
        ("report", "from clevrhope.report.page import Page\nfrom clevrhope.metrics import score", []),
    ],
)
def test_an_import_of_the_wrong_way_is_found(package: str, source: str, wrong: list[str]) -> None:
    assert wrong_ways(source, package) == wrong


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Not in functions or for types either: of such modules, none can be read without the others."""
    files = {}
    for path in PACKAGE.rglob("*.py"):
        dotted = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        files[dotted.removesuffix(".__init__")] = path
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        there = dotted_names(path.read_text("utf-8"))
        # Of "a.b.c" either c is a module, or a name in the module a.b.
        graph[name] = {each if each in files else each.rpartition(".")[0] for each in there} & files.keys()
    graph["clevrhope"] = set()  # it loads its public names when they are asked for
    assert len(graph) > 250
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")
