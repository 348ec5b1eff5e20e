"""clevrhope: datasets that test systematic generalisation in visual question answering, and their parts.

The names below load on first use, so `import clevrhope` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clevrhope.dataset.loader import load
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
    from clevrhope.images import render
    from clevrhope.programs import Program, Scene, execute, execute_batch, trace
    from clevrhope.questions import instantiate_questions
    from clevrhope.scenes import sample_scenes
    from clevrhope.splits import select_split

_HOME = {
    "ClevrhopeError": "clevrhope.errors",
    "ConfigError": "clevrhope.errors",
    "DatasetError": "clevrhope.errors",
    "PredictionsError": "clevrhope.errors",
    "Program": "clevrhope.programs",
    "ProgramError": "clevrhope.errors",
    "RenderError": "clevrhope.errors",
    "Scene": "clevrhope.programs",
    "SceneError": "clevrhope.errors",
    "SplitError": "clevrhope.errors",
    "TemplateError": "clevrhope.errors",
    "TrainingError": "clevrhope.errors",
    "VocabularyError": "clevrhope.errors",
    "execute": "clevrhope.programs",
    "execute_batch": "clevrhope.programs",
    "instantiate_questions": "clevrhope.questions",
    "load": "clevrhope.dataset.loader",
    "render": "clevrhope.images",
    "sample_scenes": "clevrhope.scenes",
    "select_split": "clevrhope.splits",
    "trace": "clevrhope.programs",
}

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
    """Imports the module that defines a public name, the first time that the name is asked for."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'clevrhope' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
