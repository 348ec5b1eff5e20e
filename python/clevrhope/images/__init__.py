"""Scenes in, pictures out: the Renderer protocol, Blender in worker processes, the look as data."""

from clevrhope.images.cycles import CyclesRenderer
from clevrhope.images.look import Look, read_look
from clevrhope.images.pool import ScenesFailedError
from clevrhope.images.renderer import Renderer, Scene
from clevrhope.images.settings import RenderSettings
from clevrhope.images.stage import render, render_png_files

__all__ = [
    "CyclesRenderer",
    "Look",
    "RenderSettings",
    "Renderer",
    "Scene",
    "ScenesFailedError",
    "read_look",
    "render",
    "render_png_files",
]
