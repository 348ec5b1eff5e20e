"""clevrhope: datasets that test systematic generalisation in visual question answering, and their parts.

Public names are imported on first use, so `import clevrhope` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from clevrhope.errors import (
    ClevrhopeError,
    ConfigError,
    DatasetError,
    PredictionsError,
    ProgramError,
    RenderError,
    SceneError,
    SplitError,
    TemplateError,
    TrainingError,
    VocabularyError,
)

if TYPE_CHECKING:
    from clevrhope.dataset.loader import load
    from clevrhope.images import render
    from clevrhope.programs import Program, Scene, execute, execute_batch, trace
    from clevrhope.questions import instantiate_questions
    from clevrhope.scenes import sample_scenes
    from clevrhope.splits import select_split

_MODULES = {
    "clevrhope.dataset.loader": ("load",),
    "clevrhope.images": ("render",),
    "clevrhope.programs": ("Program", "Scene", "execute", "execute_batch", "trace"),
    "clevrhope.questions": ("instantiate_questions",),
    "clevrhope.scenes": ("sample_scenes",),
    "clevrhope.splits": ("select_split",),
}
"""The modules of the names that are imported on first use."""

__all__ = [
    "ClevrhopeError",
    "ConfigError",
    "DatasetError",
    "PredictionsError",
    "Program",
    "ProgramError",
    "RenderError",
    "Scene",
    "SceneError",
    "SplitError",
    "TemplateError",
    "TrainingError",
    "VocabularyError",
    "execute",
    "execute_batch",
    "instantiate_questions",
    "load",
    "render",
    "sample_scenes",
    "select_split",
    "trace",
]


def __getattr__(name: str) -> object:
    """Imports the module that defines a public name when the name is first used."""
    for module, names in _MODULES.items():
        if name in names:
            value: object = getattr(import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'clevrhope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
