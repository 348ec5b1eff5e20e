"""Checks Blender's interpreter, its version, and the system libraries that it needs."""

import os
import sys
from pathlib import Path

from clevrhope.doctor.finding import BROKEN, NOTE, Finding
from clevrhope.errors import ConfigError, RenderError
from clevrhope.runtime.blender import (
    INSTALL_LINE,
    OWN_ENVIRONMENT_LINE,
    VARIABLE,
    Blender,
    blender_folder,
    check_blender,
    find_blender,
)


def blender_finding() -> Finding:
    """Which Blender is used for rendering, and why."""
    try:
        blender = find_blender()
        if blender is None:
            return Finding(
                "Blender",
                "none; --renderer native needs none",
                NOTE,
                f"{OWN_ENVIRONMENT_LINE}, or with Python 3.11 {INSTALL_LINE}",
            )
        check_blender()
    except (ConfigError, RenderError) as error:
        return Finding("Blender", "installed, but it cannot be used", BROKEN, str(error))
    return Finding("Blender", f"{blender.version or 'built from source'}, {_place(blender)}")


def _place(blender: Blender) -> str:
    if os.environ.get(VARIABLE):
        return f"in {blender.python} ({VARIABLE})"
    if blender.python == Path(sys.executable) and blender_folder() is not None:
        return "in this environment"
    return f"in {blender.python} ({OWN_ENVIRONMENT_LINE})"
