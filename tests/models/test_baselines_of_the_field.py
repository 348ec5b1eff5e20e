"""CNN+LSTM, CNN+LSTM+SA and VisualBERT: sizes by hand, published weights from a file, what they look at."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import save_file
from small_batches import clevr_vocab, part_of, small_batch
from torch import nn

from clevrhope.errors import ConfigError
from clevrhope.models.names import find_model
from wording import check_refused

SMALL = {"hidden": 24, "heads": 3, "intermediate": 48, "layers": 1, "dropout": 0.0}
N_WORDS, N_ANSWERS = 95, 32


def built(name: str, config: dict[str, Any], *, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return find_model(name).build(config, clevr_vocab())


def n_weights(model: nn.Module) -> int:
    return sum(each.numel() for each in model.parameters())


def linear(n_in: int, n_out: int) -> int:
    return n_in * n_out + n_out


LSTM = N_WORDS * 300 + 4 * 256 * (300 + 256 + 2) + 4 * 256 * (256 + 256 + 2)
JOINED = linear(1024, 512) + linear(512 * 7 * 7 + 256, 1024) + linear(1024, N_ANSWERS)
LOOKING = linear(1024, 256) + 2 * (2 * linear(256, 512) + linear(512, 1))


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("cnn_lstm", LSTM + JOINED),
        ("cnn_lstm_sa", LSTM + LOOKING + linear(256, 1024) + linear(1024, N_ANSWERS)),
    ],
)
def test_on_resnet101_the_sizes_are_those_of_the_public_code(name: str, n: int) -> None:
    vocab = clevr_vocab()
    assert (len(vocab.questions()), len(vocab.answers())) == (N_WORDS, N_ANSWERS)
    assert n_weights(built(name, {})) == n


@pytest.mark.slow
def test_visualbert_has_the_published_size() -> None:
    # BERT base with types of words and places of boxes, and a projection of vectors of 2,048 numbers.
    bert = 30_522 * 768 + 512 * 768 + 2 * 768 + 2 * 768 + 12 * 7_087_872
    of_boxes = 2 * 768 + 512 * 768 + linear(2048, 768)
    assert n_weights(built("visualbert", {})) == bert + of_boxes + linear(768, N_ANSWERS)


def test_stacked_attention_looks_at_the_cells_that_it_weighs() -> None:
    model = built("cnn_lstm_sa", {"features": "pixels", "image_width": 48, "image_height": 32, "halvings": 2})
    look = model.looks[0]
    cells, question = torch.randn(2, 6, 256), torch.randn(2, 256)
    scores = look.weight(torch.tanh(look.of_cells(cells) + look.of_question(question)[:, None]))[..., 0]
    expected = question + torch.einsum("bn,bnd->bd", scores.softmax(1), cells)
    torch.testing.assert_close(look(cells, question), expected)


def test_visualbert_begins_with_published_weights(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    published = built("visualbert", SMALL, seed=1)
    body = {f"visual_bert.{name}": value for name, value in published.visual_bert.state_dict().items()}
    save_file({**body, "cls.predictions.bias": torch.zeros(3)}, path)
    model = built("visualbert", {**SMALL, "weights": str(path)}, seed=2)
    head = model.classifier.weight.clone()
    model.begin()
    for name, value in model.visual_bert.state_dict().items():
        assert torch.equal(value, body[f"visual_bert.{name}"])
    assert torch.equal(model.classifier.weight, head)


def test_a_file_without_a_weight_or_no_file_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    model = built("visualbert", {**SMALL, "weights": str(path)})
    check_refused(ConfigError, model.check_begin)
    save_file({"visual_bert.embeddings.word_embeddings.weight": torch.zeros(30_522, 24)}, path)
    model.check_begin()
    check_refused(ConfigError, model.begin)


def test_visualbert_reads_neither_padding_nor_places_of_boxes() -> None:
    model = built("visualbert", SMALL).eval()
    batch = part_of(small_batch(4, 4, kind="frcnn"), slice(8))
    few = replace(batch, features={**batch.features, "n_boxes": torch.full((8,), 5)})
    vectors = few.features["vectors"].clone()
    vectors[:, 5:] += 1
    moved = {**few.features, "vectors": vectors, "boxes": few.features["boxes"] / 2}
    torch.testing.assert_close(model.predict(replace(few, features=moved)), model.predict(few))
    vectors[:, :5] += 1
    assert not torch.allclose(model.predict(replace(few, features=moved)), model.predict(few))
