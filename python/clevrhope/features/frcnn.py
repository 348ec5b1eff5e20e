"""LXMERT's features: the 36 boxes of the Visual Genome detector and their vectors."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from clevrhope.features.device import chosen_device
from clevrhope.features.extractor import Array, ArraySpec, Extractor, ExtractorOptions, ImageArray, Scene
from clevrhope.features.frcnn_checkpoint import read_frcnn
from clevrhope.features.frcnn_network import FrcnnConfig, preprocess
from clevrhope.features.kinds import given_weights
from clevrhope.features.weights import file_digest

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
