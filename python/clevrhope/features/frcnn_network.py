"""The Visual Genome C4 detector from torchvision's parts: an image in, boxes with their vectors out.

A ResNet-101 whose blocks halve the map in their first convolution; region proposals on its third group's map;
RoIPool and the fourth group, at stride 1 and dilation 2, on each proposal. Source: the published detector's
layout, which LXMERT's features come from.
"""

from dataclasses import dataclass
from math import log

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torchvision.models.resnet import Bottleneck, ResNet
from torchvision.ops import clip_boxes_to_image, nms, roi_pool

STRIDE = 16
LARGEST_SCALE = log(1000 / 16)
"""A box grows by no more in one step."""


@dataclass(frozen=True)
class FrcnnConfig:
    """What decides the detector's shapes and its boxes; the defaults are the published one's.

    Attributes:
        blocks: of each of the four groups.
        classes: of things, without the background.
        attributes: of attributes, without none.
        hidden: channels of the region proposals' convolution.
        class_size: numbers of a class's embedding.
        attribute_hidden: numbers before the attributes' scores.
        agnostic: whether one box is regressed for all classes together.
        halved: whether the fourth group works at stride 1 with dilation 2.
        padded: padding of 1 in the stem's max pool; else none, and sides rounded up, as Caffe does.
        sides: of anchors, in pixels.
        ratios: of anchors, height over width.
        before: proposals before suppression, by score.
        after: and after it.
        overlap: from which a proposal suppresses another.
        overlaps: the same of boxes, tried in turn until there are enough.
        boxes: that are given.
        shortest: pixels of the image's shorter side.
        longest: at most, of the longer one.
        mean: of pixels, blue, green, red.
        deviation: of pixels.
    """

    blocks: tuple[int, int, int, int] = (3, 4, 23, 3)
    classes: int = 1600
    attributes: int = 400
    hidden: int = 512
    class_size: int = 256
    attribute_hidden: int = 512
    agnostic: bool = False
    halved: bool = True
    padded: bool = True
    sides: tuple[float, ...] = (64, 128, 256, 512)
    ratios: tuple[float, ...] = (0.5, 1.0, 2.0)
    before: int = 6000
    after: int = 300
    overlap: float = 0.7
    overlaps: tuple[float, ...] = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    boxes: int = 36
    shortest: int = 800
    longest: int = 1333
    mean: tuple[float, float, float] = (102.9801, 115.9465, 122.7717)
    deviation: tuple[float, float, float] = (1.0, 1.0, 1.0)


