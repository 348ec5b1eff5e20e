"""A kind's name in, the class that makes its features out; each is imported when it is asked for."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from clevrhope.errors import ConfigError, shown
from clevrhope.features.extractor import Asked, Extractor
from clevrhope.runtime.installed import check_torch
from clevrhope.runtime.settings import suggestion

KINDS: Mapping[str, str] = {
    "pixels": "clevrhope.features.pixels:Pixels",
    "attributes": "clevrhope.features.attributes:Attributes",
    "scene-boxes": "clevrhope.features.scene_boxes:SceneBoxes",
    "frcnn": "clevrhope.features.frcnn:FrcnnFeatures",
    "resnet101": "clevrhope.features.resnet101:Resnet101",
}
"""Name -> module and class."""

WITHOUT_TORCH = ("pixels", "attributes")

RANDOM = "random"
"""Said in place of a file, by somebody who wants the shapes and not the features."""

RESNET = "torchvision's ResNet-101 trained on ImageNet (resnet101-63fe2227.pth, or the same as safetensors)"
FRCNN = "the Visual Genome detector's pytorch_model.bin, with its config.yaml beside it"
_NEED_WEIGHTS: Mapping[str, str] = {"scene-boxes": RESNET, "resnet101": RESNET, "frcnn": FRCNN}
_TAKES_NO: Mapping[str, tuple[str, ...]] = {
    "pixels": ("weights",),
    "attributes": ("weights", "size"),
    "frcnn": ("size",),
}


def make_extractor(kind: str, asked: Asked) -> Extractor:
    """What makes features of a kind.

    Raises:
        ConfigError: no such kind, or not with these options or weights; torch is missing.
    """
    check_options(kind, size=asked.size, weights=asked.weights)
    if kind not in WITHOUT_TORCH:
        check_torch()
    module, _, name = KINDS[kind].partition(":")
    made: Extractor = getattr(import_module(module), name)(asked)
    return made


def check_options(kind: str, *, size: object, weights: Path | str | None) -> None:
    """Passes for a kind with options that it takes, and weights that are there where it needs some.

    Raises:
        ConfigError: no such kind, or not with these.
    """
    if kind not in KINDS:
        raise ConfigError(
            f"--kind: no kind {shown(kind)}{suggestion(kind, KINDS)}; there are: {', '.join(KINDS)}"
        )
    given = {"size": size, "weights": weights}
    refuse(kind, **{name: given[name] for name in _TAKES_NO.get(kind, ())})
    if kind in _NEED_WEIGHTS:
        given_weights(kind, weights)


def given_weights(kind: str, weights: Path | str | None) -> Path | str:
    """The weights that a kind which needs some was given.

    Raises:
        ConfigError: none, or random ones where the kind takes none such, or a file that is not there.
    """
    what, by_config = _NEED_WEIGHTS[kind], kind == "frcnn"
    if weights is None:
        remedy = f"put {what}, into a folder, and name that" if by_config else f"get {what} and name the file"
        other = "" if by_config else ", or try things out with --weights random"
        raise ConfigError(
            f"features of kind {kind} need weights: {remedy} with --weights PATH (weights are never "
            f"downloaded here){other}"
        )
    if str(weights) == RANDOM and by_config:
        raise ConfigError(
            f"--weights: features of kind {kind} cannot have random ones, as the checkpoint's config.yaml "
            f"also says how the detector is run; put {what}, into a folder, and name that"
        )
    if str(weights) != RANDOM and not Path(weights).exists():
        raise ConfigError(f"{weights}: no such file; put {what} there (weights are never downloaded here)")
    return weights


def refuse(kind: str, **given: object) -> None:
    """Passes where none of these options were given.

    Raises:
        ConfigError: one was; says which the kind does not take.
    """
    for name, value in given.items():
        if value is not None:
            raise ConfigError(f"features of kind {kind} take no --{name}")
