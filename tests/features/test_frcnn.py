"""The detector from a made checkpoint of the published layout: every name finds its place, boxes are boxes.

Real weights are not at hand, so that nothing is said on whether its features agree with published ones.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")

import yaml
from building import Cli

from clevrhope.errors import ConfigError
from clevrhope.features.extractor import ExtractorOptions, ImageArray
from clevrhope.features.frcnn import FrcnnFeatures, read_config, read_frcnn
from clevrhope.features.frcnn_network import Frcnn, FrcnnConfig, anchor_boxes, moved, preprocess
from wording import check_refused

SMALL = FrcnnConfig(blocks=(1, 1, 1, 1), classes=5, hidden=8)
CONFIG = Path(__file__).with_name("detector.yaml").read_bytes()


def published_shapes(shape: FrcnnConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the published checkpoint, spelt out."""

    def norm(name: str, n: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        for part in ("weight", "bias", "running_mean", "running_var"):
            yield f"{name}.norm.{part}", (n,)
        yield f"{name}.norm.num_batches_tracked", ()

    yield "backbone.stem.conv1.weight", (64, 3, 7, 7)
    yield from norm("backbone.stem.conv1", 64)
    before = 64
    groups = ("backbone.res2", "backbone.res3", "backbone.res4", "roi_heads.res5")
    for group, inner, n in zip(groups, (64, 128, 256, 512), shape.blocks, strict=True):
        for k in range(n):
            name = f"{group}.{k}"
            if k == 0:
                yield f"{name}.shortcut.weight", (4 * inner, before, 1, 1)
                yield from norm(f"{name}.shortcut", 4 * inner)
            for conv, (o, i, side) in enumerate(
                ((inner, before, 1), (inner, inner, 3), (4 * inner, inner, 1)), 1
            ):
                yield f"{name}.conv{conv}.weight", (o, i, side, side)
                yield from norm(f"{name}.conv{conv}", o)
            before = 4 * inner
    rpn, head = "proposal_generator.rpn_head", "roi_heads.box_predictor"
    layers = {
        f"{rpn}.conv": (shape.hidden, 1024, 3, 3),
        f"{rpn}.objectness_logits": (12, shape.hidden, 1, 1),
        f"{rpn}.anchor_deltas": (48, shape.hidden, 1, 1),
        f"{head}.cls_score": (shape.classes + 1, 2048),
        f"{head}.bbox_pred": (4 * shape.classes, 2048),
        f"{head}.fc_attr": (512, 2048 + 256),
        f"{head}.attr_score": (401, 512),
    }
    for name, size in layers.items():
        yield f"{name}.weight", size
        yield f"{name}.bias", size[:1]
    yield f"{head}.cls_embedding.weight", (shape.classes + 1, 256)
    yield "proposal_generator.anchor_generator.cell_anchors.0", (12, 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("detector")
    generator = torch.Generator().manual_seed(3)
    made = {}
    for name, shape in published_shapes(SMALL):
        scale = 0.02 if len(shape) > 1 else 0.1
        made[name] = torch.randn(shape, generator=generator) * scale
        if name.endswith(("running_var", "norm.weight")):
            made[name] = made[name].abs() + 0.5
        if name.endswith("num_batches_tracked"):
            made[name] = torch.zeros((), dtype=torch.long)
    torch.save(made, path / "pytorch_model.bin")
    (path / "config.yaml").write_bytes(CONFIG)
    return path


def options(folder: Path | str | None) -> ExtractorOptions:
    return ExtractorOptions(None, folder, "cpu", {}, (480, 320), 10, (48, 32))


def images(n: int) -> ImageArray:
    return np.random.default_rng(1).integers(0, 256, (n, 32, 48, 3), dtype=np.uint8)


def test_the_published_layout_has_the_papers_parameters() -> None:
    with torch.device("meta"):
        net = Frcnn(FrcnnConfig())
    # All but the layers of attributes: an embedding of classes, a hidden layer and the scores.
    unused = 1601 * 256 + 512 * (2048 + 256 + 1) + 401 * (512 + 1)
    assert sum(each.numel() for each in net.parameters()) == 65_439_822 - unused
    counted = ("running_mean", "running_var", "num_batches_tracked", "cell_anchors.0")
    shapes = dict(published_shapes(FrcnnConfig()))
    total = sum(int(np.prod(shape)) for name, shape in shapes.items() if not name.endswith(counted))
    assert total == 65_439_822


def test_each_weight_of_the_checkpoint_finds_its_place(folder: Path) -> None:
    net = read_frcnn(folder, SMALL)
    saved = torch.load(folder / "pytorch_model.bin", weights_only=True)
    found = net.state_dict()
    for there, here in {
        "backbone.stem.conv1.norm.running_var": "body.bn1.running_var",
        "backbone.res3.0.shortcut.weight": "body.layer2.0.downsample.0.weight",
        "backbone.res4.0.shortcut.norm.bias": "body.layer3.0.downsample.1.bias",
        "backbone.res2.0.conv3.norm.weight": "body.layer1.0.bn3.weight",
        "roi_heads.res5.0.conv2.weight": "body.layer4.0.conv2.weight",
        "proposal_generator.rpn_head.anchor_deltas.bias": "rpn_moves.bias",
    }.items():
        assert torch.equal(saved[there], found[here])
    unused = ("cell_anchors", "cls_embedding", "fc_attr", "attr_score")  # the detector's attributes
    used = {value.sum().item() for name, value in saved.items() if not any(each in name for each in unused)}
    assert used == {value.sum().item() for value in found.values()}, "nothing is left at random"
    block = net.body.layer2[0]
    assert (block.conv1.stride, block.conv2.stride) == ((2, 2), (1, 1))
    head = net.body.layer4[0]
    assert (head.conv1.stride, head.downsample[0].stride, head.conv2.dilation) == ((1, 1), (1, 1), (2, 2))


@pytest.mark.slow
def test_boxes_and_vectors(folder: Path) -> None:
    features = FrcnnFeatures(options(folder), SMALL)
    some = images(3)
    rows = features.rows(some, [])
    assert {name: (each.dtype.name, each.shape) for name, each in rows.items()} == {
        "vectors": ("float16", (3, 36, 2048)),
        "boxes": ("float32", (3, 36, 4)),
        "n_boxes": ("int64", (3,)),
    }
    for boxes, vectors, n in zip(rows["boxes"], rows["vectors"], rows["n_boxes"], strict=True):
        assert 1 <= n <= 36
        assert (boxes[:n] >= 0).all()
        assert (boxes[:n] <= 1).all()
        assert (boxes[:n, :2] <= boxes[:n, 2:]).all()
        assert vectors[:n].any(axis=1).all()
        assert not boxes[n:].any()
        assert not vectors[n:].any()
    assert (rows["n_boxes"] == 36).any(), "overlaps are let through until there are 36"
    alone = features.rows(some[1:2], [])
    np.testing.assert_allclose(alone["boxes"][0], rows["boxes"][1], atol=1e-5)


@pytest.mark.slow
def test_vectors_are_those_of_proposals_and_boxes_the_best_classes(folder: Path) -> None:
    net = read_frcnn(folder, SMALL)
    image = torch.from_numpy(images(1)).permute(0, 3, 1, 2)
    ready = preprocess(image, net.config)
    with torch.no_grad():
        mapped = net.map(ready)
        height, width = ready.shape[2:]
        boxes, vectors = net.detect(mapped, height, width)
        # A head that never moves a box and sees class 2 in all of them gives the proposals themselves.
        net.box_moves.weight.zero_()
        net.box_moves.bias.zero_()
        still, same = net.detect(mapped, height, width)
        net.box_moves.bias[8:12] = torch.tensor([0.0, 0.0, 0.0, 5 * float(np.log(0.5))])
        net.class_scores.bias[2] = 1e4
        halved, _ = net.detect(mapped, height, width)
    proposals = net._proposals(mapped, height, width)
    assert len(boxes) == len(vectors)
    apart = [(some[:, None] - proposals).abs().amax(dim=2).amin(dim=1) for some in (still, boxes)]
    assert (apart[0] < 1e-3).all()
    assert (apart[1] > 1e-2).any()
    with torch.no_grad():
        pooled = torchvision.ops.roi_pool(mapped, [still], 14, 1 / 16)
        expected = net.body.layer4(pooled).mean(dim=(2, 3))
    torch.testing.assert_close(same, expected, rtol=1e-3, atol=1e-3)
    # Halved about their middle: none is more than half as high as the highest proposal.
    assert (halved[:, 3] - halved[:, 1]).max() <= (proposals[:, 3] - proposals[:, 1]).max() / 2 + 1e-3


def test_anchors_and_moves_by_hand() -> None:
    config = FrcnnConfig(anchor_sides=(64.0, 128.0), anchor_ratios=(0.5, 1.0, 2.0))
    anchors = anchor_boxes(config, 2, 3)
    assert anchors.shape == (2 * 3 * 6, 4)
    assert anchors[1].tolist() == [-32, -32, 32, 32]
    assert anchors[6 * 4 + 1].tolist() == [16 - 32, 16 - 32, 16 + 32, 16 + 32], "row 1, column 1"
    wide, tall = anchors[0], anchors[2]
    assert (wide[2] - wide[0]).item() == pytest.approx(64 * 2**0.5)
    assert (tall[3] - tall[1]).item() == pytest.approx(64 * 2**0.5)
    box = torch.tensor([[10.0, 20.0, 30.0, 60.0]])
    shifted = moved(box, torch.tensor([[0.5, -0.25, 0.0, float(np.log(2))]]))
    assert shifted[0].tolist() == pytest.approx([20, -10, 40, 70])
    assert moved(box, torch.tensor([[0.0, 0.0, 99.0, 0.0]]))[0, 2].item() == pytest.approx(20 + 10 * 62.5)


def test_the_config_decides_pooling_and_boxes(folder: Path, tmp_path: Path) -> None:
    made = read_config(folder / "config.yaml", FrcnnConfig())
    assert (made.pool_padding, made.class_agnostic, made.dilated_head, made.shorter_side) == (
        False,
        False,
        True,
        96,
    )
    assert made.anchor_sides == (16, 32, 64, 96)
    assert made.box_nms == (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"MODEL": {"ROI_BOX_HEAD": {"RES5HALVE": True}}}))
    head = Frcnn(read_config(path, FrcnnConfig(blocks=(1, 1, 1, 2)))).body.layer4
    assert head[0].conv1.stride == head[0].downsample[0].stride == (2, 2)
    assert head[1].conv2.dilation == (1, 1)
    path.write_text(
        yaml.safe_dump({"model": {"max_pool": False, "roi_box_head": {"cls_agnostic_bbox_reg": True}}})
    )
    other = read_config(path, FrcnnConfig())
    assert (other.pool_padding, other.class_agnostic, other.anchor_sides) == (True, True, (64, 128, 256, 512))
    image = torch.zeros(1, 3, 65, 65)
    sides = [
        Frcnn(FrcnnConfig(blocks=(1, 1, 1, 1), pool_padding=padded)).body.maxpool(image).shape[2]
        for padded in (1, 0)
    ]
    assert sides == [33, 32]
    path.write_text("model: {max_pool: yes please}")
    check_refused(ConfigError, read_config, path, FrcnnConfig())


def test_what_is_missing_is_told(folder: Path, tmp_path: Path, cli: Cli, pristine: Path) -> None:
    for weights in (None, "random", tmp_path / "none"):
        check_refused(ConfigError, FrcnnFeatures, options(weights), SMALL)
    refusal = cli("features", pristine, "--kind", "frcnn", "--weights", folder, code=2).err
    assert "weight body.layer1.1.conv1.weight" in refusal
    saved = torch.load(folder / "pytorch_model.bin", weights_only=True)
    torch.save(saved, tmp_path / "pytorch_model.bin")
    check_refused(ConfigError, read_frcnn, tmp_path, SMALL)
    saved["roi_heads.box_predictor.bbox_pred.weight"] = torch.zeros(4, 2048)
    torch.save(saved, tmp_path / "pytorch_model.bin")
    (tmp_path / "config.yaml").write_bytes(CONFIG)
    check_refused(ConfigError, read_frcnn, tmp_path, SMALL)
