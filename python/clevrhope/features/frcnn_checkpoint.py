"""A published detector's checkpoint and config.yaml in, the network with its weights out."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from torch import Tensor

from clevrhope.errors import ConfigError, shown
from clevrhope.features.frcnn_network import Frcnn, FrcnnConfig
from clevrhope.features.kinds import FRCNN
from clevrhope.features.weights import load_into, read_weights
from clevrhope.runtime.reading import read_bytes, reading

_PREFIXES = {
    "backbone.stem.": "body.",
    "backbone.res2.": "body.layer1.",
    "backbone.res3.": "body.layer2.",
    "backbone.res4.": "body.layer3.",
    "roi_heads.res5.": "body.layer4.",
    "proposal_generator.rpn_head.conv.": "rpn_conv.",
    "proposal_generator.rpn_head.objectness_logits.": "rpn_scores.",
    "proposal_generator.rpn_head.anchor_deltas.": "rpn_moves.",
    "roi_heads.box_predictor.cls_score.": "class_scores.",
    "roi_heads.box_predictor.bbox_pred.": "box_moves.",
    "roi_heads.box_predictor.cls_embedding.": "class_embedding.",
    "roi_heads.box_predictor.fc_attr.": "attribute_hidden.",
    "roi_heads.box_predictor.attr_score.": "attribute_scores.",
}
"""What a name in the checkpoint begins with -> what it begins with here."""

MAX_YAML_BYTES = 1 << 16
"""Bytes of a config.yaml; real ones have a few thousand."""


def read_frcnn(path: Path, expected: FrcnnConfig | None = None) -> Frcnn:
    """The detector, frozen.

    Args:
        path: the checkpoint, or the folder that it and its config.yaml are in.
        expected: shapes, where they are not the published ones.

    Raises:
        ConfigError: a file that is missing, or a weight that is, or has another shape.
    """
    file = path / "pytorch_model.bin" if path.is_dir() else path
    weights = read_weights(file, what=FRCNN)
    config = read_config(file.with_name("config.yaml"), expected or FrcnnConfig())
    net = Frcnn(config)
    load_into(net, renamed(weights), path=file, what=FRCNN)
    return net.eval().requires_grad_(False)


def renamed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The checkpoint's tensors by this network's names; what it has no place for is left out.

    There a convolution holds its batch norm ("conv2.norm.weight"), here they stand side by side
    ("bn2.weight"); a block's shortcut is torchvision's "downsample".
    """
    made = {}
    for name, value in weights.items():
        for there, here in _PREFIXES.items():
            if name.startswith(there):
                rest = name.removeprefix(there)
                if here.startswith("body."):
                    rest = rest.replace("shortcut.norm.", "downsample.1.").replace(
                        "shortcut.", "downsample.0."
                    )
                    for number in "123":
                        rest = rest.replace(f"conv{number}.norm.", f"bn{number}.")
                made[here + rest] = value
    return made


def read_config(path: Path, default: FrcnnConfig) -> FrcnnConfig:
    """The settings that decide features, from a config.yaml; capitals do not matter.

    `model.max_pool` says that the stem pools as Caffe does; `roi_box_head.cls_agnostic_bbox_reg` that a box
    is regressed for all classes together; `roi_box_head.res5halve` that the head works at stride 1.

    Raises:
        ConfigError: no such file, or a setting of another type.
    """
    what, remedy = "settings in YAML", "put the checkpoint's config.yaml there"
    text = read_bytes(path, what, error=ConfigError, remedy=remedy, max_bytes=MAX_YAML_BYTES)
    with reading(path, what, error=ConfigError, remedy=remedy):
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise ConfigError(
                f"{path}: has an alias, with which a few lines could stand for any number; {remedy}"
            )
        raw = _lower(yaml.safe_load(text))
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: not {what}; {remedy}")
    with reading(path, what, error=ConfigError, remedy=remedy):
        return _config(raw, path, default)


def _config(raw: Mapping[str, Any], path: Path, default: FrcnnConfig) -> FrcnnConfig:
    anchors = _at(raw, path, "anchor_generator.sizes", list, None)
    ratios = _at(raw, path, "anchor_generator.aspect_ratios", list, None)
    overlaps = raw.get("roi_heads", {}).get("nms_thresh_test", default.overlaps)
    return replace(
        default,
        padded=not _at(raw, path, "model.max_pool", bool, not default.padded),
        agnostic=_at(raw, path, "roi_box_head.cls_agnostic_bbox_reg", bool, default.agnostic),
        halved=_at(raw, path, "roi_box_head.res5halve", bool, default.halved),
        sides=_numbers(anchors, default.sides),
        ratios=_numbers(ratios, default.ratios),
        before=_at(raw, path, "rpn.pre_nms_topk_test", int, default.before),
        after=_at(raw, path, "rpn.post_nms_topk_test", int, default.after),
        overlap=float(_at(raw, path, "rpn.nms_thresh", float, default.overlap)),
        overlaps=_rising(overlaps, default.overlaps),
        shortest=_at(raw, path, "input.min_size_test", int, default.shortest),
        longest=_at(raw, path, "input.max_size_test", int, default.longest),
        mean=_numbers(_at(raw, path, "model.pixel_mean", list, None), default.mean),
        deviation=_numbers(_at(raw, path, "model.pixel_std", list, None), default.deviation),
    )


def _lower(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name).lower(): _lower(each) for name, each in value.items()}
    return value


def _at(raw: Mapping[str, Any], path: Path, place: str, kind: type, default: Any) -> Any:
    """A setting, also where it is written below `model`; the default where it is not there."""
    for found in (raw, raw.get("model", {})):
        for name in place.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        if found is not None:
            if type(found) is not kind:
                raise ConfigError(f"{path}: {place} is {shown(found)}; expected {kind.__name__}")
            return found
    return default


def _numbers(value: Any, default: Any) -> Any:
    """A list of numbers, also one within another; the default where there is none."""
    while isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    return tuple(map(float, value)) if value else default


def _rising(value: Any, default: tuple[float, ...]) -> tuple[float, ...]:
    """Overlaps to try: those given, and then whatever lets enough boxes through."""
    given = tuple(map(float, value)) if isinstance(value, list | tuple) else (float(value),)
    return tuple(sorted({*given, *(each for each in default if each > max(given)), 1.0}))
