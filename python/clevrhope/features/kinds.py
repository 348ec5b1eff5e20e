"""The kinds of features by name; each one's module is imported when it is used."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from clevrhope.errors import ConfigError, shown
from clevrhope.features.extractor import Extractor, ExtractorOptions
from clevrhope.runtime.extras import check_torch
from clevrhope.runtime.settings import suggestion

KINDS: Mapping[str, str] = {
    "pixels": "clevrhope.features.pixels:Pixels",
    "attributes": "clevrhope.features.attributes:Attributes",
    "scene-boxes": "clevrhope.features.scene_boxes:SceneBoxes",
    "frcnn": "clevrhope.features.frcnn:FrcnnFeatures",
    "resnet101": "clevrhope.features.resnet101:Resnet101",
}
"""Name -> module and class."""

RANDOM = "random"
"""Stands for a file of weights, for a user who wants features of the right shape only."""

RESNET = "torchvision's ResNet-101 trained on ImageNet (resnet101-63fe2227.pth, or the same as safetensors)"
FRCNN = "the Visual Genome detector's pytorch_model.bin, with its config.yaml beside it"
_WEIGHTS: Mapping[str, str] = {"scene-boxes": RESNET, "resnet101": RESNET, "frcnn": FRCNN}
_INVALID_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "pixels": ("weights",),
    "attributes": ("weights", "size"),
    "frcnn": ("size",),
}


def make_extractor(kind: str, options: ExtractorOptions) -> Extractor:
    """The extractor of a kind.

    Raises:
        ConfigError: no such kind, options or weights that do not fit it, or torch is missing.
    """
    check_options(kind, size=options.size, weights=options.weights)
    if kind in _WEIGHTS:
        check_torch()
    module, _, name = KINDS[kind].partition(":")
    extractor: Extractor = getattr(import_module(module), name)(options)
    return extractor


def check_options(kind: str, *, size: object, weights: Path | str | None) -> None:
    """Checks the options of a kind of features.

    Raises:
        ConfigError: no such kind, an option that it does not take, or weights that it needs and that are
            missing.
    """
    if kind not in KINDS:
        raise ConfigError(
            f"--kind: no kind {shown(kind)}{suggestion(kind, KINDS)}; there are: {', '.join(KINDS)}"
        )
    given = {"size": size, "weights": weights}
    for name in _INVALID_OPTIONS.get(kind, ()):
        if given[name] is not None:
            raise ConfigError(f"features of kind {kind} take no --{name}")
    if kind in _WEIGHTS:
        given_weights(kind, weights)


def given_weights(kind: str, weights: Path | str | None) -> Path | str:
    """The weights that were given for a kind that needs them.

    Raises:
        ConfigError: no weights, random ones for a kind that does not allow them, or no such file.
    """
    what, by_config = _WEIGHTS[kind], kind == "frcnn"
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
