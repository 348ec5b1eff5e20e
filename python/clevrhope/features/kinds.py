"""Finds extractors: ours by the name of the kind, a user's as package.module:Class. Imports no torch."""

from dataclasses import dataclass
from pathlib import Path

from clevrhope.errors import ConfigError, MissingFileError, shown
from clevrhope.features.extractor import Extractor, ExtractorOptions
from clevrhope.runtime.extras import check_torch, import_class, is_class_name
from clevrhope.runtime.settings import suggestion

RANDOM = "random"
"""Replaces a file of weights, for users who only need features of the right shape."""

RESNET = "torchvision's ResNet-101 trained on ImageNet (resnet101-63fe2227.pth, or the same as safetensors)"
FRCNN = "the Visual Genome detector's pytorch_model.bin, with its config.yaml beside it"


@dataclass(frozen=True)
class KindRow:
    """A kind of features.

    Attributes:
        extractor: its module and class.
        arrays: the names of its arrays, by which models read them.
        weights: the weights that it needs, in words; None without a network.
        has_size: whether images can be resized to a chosen size.
    """

    extractor: str
    arrays: frozenset[str]
    weights: str | None = None
    has_size: bool = True


_OF_BOXES = frozenset({"vectors", "boxes", "n_boxes"})

KINDS: dict[str, KindRow] = {
    "pixels": KindRow("clevrhope.features.plain:Pixels", frozenset({"pixels"})),
    "attributes": KindRow(
        "clevrhope.features.plain:Attributes", frozenset({"attributes", "places", "n_boxes"}), has_size=False
    ),
    "scene-boxes": KindRow("clevrhope.features.resnet101:SceneBoxes", _OF_BOXES, RESNET),
    "frcnn": KindRow("clevrhope.features.frcnn:FrcnnFeatures", _OF_BOXES, FRCNN, has_size=False),
    "resnet101": KindRow("clevrhope.features.resnet101:Resnet101", frozenset({"maps"}), RESNET),
}
"""The package's kinds of features, by name."""


def make_extractor(kind: str, options: ExtractorOptions) -> Extractor:
    """Makes the extractor of a kind.

    Raises:
        ConfigError: there is no such kind or class; options or weights do not fit it; it reads images, which
            the dataset lacks; or torch is missing.
    """
    check_options(kind, size=options.size, weights=options.weights)
    found = _find_class(kind)
    if "image" in found.reads and options.image_size is None:
        raise ConfigError("the dataset has no images; build it without --no-render")
    extractor = found(options)
    for name in ("arrays", "weights"):
        if not hasattr(extractor, name):
            raise ConfigError(f'features "{kind}": the class sets no {name} (docs/models_of_your_own.md)')
    size = extractor.size
    if size is not None and not (isinstance(size, tuple) and len(size) == 2 and all(map(_is_count, size))):
        raise ConfigError(f'features "{kind}": size is {size!r}; expected width and height, as (224, 224)')
    if not _is_count(extractor.batch_size):
        raise ConfigError(f'features "{kind}": batch_size is {extractor.batch_size!r}; expected 1 or more')
    if options.size is not None and extractor.size != options.size:
        raise ConfigError(f"features of kind {kind} take no --size")
    if options.weights is not None and extractor.weights is None:
        raise ConfigError(f"features of kind {kind} take no --weights")
    return extractor


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 1


def _class_name(kind: str) -> str:
    return KINDS[kind].extractor if kind in KINDS else kind


def _find_class(kind: str) -> type[Extractor]:
    if kind in KINDS and KINDS[kind].weights:
        check_torch()
    found = import_class(_class_name(kind), f'features "{kind}"')
    if not (isinstance(found, type) and issubclass(found, Extractor)):
        raise ConfigError(
            f'features "{kind}": {found!r} is not a subclass of clevrhope.features.extractor.Extractor '
            "(docs/models_of_your_own.md)"
        )
    return found


def check_options(kind: str, *, size: object, weights: Path | str | None) -> None:
    """Checks the options of a kind of features.

    Raises:
        ConfigError: there is no such kind or class, it does not take an option, or it needs weights that are
            missing.
    """
    if not is_class_name(_class_name(kind)):
        raise ConfigError(
            f"--kind: no kind {shown(kind)}{suggestion(kind, KINDS)}; there are: {', '.join(KINDS)}; name a "
            "class of your own as package.module:Class"
        )
    if kind not in KINDS:
        _find_class(kind)
        return
    row = KINDS[kind]
    for name, is_refused in (
        ("weights", row.weights is None and weights is not None),
        ("size", not row.has_size and size is not None),
    ):
        if is_refused:
            raise ConfigError(f"features of kind {kind} take no --{name}")
    if row.weights is not None:
        given_weights(kind, weights)


def given_weights(kind: str, weights: Path | str | None) -> Path | str:
    """The weights that were given for a kind that needs them.

    Raises:
        ConfigError: there are no weights or no such file, or random ones for a kind that does not allow them.
    """
    what, by_config = KINDS[kind].weights, kind == "frcnn"
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
        raise MissingFileError(
            f"{weights}: no such file; put {what} there (weights are never downloaded here)"
        )
    return weights
