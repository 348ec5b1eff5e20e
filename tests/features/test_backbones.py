"""ResNet-101's maps and vectors of boxes, from made weights; what is missing says what to put where."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")

from safetensors.torch import save_file

import clevrhope
from clevrhope.__main__ import run_command
from clevrhope.errors import ConfigError
from clevrhope.features.device import chosen_device
from clevrhope.features.extraction import make_features
from clevrhope.features.extractor import ExtractorOptions
from clevrhope.features.kinds import make_extractor
from clevrhope.features.store import open_store

HOP = "rubber_cylinder"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def net() -> torch.nn.Module:
    torch.manual_seed(5)
    return torchvision.models.resnet101(weights=None, zero_init_residual=True).eval()


@pytest.fixture(scope="module")
def weights(net: torch.nn.Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "resnet101.pth"
    torch.save(net.state_dict(), path)
    return path


def test_maps_are_torchvisions(folder: Path, net: torch.nn.Module, weights: Path, tmp_path: Path) -> None:
    usual: dict[str, Any] = {"kind": "resnet101", "size": (48, 32), "pools": ["test_ood"], "device": "cpu"}
    made = make_features(folder, weights=weights, **usual)
    assert made.folder.name == "resnet101-48x32"
    pool = open_store(folder, kind="resnet101").pool("test_ood")
    assert pool.arrays["maps"].shape == (len(pool.indices), 1024, 2, 3)
    assert pool.arrays["maps"].dtype == np.float16
    image = clevrhope.load(folder, HOP, "complex_ood")[0]
    from torchvision.models.feature_extraction import create_feature_extractor
    from torchvision.transforms import functional

    tensor = functional.normalize(
        functional.to_tensor(image["image"].copy()), [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    )
    with torch.no_grad():
        expected = create_feature_extractor(net, ["layer3"])(tensor[None])["layer3"][0]
    row = pool.rows(np.asarray([image["image_index"]]))[0]
    torch.testing.assert_close(
        torch.from_numpy(pool.arrays["maps"][row]).float(), expected, rtol=2e-3, atol=2e-3
    )
    # The same weights as safetensors are another file, so another store.
    save_file(net.state_dict(), tmp_path / "resnet101.safetensors")
    make_features(folder, weights=tmp_path / "resnet101.safetensors", out=tmp_path / "same", **usual)
    np.testing.assert_array_equal(
        np.load(tmp_path / "same/test_ood/maps.npy"), np.load(made.folder / "test_ood/maps.npy")
    )


def test_the_papers_size_is_the_default() -> None:
    options = ExtractorOptions(None, "random", "cpu", {}, (480, 320), 10, (48, 32))
    extractor = make_extractor("resnet101", options)
    assert extractor.size == (224, 224)
    assert extractor.rows(np.zeros((1, 224, 224, 3), np.uint8), [])["maps"].shape == (1, 1024, 14, 14)
    assert extractor.note == "random weights, not the paper's"
    assert extractor.suffix == "-random"


def test_vectors_of_true_boxes(folder: Path) -> None:
    made = make_features(folder, kind="scene-boxes", weights="random", pools=["test_ood"], device="cpu")
    assert made.note == "true boxes and random weights, not the paper's"
    assert json.loads((made.folder / "store.json").read_text())["note"] == made.note
    pool = open_store(folder, kind="scene-boxes").pool("test_ood")
    scenes = json.loads((folder / "scenes/test_ood/0000.json").read_text())["scenes"]
    for scene in scenes:
        row = pool.rows(np.asarray([scene["image_index"]]))[0]
        n = len(scene["objects"])
        vectors, boxes = pool.arrays["vectors"][row], pool.arrays["boxes"][row]
        assert pool.arrays["n_boxes"][row] == n
        assert vectors.shape == (36, 2048)
        assert vectors[:n].any(axis=1).all()
        assert not vectors[n:].any()
        assert not boxes[n:].any()
        expected = np.asarray([each["bbox"] for each in scene["objects"]]) / [480, 320, 480, 320]
        np.testing.assert_allclose(boxes[:n], expected, atol=1e-6)
        assert (boxes[:n, :2] < boxes[:n, 2:]).all()


def test_weights_that_are_missing_or_others(
    folder: Path, tmp_path: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing, text = tmp_path / "nothing.pth", tmp_path / "text.pth"
    text.write_text("weights")
    cut = tmp_path / "cut.pth"
    cut.write_bytes(weights.read_bytes()[:-1000])
    small = tmp_path / "small.safetensors"
    save_file({"conv1.weight": torch.zeros(64, 3, 7, 7)}, small)
    shaped = tmp_path / "shaped.pth"
    torch.save({**torch.load(weights, weights_only=True), "conv1.weight": torch.zeros(64, 3, 3, 3)}, shaped)
    coded = tmp_path / "coded.pth"
    torch.save({"model": np.dtype}, coded)
    for given, told in (
        ([], "--weights PATH (weights are never downloaded here), or try things out with --weights random\n"),
        (["--weights", str(nothing)], f"{nothing}: no such file; put torchvision's ResNet-101"),
        (["--weights", str(text)], f"{text}: not a torch file that holds only tensors; expected torch"),
        (["--weights", str(cut)], "(PytorchStreamReader failed reading zip archive: "),
        (["--weights", str(small)], f"{small}: no weight "),
        (["--weights", str(shaped)], "weight conv1.weight has shape (64, 3, 3, 3), not (64, 3, 7, 7)"),
        (["--weights", str(coded)], f"{coded}: not a torch file that holds only tensors"),
    ):
        assert run_command(["features", str(folder), "--kind", "resnet101", *given]) == 2
        sentence = capsys.readouterr().err
        assert told in sentence
        assert len(sentence.splitlines()) == 1
        assert not (folder / "features").exists()


@pytest.mark.parametrize("name", ["cuda:99", "cpux", "meta", "xpu"])
def test_a_device_that_is_not_there(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        chosen_device(name)
    told = re.sub(r"\([^()]*\w\)", "", str(caught.value))  # what torch says of it, whole
    assert re.fullmatch(rf'--device: no "{name}" here ?; there are: auto, cpu(, cuda:\d+)*', told)


def test_nothing_is_imported_for_weights_that_are_not_given(folder: Path) -> None:
    """torch takes seconds, and what is missing is known before."""
    code = (
        "import sys; from clevrhope.__main__ import run_command; "
        "codes = [run_command([*sys.argv[1:], '--kind', kind, *more]) for kind in ('resnet101', 'frcnn') "
        "for more in ([], ['--weights', 'nowhere'])]; sys.exit(codes != [2] * 4 or 'torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code, "features", str(folder)]
    assert subprocess.run(command, check=False).returncode == 0
