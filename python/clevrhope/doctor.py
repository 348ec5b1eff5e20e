"""Reports what this machine and environment have, and how to fix what is missing or broken.

Nothing heavy is loaded: Blender, torch and other large libraries are examined by their metadata.
"""

import os
import platform
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

import clevrhope
from clevrhope.errors import ConfigError, RenderError
from clevrhope.runtime.blender import INSTALL_LINE, OWN_ENVIRONMENT_LINE, check_blender, find_blender
from clevrhope.runtime.resources import UNKNOWN_BYTES, available_bytes, available_cores
from clevrhope.version import software_version

INSTALL = "pip install --force-reinstall"
#: The modules of libraries that have another name.
_MODULES = {"pillow": "PIL"}
#: A scene for the engine to render.
_OBJECT = {"shape": "cube", "size": "large", "color": "red", "material": "rubber", "rotation": 30.0}
_SCENE = {"objects": [{**_OBJECT, "3d_coords": [0.0, 0.0, 0.7]}]}

State = Literal["ok", "note", "broken"]


@dataclass(frozen=True)
class Finding:
    """The result of checking one thing.

    Attributes:
        name: what was checked.
        value: what was found.
        state: ok; note if it is optional and missing; broken if it is there but does not work.
        remedy: what to type or do if it is not ok.
    """

    name: str
    value: str
    state: State = "ok"
    remedy: str = ""


def examine() -> list[Finding]:
    """All findings, in the order in which they are shown."""
    memory = available_bytes()
    wanted = [Requirement(each) for each in _requirements("clevrhope")]
    needed = [each for each in wanted if _holds(each)]
    extras = {name for each in wanted for name in re.findall(r"extra == ['\"](\w+)", str(each.marker))}
    return [
        Finding("clevrhope", f"{software_version()}, in {Path(clevrhope.__path__[0])}"),
        Finding("Python", f"{platform.python_version()}, {sys.executable}"),
        _installed("libraries", needed, f"{INSTALL} clevrhope", needed=True),
        _engine(),
        *(
            _installed(
                f"extra {extra}",
                [each for each in wanted if _holds(each, extra) and each not in needed],
                f"pip install 'clevrhope[{extra}]'",
                needed=False,
            )
            for extra in sorted(extras - {"dev"})
        ),
        _blender(),
        Finding("cores", f"{available_cores()} of {os.cpu_count() or 1}"),
        Finding("memory", "unknown" if memory >= UNKNOWN_BYTES else f"{memory / (1 << 30):.1f} GiB"),
    ]


def _installed(name: str, libraries: list[Requirement], command: str, *, needed: bool) -> Finding:
    """Whether libraries are here, in versions that fit; those that the package needs are imported, too."""
    there = {each.name: _version(each.name) for each in libraries}
    absent = [library for library, found in there.items() if found is None]
    value = ", ".join(f"{library} {found}" for library, found in there.items() if found is not None)
    if absent:  # installed libraries of an extra may serve other packages, in other versions
        state: State = "broken" if needed else "note"
        return Finding(
            name, "; ".join(filter(None, (value, f"not here: {', '.join(absent)}"))), state, command
        )
    problems = [
        f"{each.name} {there[each.name]} does not fit {each.specifier}"
        for each in libraries
        if not each.specifier.contains(str(there[each.name]), prereleases=True)
    ]
    for each in libraries if needed else ():
        try:
            import_module(_MODULES.get(each.name, each.name))
        except Exception as error:  # a library may raise anything
            problems.append(f"{each.name} cannot be imported ({type(error).__name__}: {error})")
    if problems:
        return Finding(name, "; ".join(problems), "broken", command)
    return Finding(name, value)


def _engine() -> Finding:
    """Imports the engine, and lets it render an image."""
    try:
        core = import_module("clevrhope._core")
        native = import_module("clevrhope.images.native")
        with native.NativeRenderer(width=48, height=32, quality="draft") as renderer:
            ((_, image),) = renderer.render([(0, _SCENE)])
        if image.shape != (32, 48, 3) or not image.any():
            raise RuntimeError(f"an image of shape {image.shape}, or a black one")
        if core.engine_version() != software_version() != "unknown":
            raise RuntimeError(f"version {core.engine_version()}, the package is {software_version()}")
    except Exception as error:  # whatever an engine for another system or numpy raises
        remedy = f"{INSTALL} clevrhope, or in a checkout: maturin develop --release"
        return Finding("engine", f"does not work ({type(error).__name__}: {error})", "broken", remedy)
    vectors = core.vector_instructions()
    return Finding("engine", f"{core.engine_version()}, vector instructions: {vectors}; it renders")


def _blender() -> Finding:
    """Which Blender is used for rendering."""
    try:
        blender = find_blender()
        if blender is not None:
            check_blender()
    except (ConfigError, RenderError) as error:
        return Finding("Blender", "installed, but it cannot be used", "broken", str(error))
    if blender is None:
        remedy = f"{OWN_ENVIRONMENT_LINE}, or with Python 3.11 {INSTALL_LINE}"
        return Finding("Blender", "none; --renderer native needs none", "note", remedy)
    return Finding("Blender", f"{blender.version or 'built from source'}, in {blender.python}")


def _requirements(name: str) -> list[str]:
    with suppress(PackageNotFoundError):
        return requires(name) or []
    return []


def _version(name: str) -> str | None:
    with suppress(PackageNotFoundError):
        return version(name)
    return None


def _holds(requirement: Requirement, extra: str = "") -> bool:
    """Whether a requirement applies on this machine, with an extra or without any."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})
