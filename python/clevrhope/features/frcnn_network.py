"""The Visual Genome C4 detector, built from torchvision's parts.

It has a ResNet-101 whose groups halve the map in their first convolution, region proposals on the third
group's map, and RoIPool and the fourth group, at stride 1 and dilation 2, on each proposal. Source: the
layout of the published detector that made LXMERT's features.
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
"""The largest logarithm of the factor by which a box can grow in one step."""


@dataclass(frozen=True)
class FrcnnConfig:
    """The settings of the detector's shapes and boxes; the defaults are the published ones.

    Attributes:
        blocks: residual blocks of each of the four groups.
        classes: object classes, without the background.
        hidden: channels of the convolution of the region proposals.
        class_agnostic: whether one box is regressed for all classes together.
        dilated_head: whether the fourth group works at stride 1 with dilation 2.
        pool_padding: whether the stem's max pool has a padding of 1; if not, it rounds sizes up, as in Caffe.
        anchor_sides: sides of the anchors in pixels.
        anchor_ratios: height over width of the anchors.
        n_before_nms: number of best-scored proposals that enter non-maximum suppression.
        n_proposals: number of proposals kept after it.
        proposal_nms: the overlap above which a proposal suppresses another.
        box_nms: such overlaps for boxes, tried in turn until enough boxes are left.
        boxes: boxes per image.
        shorter_side: pixels of the image's shorter side.
        longer_side: the most pixels of the longer side.
        mean: mean of the pixels: blue, green, red.
        deviation: standard deviation of the pixels, in the same order.
    """

    blocks: tuple[int, int, int, int] = (3, 4, 23, 3)
    classes: int = 1600
    hidden: int = 512
    class_agnostic: bool = False
    dilated_head: bool = True
    pool_padding: bool = True
    anchor_sides: tuple[float, ...] = (64, 128, 256, 512)
    anchor_ratios: tuple[float, ...] = (0.5, 1.0, 2.0)
    n_before_nms: int = 6000
    n_proposals: int = 300
    proposal_nms: float = 0.7
    box_nms: tuple[float, ...] = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    boxes: int = 36
    shorter_side: int = 800
    longer_side: int = 1333
    mean: tuple[float, float, float] = (102.9801, 115.9465, 122.7717)
    deviation: tuple[float, float, float] = (1.0, 1.0, 1.0)


class Frcnn(nn.Module):
    """The detector, for inference only."""

    def __init__(self, config: FrcnnConfig) -> None:
        super().__init__()
        self.config = config
        self.body = ResNet(Bottleneck, list(config.blocks))
        del self.body.fc
        padded = config.pool_padding
        self.body.maxpool = nn.MaxPool2d(3, 2, padding=1 if padded else 0, ceil_mode=not padded)
        for group in (self.body.layer2, self.body.layer3, self.body.layer4):
            group[0].conv1.stride, group[0].conv2.stride = (2, 2), (1, 1)
        if config.dilated_head:
            head = self.body.layer4
            head[0].conv1.stride = head[0].downsample[0].stride = (1, 1)
            for block in head:
                block.conv2.padding = block.conv2.dilation = (2, 2)
        channels, width = 1024, 2048
        n_anchors = len(config.anchor_sides) * len(config.anchor_ratios)
        self.rpn_conv = nn.Conv2d(channels, config.hidden, 3, padding=1)
        self.rpn_scores = nn.Conv2d(config.hidden, n_anchors, 1)
        self.rpn_moves = nn.Conv2d(config.hidden, 4 * n_anchors, 1)
        self.class_scores = nn.Linear(width, config.classes + 1)
        self.box_moves = nn.Linear(width, 4 * (1 if config.class_agnostic else config.classes))

    def map(self, images: Tensor) -> Tensor:
        """(n, 1024, H / 16, W / 16) maps of (n, 3, H, W) preprocessed images."""
        body = self.body
        x = body.maxpool(body.relu(body.bn1(body.conv1(images))))
        maps: Tensor = body.layer3(body.layer2(body.layer1(x)))
        return maps

    def detect(self, feature_map: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
        """Boxes (36, 4) in pixels and vectors (36, 2048) of one image's map (1, 1024, h, w).

        A box is the regressed box of its best class; its vector is that of its proposal. There are fewer rows
        if there are fewer proposals.
        """
        config = self.config
        proposals = self._proposals(feature_map, height, width)
        pooled = roi_pool(feature_map, [proposals], 14, 1 / STRIDE)
        vectors = self.body.layer4(pooled).mean(dim=(2, 3))  # (P, 2048)
        scores, classes = self.class_scores(vectors).softmax(dim=1)[:, :-1].max(dim=1)
        moves = self.box_moves(vectors).view(len(vectors), -1, 4)
        rows = torch.arange(len(moves), device=moves.device)
        best = moves[:, 0] if config.class_agnostic else moves[rows, classes]
        boxes = clip_boxes_to_image(moved(proposals, best / best.new_tensor((10, 10, 5, 5))), (height, width))
        for overlap in config.box_nms:
            kept = nms(boxes, scores, overlap)[: config.boxes]
            if len(kept) == config.boxes:
                break
        return boxes[kept], vectors[kept]

    def _proposals(self, feature_map: Tensor, height: int, width: int) -> Tensor:
        """(300 or fewer, 4) proposals in pixels, best first."""
        config = self.config
        hidden = F.relu(self.rpn_conv(feature_map))
        scores = self.rpn_scores(hidden)[0].permute(1, 2, 0).flatten()  # (h w anchors,)
        moves = self.rpn_moves(hidden)[0]
        moves = moves.view(-1, 4, *moves.shape[1:]).permute(2, 3, 0, 1).reshape(-1, 4)
        anchors = anchor_boxes(config, feature_map.shape[2], feature_map.shape[3]).to(feature_map)
        best = scores.topk(min(config.n_before_nms, len(scores))).indices
        boxes: Tensor = clip_boxes_to_image(moved(anchors[best], moves[best]), (height, width))
        not_empty = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
        boxes, best = boxes[not_empty], best[not_empty]
        kept: Tensor = nms(boxes, scores[best], config.proposal_nms)
        return boxes[kept[: config.n_proposals]]


def anchor_boxes(config: FrcnnConfig, rows: int, columns: int) -> Tensor:
    """(rows * columns * anchors, 4) boxes x1, y1, x2, y2 in pixels, around each cell of a map."""
    sides, ratios = torch.tensor(config.anchor_sides), torch.tensor(config.anchor_ratios)
    widths = (sides[:, None] / ratios.sqrt()).flatten()  # all ratios of a side are adjacent
    heights = (sides[:, None] * ratios.sqrt()).flatten()
    shapes = torch.stack([-widths, -heights, widths, heights], dim=1) / 2
    y, x = torch.meshgrid(torch.arange(rows) * STRIDE, torch.arange(columns) * STRIDE, indexing="ij")
    corners = torch.stack([x, y, x, y], dim=-1).reshape(-1, 1, 4)
    return (corners + shapes).reshape(-1, 4).float()


def moved(boxes: Tensor, moves: Tensor) -> Tensor:
    """(n, 4) boxes shifted by fractions of their sides and scaled by the exponential of `moves`, (n, 4)."""
    sides = boxes[:, 2:] - boxes[:, :2]
    centres = boxes[:, :2] + sides / 2 + moves[:, :2] * sides
    half = sides * moves[:, 2:].clamp(max=LARGEST_SCALE).exp() / 2
    return torch.cat([centres - half, centres + half], dim=1)


def preprocess(images: Tensor, config: FrcnnConfig) -> Tensor:
    """(n, 3, H, W) float32 from (n, 3, h, w) RGB, 0 to 255: resized, in the order BGR, mean removed."""
    height, width = images.shape[2:]
    scale = min(config.shorter_side / min(height, width), config.longer_side / max(height, width))
    size = (int(height * scale + 0.5), int(width * scale + 0.5))
    resized = F.interpolate(images.float().flip(1), size=size, mode="bilinear", align_corners=False)
    mean = resized.new_tensor(config.mean)[:, None, None]
    return (resized - mean) / resized.new_tensor(config.deviation)[:, None, None]
