"""LXMERT's features: the 36 boxes of the published Visual Genome detector and their vectors."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor

from clevrhope.errors import ConfigError, shown
from clevrhope.features.device import chosen_device
from clevrhope.features.extractor import Array, ArraySpec, Extractor, ExtractorOptions, ImageArray, Scene
from clevrhope.features.frcnn_network import Frcnn, FrcnnConfig, preprocess
from clevrhope.features.kinds import FRCNN, given_weights
from clevrhope.features.weights import file_digest, load_into, read_weights
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
}
"""Prefix of a weight's name in the checkpoint -> its prefix in `Frcnn`."""

MAX_YAML_BYTES = 1 << 16
"""The most bytes of a config.yaml; real ones have a few thousand."""


def read_frcnn(path: Path, expected: FrcnnConfig | None = None) -> Frcnn:
    """Reads the frozen detector.

    Args:
        path: the checkpoint, or the folder with it and its config.yaml.
        expected: the settings, if they differ from the published ones.

    Raises:
        ConfigError: a file is missing, or a weight is missing or has another shape.
    """
    file = path / "pytorch_model.bin" if path.is_dir() else path
    weights = read_weights(file, what=FRCNN)
    config = read_config(file.with_name("config.yaml"), expected or FrcnnConfig())
    net = Frcnn(config)
    load_into(net, renamed_weights(weights), path=file, what=FRCNN)
    return net.eval().requires_grad_(False)


