"""Features of a frozen ResNet-101: its maps of an image, or a vector for each object's true box."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torchvision.models import resnet101
from torchvision.ops import roi_align

from clevrhope.errors import DatasetError
from clevrhope.features.device import chosen_device
from clevrhope.features.extractor import Array, ArraySpec, Extractor, ExtractorOptions, ImageArray, Scene
from clevrhope.features.kinds import RANDOM, RESNET, given_weights
from clevrhope.features.weights import file_digest, load_into, read_weights

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_DEVIATION = (0.229, 0.224, 0.225)

RANDOM_SEED = 0

SIDE = 224
"""Width and height of the images of which maps are made, as in the public CLEVR models and the paper."""

BOXES = 36
"""Rows of boxes per image, as many as Faster R-CNN has; those after the last object are 0."""

STRIDE = 16
CHANNELS = 1024
WIDTH = 2048
BIN = 14


def read_resnet101(weights: Path | str | None, kind: str) -> tuple[nn.Module, str]:
    """The frozen network, and the SHA-256 of its weights file or "random".

    Raises:
        ConfigError: there are no weights, or they are not those of a ResNet-101.
    """
    weights = given_weights(kind, weights)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(RANDOM_SEED)
        # Residual branches start at zero: thirty random ones in a row would overflow float16.
        net = resnet101(weights=None, zero_init_residual=True)
    digest = RANDOM
    if str(weights) != RANDOM:
        path = Path(weights)
        load_into(net, read_weights(path, what=RESNET), path=path, what=RESNET)
        digest = file_digest(path)
    return net.eval().requires_grad_(False), digest


def normalised(
    images: ImageArray,
    device: torch.device,
    mean: Sequence[float] = IMAGENET_MEAN,
    deviation: Sequence[float] = IMAGENET_DEVIATION,
) -> Tensor:
    """(n, 3, height, width) float32 from (n, height, width, 3) uint8 RGB images, scaled from 0 to 1.

    Each channel is normalised by mean and deviation: ImageNet's, or those given.
    """
    pixels = torch.from_numpy(images).to(device).float() / 255
    pixels = (pixels - torch.tensor(mean, device=device)) / torch.tensor(deviation, device=device)
    return pixels.permute(0, 3, 1, 2).contiguous()


def batch_size(device: torch.device) -> int:
    """Number of images that a ResNet-101 processes at a time."""
    return 256 if device.type == "cuda" else 16


def up_to_layer3(net: nn.Module) -> nn.Sequential:
    """The network up to and including its third group of blocks (conv4): stride 16, 1024 channels."""
    names = ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3")
    return nn.Sequential(*(cast(nn.Module, getattr(net, name)) for name in names))


class Resnet101(Extractor):
    """`maps`, (1024, 14, 14) float16, of a 224 x 224 bicubic image."""

    def __init__(self, options: ExtractorOptions) -> None:
        width, height = self.size = options.size or (SIDE, SIDE)
        net, self.weights = read_resnet101(options.weights, "resnet101")
        random = self.weights == RANDOM
        self.note = "random weights, not the paper's" if random else None
        size = "" if self.size == (SIDE, SIDE) else f"-{width}x{height}"
        self.suffix = size + ("-random" if random else "")
        rows, columns = -(-height // STRIDE), -(-width // STRIDE)
        self.arrays = {"maps": ArraySpec("float16", (CHANNELS, rows, columns))}
        self._device = chosen_device(options.device)
        self._net = up_to_layer3(net).to(self._device)
        self.batch_size = batch_size(self._device)

    @torch.inference_mode()
    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> Mapping[str, Array]:
        """The maps of these images."""
        return {"maps": self._net(normalised(images, self._device)).half().cpu().numpy()}


class SceneBoxes(Extractor):
    """`vectors`, `boxes` and `n_boxes`, in the order of the scene's objects.

    These are not the paper's features: nothing is detected.

    - `vectors`, (36, 2048) float16: RoIAlign (14 x 14) on ResNet-101's third group of blocks, then its
      fourth, averaged over positions.
    - `boxes`, (36, 4) float32: x1, y1, x2, y2 as fractions of the image's width and height.
    - `n_boxes`, () int64: the number of objects.
    """

    reads = ("image", "scene")

    def __init__(self, options: ExtractorOptions) -> None:
        size = options.size or options.image_size
        assert size is not None  # `make_extractor` says that there are no images
        self.size: tuple[int, int] = size
        net, self.weights = read_resnet101(options.weights, "scene-boxes")
        random = self.weights == RANDOM
        self.note = "true boxes" + (" and random weights" if random else "") + ", not the paper's"
        self.suffix = f"-{size[0]}x{size[1]}" + ("-random" if random else "")
        self.arrays = {
            "vectors": ArraySpec("float16", (BOXES, WIDTH)),
            "boxes": ArraySpec("float32", (BOXES, 4)),
            "n_boxes": ArraySpec("int64", ()),
        }
        self._raster = np.asarray((*options.raster, *options.raster), dtype=np.float32)
        self._device = chosen_device(options.device)
        self._maps = up_to_layer3(net).to(self._device)
        self._head = net.get_submodule("layer4").to(self._device)
        self.batch_size = batch_size(self._device)

    @torch.inference_mode()
    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> Mapping[str, Array]:
        """The arrays of these images and scenes.

        Raises:
            DatasetError: there are too many objects, or one has no bbox.
        """
        found = [self._boxes(each) for each in scenes]
        boxes = np.zeros((len(scenes), BOXES, 4), dtype=np.float32)
        n_boxes = np.asarray([len(each) for each in found], dtype=np.int64)
        for k, each in enumerate(found):
            boxes[k, : len(each)] = each
        vectors = self._vectors(images, found).cpu().numpy()
        return {"vectors": vectors, "boxes": boxes, "n_boxes": n_boxes}

    def _boxes(self, scene: Scene) -> Array:
        """(objects, 4) float32 boxes as fractions of the width and height."""
        index, objects = scene["image_index"], scene["objects"]
        if len(objects) > BOXES:
            raise DatasetError(f"scene {index} has {len(objects)} objects; expected at most {BOXES}")
        for k, each in enumerate(objects):
            if "bbox" not in each:
                raise DatasetError(
                    f"scene {index}, objects[{k}]: no bbox, which CLEVR's own scenes do not have; "
                    "choose another kind of features"
                )
        return np.asarray([each["bbox"] for each in objects], dtype=np.float32).reshape(-1, 4) / self._raster

    def _vectors(self, images: ImageArray, boxes: Sequence[Array]) -> torch.Tensor:
        """(n, 36, 2048) float16 of n images and their boxes."""
        maps = self._maps(normalised(images, self._device))  # (n, 1024, height / 16, width / 16)
        scale = torch.tensor((*self.size, *self.size), dtype=torch.float32, device=self._device)
        rois = [torch.from_numpy(each).to(self._device) * scale for each in boxes]
        # An image without boxes contributes no row here.
        bins = roi_align(maps, rois, BIN, spatial_scale=1 / STRIDE, sampling_ratio=2, aligned=True)
        vectors = self._head(bins).mean(dim=(2, 3)).half()  # (boxes of all images, 2048)
        padded = torch.zeros(len(images), BOXES, WIDTH, dtype=torch.float16, device=self._device)
        for k, each in enumerate(vectors.split([len(each) for each in boxes])):
            padded[k, : len(each)] = each
        return padded
