"""Rendering of scenes: Blender in worker processes, and a native renderer that needs no Blender."""
