"""Runs Blender's Cycles in worker processes, which may die, hang or use ever more memory."""
