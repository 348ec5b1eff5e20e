"""Rendering of scenes: Blender in worker processes, and a native renderer that needs no Blender.

The names load on first use, because a worker process needs few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clevrhope.images.blender.cycles import CyclesRenderer as CyclesRenderer
    from clevrhope.images.blender.pool import ScenesFailedError as ScenesFailedError
    from clevrhope.images.native import NativeRenderer as NativeRenderer
    from clevrhope.images.quality import Quality as Quality
    from clevrhope.images.quality import measure_quality as measure_quality
    from clevrhope.images.quality import psnr as psnr
    from clevrhope.images.renderer import Renderer as Renderer
    from clevrhope.images.renderer import Scene as Scene
    from clevrhope.images.settings import RenderSettings as RenderSettings
    from clevrhope.images.stage import render as render
    from clevrhope.images.stage import render_png_files as render_png_files
    from clevrhope.look.definition import Look as Look
    from clevrhope.look.definition import read_look as read_look

_HOME = {
    "CyclesRenderer": "clevrhope.images.blender.cycles",
    "Look": "clevrhope.look.definition",
    "NativeRenderer": "clevrhope.images.native",
    "Quality": "clevrhope.images.quality",
    "RenderSettings": "clevrhope.images.settings",
    "Renderer": "clevrhope.images.renderer",
    "Scene": "clevrhope.images.renderer",
    "ScenesFailedError": "clevrhope.images.blender.pool",
    "measure_quality": "clevrhope.images.quality",
    "psnr": "clevrhope.images.quality",
    "read_look": "clevrhope.look.definition",
    "render": "clevrhope.images.stage",
    "render_png_files": "clevrhope.images.stage",
}


def __getattr__(name: str) -> object:
    """Imports the module that defines a public name, the first time that the name is asked for."""
    if name not in _HOME:
        raise AttributeError(f"module 'clevrhope.images' has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
