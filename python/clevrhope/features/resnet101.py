"""ResNet-101's maps after the third group of blocks: the features of Tensor-NMN."""

from collections.abc import Mapping, Sequence

import torch

from clevrhope.features.backbone import AdaptiveBatches, normalised, read_resnet101, up_to_layer3
from clevrhope.features.device import chosen_device
from clevrhope.features.extractor import Extractor, ExtractorOptions, Sample
from clevrhope.features.kinds import RANDOM
from clevrhope.features.pixels import resized
from clevrhope.features.store import Array, ArraySpec

SIDE = 224
"""Width and height of the input images (source: the public CLEVR models, which the paper follows)."""

STRIDE = 16
CHANNELS = 1024


class Resnet101(Extractor):
    """`maps`, (1024, 14, 14) float16, of a 224 x 224 bicubic image."""

    reads = ("image",)

    def __init__(self, options: ExtractorOptions) -> None:
        self.size = options.size or (SIDE, SIDE)
        width, height = self.size
        net, self.weights = read_resnet101(options.weights, "resnet101")
        self.options = {"width": width, "height": height}
        random = self.weights == RANDOM
        self.note = "random weights, not the paper's" if random else None
        size = "" if self.size == (SIDE, SIDE) else f"-{width}x{height}"
        self.suffix = size + ("-random" if random else "")
        rows, columns = -(-height // STRIDE), -(-width // STRIDE)
        self.arrays = {"maps": ArraySpec("float16", (CHANNELS, rows, columns))}
        self._device = chosen_device(options.device)
        self._net = up_to_layer3(net).to(self._device)
        self._batches = AdaptiveBatches(self._device)

    @torch.inference_mode()
    def rows(self, samples: Sequence[Sample]) -> Mapping[str, Array]:
        """The maps of these samples."""
        images = [resized(each.image, self.size) for each in samples if each.image is not None]
        maps = self._batches(
            lambda first, stop: self._net(normalised(images[first:stop], self._device)).half(),
            len(images),
        )
        return {"maps": maps.numpy()}