class Frcnn(nn.Module):
    """The detector, for inference alone."""

    def __init__(self, config: FrcnnConfig) -> None:
        super().__init__()
        self.config = config
        self.body = ResNet(Bottleneck, list(config.blocks))
        del self.body.fc
        self.body.maxpool = nn.MaxPool2d(3, 2, padding=1 if config.padded else 0, ceil_mode=not config.padded)
        for group in (self.body.layer2, self.body.layer3, self.body.layer4):
            group[0].conv1.stride, group[0].conv2.stride = (2, 2), (1, 1)
        if config.halved:
            head = self.body.layer4
            head[0].conv1.stride = head[0].downsample[0].stride = (1, 1)
            for block in head:
                block.conv2.padding = block.conv2.dilation = (2, 2)
        channels, width = 1024, 2048
        n_anchors = len(config.sides) * len(config.ratios)
        self.rpn_conv = nn.Conv2d(channels, config.hidden, 3, padding=1)
        self.rpn_scores = nn.Conv2d(config.hidden, n_anchors, 1)
        self.rpn_moves = nn.Conv2d(config.hidden, 4 * n_anchors, 1)
        self.class_scores = nn.Linear(width, config.classes + 1)
        self.box_moves = nn.Linear(width, 4 * (1 if config.agnostic else config.classes))
        # Attributes are not asked for here; the checkpoint has them, and its shapes are checked.
        self.class_embedding = nn.Embedding(config.classes + 1, config.class_size)
        self.attribute_hidden = nn.Linear(width + config.class_size, config.attribute_hidden)
        self.attribute_scores = nn.Linear(config.attribute_hidden, config.attributes + 1)

    def map(self, images: Tensor) -> Tensor:
        """(n, 1024, H / 16, W / 16) of (n, 3, H, W) prepared images."""
        body = self.body
        x = body.maxpool(body.relu(body.bn1(body.conv1(images))))
        mapped: Tensor = body.layer3(body.layer2(body.layer1(x)))
        return mapped

    def detect(self, mapped: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
        """Boxes (36, 4) in pixels and vectors (36, 2048) of one image's map (1, 1024, h, w).

        A box is the best class's, regressed; its vector is that of the proposal that it came from. Fewer rows
        where there are fewer proposals.
        """
        config = self.config
        proposals = self._proposals(mapped, height, width)
        pooled = roi_pool(mapped, [proposals], 14, 1 / STRIDE)
        vectors = self.body.layer4(pooled).mean(dim=(2, 3))  # (P, 2048)
        scores, kinds = self.class_scores(vectors).softmax(dim=1)[:, :-1].max(dim=1)
        moves = self.box_moves(vectors).view(len(vectors), -1, 4)
        chosen = (
            moves[:, 0] if config.agnostic else moves[torch.arange(len(moves), device=moves.device), kinds]
        )
        boxes = clip_boxes_to_image(
            moved(proposals, chosen / chosen.new_tensor((10, 10, 5, 5))), (height, width)
        )
        kept = nms(boxes, scores, config.overlaps[0])[: config.boxes]
        for overlap in config.overlaps[1:]:
            if len(kept) == config.boxes:
                break
            kept = nms(boxes, scores, overlap)[: config.boxes]
        return boxes[kept], vectors[kept]

    def _proposals(self, mapped: Tensor, height: int, width: int) -> Tensor:
        """(300 or fewer, 4) boxes in pixels, best first."""
        config = self.config
        hidden = F.relu(self.rpn_conv(mapped))
        scores = self.rpn_scores(hidden)[0].permute(1, 2, 0).flatten()  # (h w anchors,)
        moves = self.rpn_moves(hidden)[0]
        moves = moves.view(-1, 4, *moves.shape[1:]).permute(2, 3, 0, 1).reshape(-1, 4)
        anchors = anchor_boxes(config, mapped.shape[2], mapped.shape[3]).to(mapped)
        best = scores.topk(min(config.before, len(scores))).indices
        boxes: Tensor = clip_boxes_to_image(moved(anchors[best], moves[best]), (height, width))
        there = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
        boxes, best = boxes[there], best[there]
        kept: Tensor = nms(boxes, scores[best], config.overlap)
        return boxes[kept[: config.after]]


def anchor_boxes(config: FrcnnConfig, rows: int, columns: int) -> Tensor:
    """(rows columns anchors, 4) x1, y1, x2, y2 in pixels, around every place of a map, side by side."""
    sides, ratios = torch.tensor(config.sides), torch.tensor(config.ratios)
    widths = (sides[:, None] / ratios.sqrt()).flatten()  # a side's ratios next to each other
    heights = (sides[:, None] * ratios.sqrt()).flatten()
    shapes = torch.stack([-widths, -heights, widths, heights], dim=1) / 2
    y, x = torch.meshgrid(torch.arange(rows) * STRIDE, torch.arange(columns) * STRIDE, indexing="ij")
    places = torch.stack([x, y, x, y], dim=-1).reshape(-1, 1, 4)
    return (places + shapes).reshape(-1, 4).float()


def moved(boxes: Tensor, moves: Tensor) -> Tensor:
    """(n, 4) boxes shifted by parts of their sides and scaled by exponents."""
    sides = boxes[:, 2:] - boxes[:, :2]
    centres = boxes[:, :2] + sides / 2 + moves[:, :2] * sides
    half = sides * moves[:, 2:].clamp(max=LARGEST_SCALE).exp() / 2
    return torch.cat([centres - half, centres + half], dim=1)


def prepared(images: Tensor, config: FrcnnConfig) -> Tensor:
    """(n, 3, H, W) float32 of (n, 3, h, w) RGB from 0 to 255: resized, blue first, minus the mean."""
    height, width = images.shape[2:]
    scale = config.shortest / min(height, width)
    scale = min(scale, config.longest / max(height, width))
    size = (int(height * scale + 0.5), int(width * scale + 0.5))
    resized = F.interpolate(images.float().flip(1), size=size, mode="bilinear", align_corners=False)
    mean = resized.new_tensor(config.mean)[:, None, None]
    return (resized - mean) / resized.new_tensor(config.deviation)[:, None, None]
