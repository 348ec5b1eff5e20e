"""Folders of runs that earlier versions of the package left are refused in one sentence."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file
from short_runs import Train
from test_runs import StopsAt

from benchmarks.synthetic_batch import clevr_vocab
from clevrhope.errors import DatasetError
from clevrhope.models.names import find_model
from clevrhope.training.checkpoints import load_weights, save_weights


@pytest.fixture
def stopped(run: Train, tmp_path: Path) -> Path:
    """A run that was stopped after five updates."""
    with pytest.raises(KeyboardInterrupt):
        run(progress=StopsAt(5))
    return tmp_path / "run"


def test_a_state_with_other_weights_gets_one_sentence(stopped: Path, run: Train) -> None:
    (state,) = (stopped / "state").iterdir()
    tensors = load_file(state / "tensors.safetensors")
    tensors["model.answer.old"] = tensors.pop("model.answer.bias")
    save_file(tensors, state / "tensors.safetensors")
    said = json.loads((state / "state.json").read_text())
    said["sha256"] = sha256((state / "tensors.safetensors").read_bytes()).hexdigest()
    (state / "state.json").write_text(json.dumps(said))
    with pytest.raises(DatasetError) as caught:
        run()
    assert str(caught.value) == (
        f"{stopped}/state: of another model, or of this one in another version of clevrhope: the checkpoint "
        "has no answer.bias"
    )


PIXELS = {"features": "pixels", "image_width": 24, "image_height": 16, "halvings": 2, "channels": 4}
NMN = {"classifier_channels": 4, "classifier_hidden": 4, "generator_words": 4, "generator_hidden": 4}
EARLIER: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "film": ({"words": 4, "hidden": 4, "blocks": 1}, {"stem.0.weight": "enter.weight"}),
    "vector_nmn": ({}, {"module.layers.0.first.convolution.weight": "module.first.weight"}),
    "tensor_nmn": (NMN, {"generator.classifier.weight": "generator.output.weight"}),
}
"""Model -> settings of a small one, and a weight that had another name in an earlier version."""


@pytest.mark.parametrize("name", EARLIER)
def test_weights_of_an_earlier_version_of_a_model_get_one_sentence(name: str, tmp_path: Path) -> None:
    settings, names = EARLIER[name]
    model = find_model(name).build({**PIXELS, **settings}, clevr_vocab())
    assert isinstance(model, torch.nn.Module)
    path = tmp_path / "last.safetensors"
    save_weights(path, model, {})
    load_weights(path, model)
    save_file({names.get(key, key): each for key, each in load_file(path).items()}, path)
    with pytest.raises(DatasetError, match="in another version of clevrhope: the checkpoint has no "):
        load_weights(path, model)
