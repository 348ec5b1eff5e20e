"""A kind's name in, the class that makes its features out; each is imported when it is asked for."""

from collections.abc import Mapping
from importlib import import_module

from clevrhope.config import suggestion
from clevrhope.errors import ConfigError
from clevrhope.features.extractor import Asked, Extractor
from clevrhope.installed import check_torch

KINDS: Mapping[str, str] = {
    "pixels": "clevrhope.features.pixels:Pixels",
    "attributes": "clevrhope.features.attributes:Attributes",
    "scene-boxes": "clevrhope.features.scene_boxes:SceneBoxes",
    "frcnn": "clevrhope.features.frcnn:FrcnnFeatures",
    "resnet101": "clevrhope.features.resnet101:Resnet101",
}
"""Name -> module and class."""

WITHOUT_TORCH = ("pixels", "attributes")


def make_extractor(kind: str, asked: Asked) -> Extractor:
    """What makes features of a kind.

    Raises:
        ConfigError: no such kind, or not with these options or weights; torch is missing.
    """
    if kind not in KINDS:
        raise ConfigError(
            f'features: no kind "{kind}"{suggestion(kind, KINDS)}; there are: {", ".join(KINDS)}'
        )
    if kind not in WITHOUT_TORCH:
        check_torch()
    module, _, name = KINDS[kind].partition(":")
    made: Extractor = getattr(import_module(module), name)(asked)
    return made


def refuse(kind: str, **given: object) -> None:
    """Passes where none of these options were given.

    Raises:
        ConfigError: one was; says which the kind does not take.
    """
    for name, value in given.items():
        if value is not None:
            raise ConfigError(f"features of kind {kind} take no --{name}")
