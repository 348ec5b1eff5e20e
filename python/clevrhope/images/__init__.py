"""Scenes in, pictures out: the Renderer protocol, Blender in workers, one of our own, the look.

The names load on first use: a worker process needs few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clevrhope.images.cycles import CyclesRenderer as CyclesRenderer
    from clevrhope.images.look import Look as Look
    from clevrhope.images.look import read_look as read_look
    from clevrhope.images.native import NativeRenderer as NativeRenderer
    from clevrhope.images.pool import ScenesFailedError as ScenesFailedError
    from clevrhope.images.quality import Quality as Quality
    from clevrhope.images.quality import measure_quality as measure_quality
    from clevrhope.images.quality import psnr as psnr
    from clevrhope.images.renderer import Renderer as Renderer
    from clevrhope.images.renderer import Scene as Scene
    from clevrhope.images.settings import RenderSettings as RenderSettings
    from clevrhope.images.stage import render as render
    from clevrhope.images.stage import render_png_files as render_png_files

_HOME = {
    "CyclesRenderer": "cycles",
    "Look": "look",
    "NativeRenderer": "native",
    "Quality": "quality",
    "RenderSettings": "settings",
    "Renderer": "renderer",
    "Scene": "renderer",
    "ScenesFailedError": "pool",
    "measure_quality": "quality",
    "psnr": "quality",
    "read_look": "look",
    "render": "stage",
    "render_png_files": "stage",
}

__all__ = [
    "CyclesRenderer",
    "Look",
    "NativeRenderer",
    "Quality",
    "RenderSettings",
    "Renderer",
    "Scene",
    "ScenesFailedError",
    "measure_quality",
    "psnr",
    "read_look",
    "render",
    "render_png_files",
]


def __getattr__(name: str) -> object:
    """Imports the module that defines a public name, the first time that the name is asked for."""
    if name not in _HOME:
        raise AttributeError(f"module 'clevrhope.images' has no attribute {name!r}")
    value: object = getattr(import_module(f"clevrhope.images.{_HOME[name]}"), name)
    globals()[name] = value
    return value
