"""FiLM, Vector-NMN, the object transformer and question only: each learns by heart; names; memory."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from safetensors.torch import save_file
from small_batches import PIXELS, clevr_vocab, learn_by_heart, part_of, share_right, small_batch

from clevrhope.errors import ConfigError
from clevrhope.models.batch import Batch
from clevrhope.models.names import MODELS, find_model
from clevrhope.models.protocol import Model
from clevrhope.models.vector_nmn import SteeredModule
from wording import check_refused

COMMON = {**PIXELS, "halvings": 3}
NMN = {**COMMON, "classifier_channels": 8, "classifier_hidden": 16}
TINY: dict[str, dict[str, object]] = {
    "cnn_lstm": {**COMMON, "words": 16, "hidden": 32, "projection": 16, "classifier_hidden": 64},
    "cnn_lstm_sa": {**COMMON, "words": 16, "hidden": 32, "attention": 32, "classifier_hidden": 64},
    "film": {**COMMON, "channels": 16, "blocks": 2, "words": 16, "hidden": 48, "classifier_channels": 32}
    | {"classifier_hidden": 64},
    "lxmert_s": {"hidden": 8, "heads": 2, "intermediate": 8}
    | {"language_layers": 1, "object_layers": 1, "cross_layers": 1},
    "object_transformer": {"hidden": 32, "heads": 2, "layers": 2, "dropout": 0.0},
    "question_only": {"words": 16, "hidden": 32},
    "tensor_nmn": {**NMN, "generator_words": 8, "generator_hidden": 8},
    "vector_nmn": {**COMMON, "channels": 16, "classifier_hidden": 32},
    "visualbert": {"hidden": 24, "heads": 2, "intermediate": 48, "layers": 2, "dropout": 0.0},
}


def tiny(name: str, **changes: object) -> torch.nn.Module:
    torch.manual_seed(0)
    model = find_model(name).build({**TINY[name], **changes}, clevr_vocab())
    assert isinstance(model, torch.nn.Module)
    return model


def batch_for(model: torch.nn.Module, n_scenes: int = 8, each: int = 8) -> Batch:
    return small_batch(n_scenes, each, kind=getattr(model, "feature_kind", "pixels"))


@pytest.mark.parametrize(
    ("name", "rate", "changes"),
    [
        ("cnn_lstm", 3e-3, {}),
        ("cnn_lstm_sa", 3e-3, {}),
        ("film", 3e-3, {}),
        ("vector_nmn", 3e-3, {}),
        ("object_transformer", 2e-3, {}),
        ("object_transformer", 2e-3, {"features": "attributes"}),
        ("visualbert", 2e-3, {}),
        ("visualbert", 2e-3, {"features": "attributes"}),
    ],
)
@pytest.mark.slow
def test_64_questions_are_learned_by_heart(name: str, rate: float, changes: dict[str, object]) -> None:
    model = tiny(name, **changes)
    batch = batch_for(model)
    assert len(batch) == 64
    assert learn_by_heart(model, batch, rate=rate, most=600) == 1.0


@pytest.mark.slow
def test_question_only_learns_questions_by_heart_and_sees_no_image() -> None:
    model = tiny("question_only")
    batch = batch_for(model)
    texts: dict[tuple[int, ...], int] = {}
    for row, (text, answer) in enumerate(zip(batch.questions.tolist(), batch.answers.tolist(), strict=True)):
        batch.answers[row] = texts.setdefault(tuple(text), answer)  # the same words, the same answer
    assert learn_by_heart(model, batch, rate=1e-2, most=300) == 1.0
    assert share_right(model, replace(batch, features={})) == 1.0


@pytest.mark.parametrize("name", TINY)
def test_a_model_keeps_the_protocol(name: str) -> None:
    model = tiny(name)
    assert isinstance(model, Model)
    batch = batch_for(model, 2, 3)
    model.loss(batch).backward()
    model.eval()
    with torch.no_grad():
        scores = model.predict(batch)
        assert scores.shape == (len(batch), len(clevr_vocab().answers()))
        for way in getattr(model, "ways", {}).values():
            assert getattr(model, way)(batch).shape == scores.shape
        for way in getattr(model, "program_ways", {}).values():
            assert getattr(model, way)(batch).dtype == torch.int64
    for stage in model.recipe.stages:
        assert callable(getattr(model, stage.loss))
        assert all(isinstance(getattr(model, part), torch.nn.Module) for part in stage.trains)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("cnn_lstm", {}),
        ("cnn_lstm_sa", {}),
        ("film", {}),
        ("vector_nmn", {}),
        ("visualbert", {}),
        ("object_transformer", {}),
        ("object_transformer", {"features": "attributes"}),
        ("question_only", {}),
    ],
)
@pytest.mark.slow
def test_full_size_goes_forward_and_back(name: str, changes: dict[str, object]) -> None:
    torch.manual_seed(0)
    model = find_model(name).build(changes, clevr_vocab())
    assert isinstance(model, torch.nn.Module)
    batch = batch_for(model, 2, 1)
    model.loss(batch).backward()
    without = [name for name, each in model.named_parameters() if each.grad is None]
    assert not without
    assert all(bool(each.grad.isfinite().all()) for each in model.parameters())


def test_a_module_of_vector_nmn_is_the_published_one() -> None:
    """Two layers of two convolutions; before each, channels are scaled by 1 + 2 tanh and shifted."""
    torch.manual_seed(0)
    module = SteeredModule(3, 2).double()
    images, conditions = torch.randn(2, 3, 4, 5).double(), torch.randn(2, 9).double()
    for image, condition, made in zip(images, conditions, module(images, conditions), strict=True):
        x = image
        for layer in module.layers:
            hidden = (steered(layer.first, x, condition)).clamp(min=0)
            x = (x + steered(layer.second, hidden, condition)).clamp(min=0)
        expected = torch.stack([channel.max() for channel in x])
        torch.testing.assert_close(made, expected, rtol=0, atol=1e-12)


def steered(part: torch.nn.Module, x: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
    """The convolution of (C, H, W) maps as sums over shifted maps, with zeros around them."""
    first, _, last = part.steer
    units = (first.weight @ condition + first.bias).clamp(min=0)
    values = last.weight @ units + last.bias
    gains, shifts = 1 + 2 * torch.tanh(values[:3]), values[3:]
    x = torch.stack([gain * each + shift for gain, each, shift in zip(gains, x, shifts, strict=True)])
    padded = torch.nn.functional.pad(x, (1, 1, 1, 1))
    weights, height, width = part.convolution.weight, x.shape[1], x.shape[2]
    return part.convolution.bias[:, None, None] + sum(
        torch.einsum("oc,chw->ohw", weights[:, :, down, across],
                     padded[:, down : down + height, across : across + width])
        for down in range(3) for across in range(3)
    )  # fmt: skip


def test_models_on_resnet101_begin_with_the_published_layers() -> None:
    def convolutions(part: torch.nn.Module) -> list[tuple[int, ...]]:
        return [tuple(each.weight.shape) for each in part.modules() if isinstance(each, torch.nn.Conv2d)]

    film = find_model("film").build({"hidden": 8}, clevr_vocab())
    assert convolutions(film.stem) == [(128, 1024 + 2, 3, 3)]
    norms = [each.num_features for each in film.modules() if "BatchNorm" in type(each).__name__]
    assert norms == [128, 128, 128, 128, 128, 512, 1024], "stem, four blocks, two in the classifier"


def test_film_learns_from_several_questions_at_once() -> None:
    model = tiny("film")
    alone = part_of(batch_for(model, 2, 3), slice(1))
    check_refused(ConfigError, model.loss, alone)
    model.eval()
    assert model.predict(alone).shape == (1, len(clevr_vocab().answers()))


@pytest.mark.parametrize("name", ["film", "vector_nmn", "tensor_nmn"])
def test_maps_of_another_size_get_one_sentence(name: str) -> None:
    model = tiny(name, features="resnet101")
    batch = batch_for(model, 2, 2)
    model.loss(batch)
    maps = batch.features["maps"][:, :, :12]
    check_refused(ConfigError, model.loss, replace(batch, features={"maps": maps}))


def test_every_model_but_the_pretrained_one_is_tried_here() -> None:
    assert set(MODELS) - set(TINY) == {"lxmert_p"}


@pytest.mark.parametrize(
    ("name", "config"),
    [
        *((name, {"wdith": 3}) for name in TINY),
        ("lxmert_s", {"hidden": 25, "heads": 2}),
        ("object_transformer", {"dropout": 1.0}),
        ("tensor_nmn", {"channels": 0}),
        ("tensor_nmn", {"form": "fast"}),
        ("tensor_nmn", {"features": "pixels", "image_width": 20}),
        ("tensor_nmn", {"longest_program": 1}),
        ("visualbert", {"length": 3}),
    ],
)
def test_a_wrong_setting_gets_one_sentence(name: str, config: dict[str, object]) -> None:
    check_refused(ConfigError, find_model(name).build, config, clevr_vocab())


LOADING = """
import sys
import torch
from safetensors.torch import load_file, save_file
sys.path[:0] = sys.argv[1], f"{sys.argv[1]}/.."
from test_other_models import TINY, batch_for, tiny
scores = {}
for name in TINY:
    torch.manual_seed(17)
    model = tiny(name)
    with torch.no_grad():
        for each in model.parameters():
            each.add_(1.0)  # nothing may be left of what it was built with
    model.load_state_dict(load_file(f"{sys.argv[2]}/{name}.safetensors"))
    model.eval()
    with torch.no_grad():
        scores[name] = model.predict(batch_for(model, 2, 3))
save_file(scores, f"{sys.argv[2]}/scores.safetensors")
"""


@pytest.mark.slow
def test_weights_give_the_same_scores_in_another_process(tmp_path: Path) -> None:
    expected = {}
    for name in TINY:
        model = tiny(name)
        model.loss(batch_for(model, 2, 3))  # moves what batch norm keeps
        save_file(model.state_dict(), tmp_path / f"{name}.safetensors")
        model.eval()
        with torch.no_grad():
            expected[name] = model.predict(batch_for(model, 2, 3))
    here = str(Path(__file__).parent)
    subprocess.run([sys.executable, "-c", LOADING, here, str(tmp_path)], check=True)
    loaded = __import__("safetensors.torch").torch.load_file(tmp_path / "scores.safetensors")
    for name, scores in expected.items():
        # Another process may lay out memory otherwise, and so sum in another order.
        torch.testing.assert_close(loaded[name], scores, equal_nan=True, msg=name)
