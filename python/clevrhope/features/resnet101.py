"""ResNet-101's maps after the third group of blocks: the features of Tensor-NMN."""

from collections.abc import Mapping, Sequence

import torch

from clevrhope.features.backbone import batch_size, normalised, read_resnet101, up_to_layer3
from clevrhope.features.device import chosen_device
from clevrhope.features.extractor import Array, ArraySpec, Extractor, ExtractorOptions, ImageArray, Scene
from clevrhope.features.kinds import RANDOM

SIDE = 224
"""Width and height of the input images (source: the public CLEVR models, which the paper follows)."""

STRIDE = 16
CHANNELS = 1024


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
