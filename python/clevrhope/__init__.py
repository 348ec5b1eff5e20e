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
    __version__: str

    from clevrhope.dataset.loader import load
    from clevrhope.dataset.scene_reader import load_scenes
    from clevrhope.dataset.torch_dataset import collate
    from clevrhope.images.stage import render
    from clevrhope.programs import (
        Program,
        Scene,
        SceneSet,
        execute,
        execute_batch,
        find,
        sample_scenes,
        trace,
    )
    from clevrhope.questions import instantiate_questions
    from clevrhope.splits import select_split
    from clevrhope.training.stream import stream

_MODULES = {
    **dict.fromkeys(
        ("Program", "Scene", "SceneSet", "execute", "execute_batch", "find", "sample_scenes", "trace"),
        "programs",
    ),
    "collate": "dataset.torch_dataset",
    "instantiate_questions": "questions",
    "load": "dataset.loader",
    "load_scenes": "dataset.scene_reader",
    "render": "images.stage",
    "select_split": "splits",
    "stream": "training.stream",
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
    "SceneSet",
    "SplitError",
    "TemplateError",
    "TrainingError",
    "VocabularyError",
    "collate",
    "execute",
    "execute_batch",
    "find",
    "instantiate_questions",
    "load",
    "load_scenes",
    "render",
    "sample_scenes",
    "select_split",
    "stream",
    "trace",
]


def __getattr__(name: str) -> object:
    """Imports a public name, or a module such as `clevrhope.scenes`, when it is first used."""
    if name == "__version__":
        return import_module("clevrhope.version").software_version()
    place = f"{__name__}.{_MODULES.get(name, name)}"
    try:
        module = import_module(place)
    except ModuleNotFoundError as error:
        if error.name != place:  # a library that the module needs is missing
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value: object = getattr(module, name) if name in _MODULES else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