def renamed_weights(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The checkpoint's tensors under their names in `Frcnn`, without those that `Frcnn` does not have.

    In the checkpoint, a convolution contains its batch norm ("conv2.norm.weight"), but in torchvision they
    are siblings ("bn2.weight"), and a block's shortcut is called "downsample".
    """
    found = {}
    for name, value in weights.items():
        for there, here in _PREFIXES.items():
            if name.startswith(there):
                rest = name.removeprefix(there)
                if here.startswith("body."):
                    rest = rest.replace("shortcut.norm.", "downsample.1.")
                    rest = rest.replace("shortcut.", "downsample.0.")
                    for number in "123":
                        rest = rest.replace(f"conv{number}.norm.", f"bn{number}.")
                found[here + rest] = value
    return found


def read_config(path: Path, default: FrcnnConfig) -> FrcnnConfig:
    """Reads the settings that affect features from a config.yaml; upper and lower case are not distinguished.

    `model.max_pool` means that the stem pools as in Caffe, `roi_box_head.cls_agnostic_bbox_reg` that one box
    is regressed for all classes together, and `roi_box_head.res5halve` that the head halves the map: only if
    it is false, the head works at stride 1 with dilation 2, as in CLEVR-HOPE's official code.

    Raises:
        ConfigError: there is no such file, or a setting has another type.
    """
    what, remedy = "settings in YAML", "put the checkpoint's config.yaml there"
    text = read_bytes(path, what, error=ConfigError, remedy=remedy, max_bytes=MAX_YAML_BYTES)
    with reading(path, what, error=ConfigError, remedy=remedy):
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise ConfigError(
                f"{path}: has a YAML alias, by which a few lines could stand for any number; {remedy}"
            )
        raw = _lower(yaml.safe_load(text))
        if not isinstance(raw, dict):
            raise ConfigError(f"{path}: not {what}; {remedy}")
        at = partial(_at, raw, path)
        return replace(
            default,
            pool_padding=not at("model.max_pool", bool, not default.pool_padding),
            class_agnostic=at("roi_box_head.cls_agnostic_bbox_reg", bool, default.class_agnostic),
            dilated_head=not at("roi_box_head.res5halve", bool, not default.dilated_head),
            anchor_sides=_numbers(at("anchor_generator.sizes", list, None), default.anchor_sides),
            anchor_ratios=_numbers(at("anchor_generator.aspect_ratios", list, None), default.anchor_ratios),
            n_before_nms=at("rpn.pre_nms_topk_test", int, default.n_before_nms),
            n_proposals=at("rpn.post_nms_topk_test", int, default.n_proposals),
            proposal_nms=at("rpn.nms_thresh", float, default.proposal_nms),
            box_nms=_rising(
                raw.get("roi_heads", {}).get("nms_thresh_test", default.box_nms), default.box_nms
            ),
            shorter_side=at("input.min_size_test", int, default.shorter_side),
            longer_side=at("input.max_size_test", int, default.longer_side),
            mean=_numbers(at("model.pixel_mean", list, None), default.mean),
            deviation=_numbers(at("model.pixel_std", list, None), default.deviation),
        )


def _lower(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name).lower(): _lower(each) for name, each in value.items()}
    return value


def _at(raw: Mapping[str, Any], path: Path, place: str, kind: type, default: Any) -> Any:
    """A setting at the top level or below `model`; the default if it is in neither."""
    for found in (raw, raw.get("model", {})):
        for name in place.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        if found is not None:
            if type(found) is not kind:
                raise ConfigError(f"{path}: {place} is {shown(found)}; expected {kind.__name__}")
            return found
    return default


def _numbers(value: Any, default: Any) -> Any:
    """A list of numbers, possibly nested in another list; the default if there is none."""
    while isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    return tuple(map(float, value)) if value else default


def _rising(value: Any, default: tuple[float, ...]) -> tuple[float, ...]:
    """Overlap thresholds to try: the given ones, followed by larger ones, which let more boxes through."""
    given = tuple(map(float, value)) if isinstance(value, list | tuple) else (float(value),)
    return tuple(sorted({*given, *(each for each in default if each > max(given)), 1.0}))


WIDTH = 2048


class FrcnnFeatures(Extractor):
    """`vectors`, `boxes` and `n_boxes`, best box first; rows after the last box are 0.

    - `vectors`, (36, 2048) float16: the vectors of the proposals from which the boxes come.
    - `boxes`, (36, 4) float32: x1, y1, x2, y2 as fractions of the image's width and height.
    - `n_boxes`, () int64: 36, or fewer for an image with fewer proposals.
    """

    code = 2

    def __init__(self, options: ExtractorOptions, shapes: FrcnnConfig | None = None) -> None:
        path = Path(given_weights("frcnn", options.weights))
        self._device = chosen_device(options.device)
        self._net = read_frcnn(path, shapes).to(self._device)
        self.config = self._net.config
        file = path / "pytorch_model.bin" if path.is_dir() else path
        digests = [file_digest(each) for each in (file, file.with_name("config.yaml"))]
        self.weights = hashlib.sha256(" ".join(digests).encode()).hexdigest()
        self.options = {"boxes": self.config.boxes}
        self.arrays = {
            "vectors": ArraySpec("float16", (self.config.boxes, WIDTH)),
            "boxes": ArraySpec("float32", (self.config.boxes, 4)),
            "n_boxes": ArraySpec("int64", ()),
        }
        # Start with small batches: the images are seven times as large as a ResNet's.
        self.batch_size = 16 if self._device.type == "cuda" else 2

    @torch.inference_mode()
    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> Mapping[str, Array]:
        """The arrays of these images."""
        rows = self._detect(images).cpu()
        return {
            "vectors": rows[:, :, 4:-1].half().numpy(),
            "boxes": rows[:, :, :4].numpy(),
            "n_boxes": rows[:, 0, -1].long().numpy(),
        }

    def _detect(self, images: ImageArray) -> torch.Tensor:
        """(n, 36, 4 + 2048 + 1) float32 of (n, h, w, 3) images: boxes, vectors and the number of boxes."""
        raw = torch.from_numpy(images).to(self._device).permute(0, 3, 1, 2)
        prepared = preprocess(raw, self.config)
        height, width = prepared.shape[2:]
        maps = self._net.map(prepared)
        rows = torch.zeros(len(images), self.config.boxes, 4 + WIDTH + 1, device=self._device)
        scale = rows.new_tensor((width, height, width, height))
        for k in range(len(images)):
            boxes, vectors = self._net.detect(maps[k : k + 1], height, width)
            rows[k, : len(boxes), :4] = boxes / scale
            rows[k, : len(boxes), 4:-1] = vectors
            rows[k, :, -1] = len(boxes)
        return rows
