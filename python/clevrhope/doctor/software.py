"""Checks the package, its engine, Python, and the libraries of the package and of its extras."""

import platform
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from time import perf_counter

from packaging.requirements import Requirement

import clevrhope
from clevrhope.doctor.finding import BROKEN, NOTE, Finding
from clevrhope.version import software_version

#: The modules of libraries that have another name.
_MODULES = {"pillow": "PIL"}
#: A scene for the engine to render.
_SCENE = {
    "objects": [
        {
            "shape": "cube",
            "size": "large",
            "color": "red",
            "material": "rubber",
            "3d_coords": [0.0, 0.0, 0.7],
            "rotation": 30.0,
        }
    ]
}


def software_findings() -> Iterator[Finding]:
    """Findings about installed software."""
    wanted = [Requirement(each) for each in _requirements("clevrhope")]
    yield Finding("clevrhope", f"{software_version()}, in {Path(clevrhope.__path__[0])}")
    yield Finding("Python", f"{platform.python_version()}, {sys.executable}")
    libraries = [each for each in wanted if _holds(each)]
    yield _libraries(libraries)
    yield _engine()
    if not wanted:
        yield Finding("extras", "unknown, as clevrhope is not installed here", NOTE, "pip install clevrhope")
    for extra in sorted({name for each in wanted for name in _extras_of(each)} - {"dev"}):
        yield _extra(extra, [each for each in wanted if _holds(each, extra) and not _holds(each)])


def _engine() -> Finding:
    """Imports the engine, and lets it read a world and render an image."""
    began = perf_counter()
    try:
        core = import_module("clevrhope._core")
        scenes = import_module("clevrhope.scenes")
        native = import_module("clevrhope.images.native")
        scenes.read_world()
        with native.NativeRenderer(width=48, height=32, quality="draft") as renderer:
            ((_, image),) = renderer.render([(0, _SCENE)])
        if image.shape != (32, 48, 3) or not image.any():
            raise RuntimeError(f"an image of shape {image.shape}, or a black one")
        engine, vectors = core.engine_version(), core.vector_instructions()
    except Exception as error:  # whatever an engine for another system or numpy raises
        return Finding(
            "engine",
            f"does not work ({type(error).__name__}: {error})",
            BROKEN,
            "pip install --force-reinstall clevrhope",
        )
    uses = f"uses {vectors}" if vectors != "none" else "has no AVX2 to use, and is slower for it"
    value = f"{engine}, {uses}; an image was rendered in {perf_counter() - began:.1f} s"
    if engine != software_version() != "unknown":
        return Finding(
            "engine",
            f"{value}; the package is {software_version()}",
            BROKEN,
            "pip install --force-reinstall clevrhope, or in a checkout: maturin develop --release",
        )
    return Finding("engine", value)


def _libraries(libraries: list[Requirement]) -> Finding:
    problems: dict[str, str] = {}
    for each in libraries:
        for problem in _problems(each):
            problems[problem] = f"'{each.name}{each.specifier}'"
    for each in libraries:
        try:
            import_module(_MODULES.get(each.name, each.name))
        except Exception as error:  # a library may raise anything
            problem = f"{each.name} cannot be imported ({type(error).__name__}: {error})"
            problems[problem] = f"--force-reinstall '{each.name}{each.specifier}'"
    if problems:
        remedy = f"pip install {' '.join(dict.fromkeys(problems.values()))}"
        return Finding("libraries", "; ".join(problems), BROKEN, remedy)
    return Finding("libraries", _versions(libraries))


def _extra(extra: str, libraries: list[Requirement]) -> Finding:
    """Whether all libraries of an extra are installed; broken if they are but a version does not match."""
    remedy = f"pip install 'clevrhope[{extra}]'"
    there = [each for each in libraries if _version(each.name) is not None]
    absent = dict.fromkeys(each.name for each in libraries if each not in there)
    if absent:  # installed libraries may serve other packages, in other versions
        found = f"{_versions(there)}; " if there else ""
        return Finding(f"extra {extra}", f"{found}not here: {', '.join(absent)}", NOTE, remedy)
    problems = [problem for each in there for problem in _problems(each)]
    if problems:
        return Finding(f"extra {extra}", "; ".join(problems), BROKEN, remedy)
    return Finding(f"extra {extra}", _versions(there) or "nothing that this Python could use")


def _problems(requirement: Requirement) -> Iterator[str]:
    """The problems of a library's version, and of the versions of its own dependencies."""
    found = _version(requirement.name)
    if found is None:
        yield f"{requirement.name} is not installed"
        return
    if not requirement.specifier.contains(found, prereleases=True):
        yield f"{requirement.name} {found} does not fit {requirement.specifier}"
    for line in _requirements(requirement.name):
        needed = Requirement(line)
        there = _version(needed.name)
        if _holds(needed) and there and not needed.specifier.contains(there, prereleases=True):
            yield f"{requirement.name} {found} needs {needed.name}{needed.specifier}, but {there} is here"


def _versions(requirements: list[Requirement]) -> str:
    return ", ".join(dict.fromkeys(f"{each.name} {_version(each.name)}" for each in requirements))


def _requirements(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _holds(requirement: Requirement, extra: str = "") -> bool:
    """Whether a requirement applies on this machine, with an extra or without any."""
    environment: Mapping[str, str] = {"extra": extra}
    return requirement.marker is None or requirement.marker.evaluate(dict(environment))


def _extras_of(requirement: Requirement) -> Iterator[str]:
    """The extras that a requirement's marker names."""
    for part in str(requirement.marker or "").split("extra == ")[1:]:
        yield part.split(part[0])[1]
