"""Images in, the Visual Genome detector's 36 boxes and their vectors out: LXMERT's features."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from clevrhope.features.backbone import Batches
from clevrhope.features.device import chosen_device
from clevrhope.features.extractor import Asked, Sample
from clevrhope.features.frcnn_checkpoint import read_frcnn
from clevrhope.features.frcnn_network import FrcnnConfig, prepared
from clevrhope.features.kinds import given_weights
from clevrhope.features.store import Array, ArraySpec
from clevrhope.features.weights import file_digest

WIDTH = 2048
START = {"cuda": 16, "cpu": 2}
"""Images at once, to begin with: they are seven times as large as a ResNet's."""


class FrcnnFeatures:
    """`vectors`, `boxes` and `n_boxes`, best box first.

    - `vectors`, (36, 2048) float16: of the proposal that a box came from.
    - `boxes`, (36, 4) float32: x1, y1, x2, y2 over the image's width and height.
    - `n_boxes`, () int64: 36, but for an image with fewer proposals. What is behind them is 0.
    """

    reads = ("picture",)
    code = 1
    note = None
    suffix = ""

    def __init__(self, asked: Asked, shapes: FrcnnConfig | None = None) -> None:
        path = Path(given_weights("frcnn", asked.weights))
        self._device = chosen_device(asked.device)
        self._net = read_frcnn(path, shapes).to(self._device)
        self.config = self._net.config
        file = path / "pytorch_model.bin" if path.is_dir() else path
        digests = [file_digest(each) for each in (file, file.with_name("config.yaml"))]
        self.weights = hashlib.sha256(" ".join(digests).encode()).hexdigest()
        self.options: Mapping[str, int] = {"boxes": self.config.boxes}
        self.arrays = {
            "vectors": ArraySpec("float16", (self.config.boxes, WIDTH)),
            "boxes": ArraySpec("float32", (self.config.boxes, 4)),
            "n_boxes": ArraySpec("int64", ()),
        }
        self._batches = Batches(self._device, start=START.get(self._device.type, 2))

    @torch.inference_mode()
    def rows(self, samples: Sequence[Sample]) -> Mapping[str, Array]:
        """The arrays."""
        images = np.stack([each.image for each in samples if each.image is not None])
        found = self._batches(lambda first, stop: self._detected(images[first:stop]), len(images))
        # A row of boxes, vectors and the number of boxes, as one tensor: batches are joined as such.
        return {
            "vectors": found[:, :, 4:-1].half().numpy(),
            "boxes": found[:, :, :4].numpy(),
            "n_boxes": found[:, 0, -1].long().numpy(),
        }

    def _detected(self, images: Array) -> torch.Tensor:
        """(n, 36, 4 + 2048 + 1) float32 of (n, h, w, 3) images."""
        raw = torch.from_numpy(images).to(self._device).permute(0, 3, 1, 2)
        ready = prepared(raw, self.config)
        height, width = ready.shape[2:]
        maps = self._net.map(ready)
        made = torch.zeros(len(images), self.config.boxes, 4 + WIDTH + 1, device=self._device)
        scale = made.new_tensor((width, height, width, height))
        for k in range(len(images)):
            boxes, vectors = self._net.detect(maps[k : k + 1], height, width)
            made[k, : len(boxes), :4] = boxes / scale
            made[k, : len(boxes), 4:-1] = vectors
            made[k, :, -1] = len(boxes)
        return made
