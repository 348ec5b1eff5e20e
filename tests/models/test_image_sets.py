"""Models that read sets of images: the states of single images as before, joined by layers of their own."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import save_file
from small_batches import LXMERT, clevr_vocab, learn_by_heart, noise, part_of, small_batch
from torch import Tensor, nn

from clevrhope.dataset.vocab import SPECIAL_TOKENS
from clevrhope.errors import ConfigError
from clevrhope.models.base import ImageSetModel
from clevrhope.models.batch import ABSENT, Batch
from clevrhope.models.lxmert.model import N_PUBLISHED, LxmertPretrained
from clevrhope.models.names import MODELS, SET_MODELS, build_model
from wording import check_refused

TRANSFORMER = {"features": "attributes", "hidden": 32, "heads": 4, "layers": 2}
VISUALBERT = {"hidden": 24, "heads": 3, "intermediate": 48, "layers": 1}
KINDS = [
    ("object_transformer", TRANSFORMER, "attributes"),
    ("lxmert_s", LXMERT, "frcnn"),
    ("visualbert", VISUALBERT, "frcnn"),
]
N_SPECIAL = len(SPECIAL_TOKENS)
N_SHARED = 12
"""Images that the questions of a batch have among them."""


def made(name: str, config: dict[str, Any], *, sets: bool = True, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return build_model(name, config, clevr_vocab(), sets=sets)


def sets_of(kind: str, n: int = 16, *, lengths: tuple[int, ...] = (5, 3, 1, 4, 2)) -> Batch:
    """Questions about random sets of a few images."""
    batch = part_of(small_batch(8, 8, kind=kind), slice(n))
    rng = torch.Generator().manual_seed(4)
    images = torch.stack([torch.randperm(N_SHARED, generator=rng)[:5] for _ in range(n)])
    n_images = torch.tensor([lengths[k % len(lengths)] for k in range(n)])
    images[torch.arange(5) >= n_images.unsqueeze(1)] = ABSENT
    return replace(batch, features=noise(N_SHARED, kind, 32, 48, seed=9), images=images)


def scores(model: nn.Module, batch: Batch) -> Tensor:
    model.eval()
    with torch.no_grad():
        found: Tensor = model.predict(batch)
    return found


def with_images(batch: Batch, images: Tensor) -> Batch:
    return replace(batch, images=images)


@pytest.mark.parametrize(("name", "config", "kind"), KINDS)
def test_shapes_and_gradients(name: str, config: dict[str, Any], kind: str) -> None:
    model, batch = made(name, config), sets_of(kind)
    assert model.predict(batch).shape == (16, len(clevr_vocab().answers()))
    loss = model.loss(batch)
    loss.backward()
    assert loss.isfinite()
    without = [
        each for each, weight in model.named_parameters() if weight.requires_grad and weight.grad is None
    ]
    assert without == []
    assert all(each.grad.isfinite().all() for each in model.parameters() if each.grad is not None)


@pytest.mark.parametrize(("name", "config", "kind"), KINDS)
def test_a_set_of_one_is_a_single_image(name: str, config: dict[str, Any], kind: str) -> None:
    single, model = made(name, config, sets=False), made(name, config)
    own = {key: value for key, value in model.state_dict().items() if not key.startswith("set_layers.")}
    assert own.keys() == single.state_dict().keys()
    assert all(torch.equal(value, own[key]) for key, value in single.state_dict().items())
    batch = small_batch(4, 4, kind=kind)
    one = torch.arange(len(batch)).unsqueeze(1)
    expected = scores(single, batch)
    torch.testing.assert_close(scores(model, batch), expected)
    torch.testing.assert_close(scores(model, with_images(batch, one)), expected)
    padded = torch.cat([one, torch.full((len(batch), 4), ABSENT)], dim=1)
    torch.testing.assert_close(scores(model, with_images(batch, padded)), expected)
    check_refused(ConfigError, single.predict, with_images(batch, one))


@pytest.mark.parametrize(("name", "config", "kind"), KINDS)
def test_the_longest_questions_about_sets_are_read_to_their_ends(
    name: str, config: dict[str, Any], kind: str
) -> None:
    model, batch = made(name, config), sets_of(kind, 4)
    questions = batch.questions[:, 1:2].repeat(1, 68)
    long = replace(batch, questions=questions, question_lengths=torch.tensor([68, 20, 68, 50]))
    found = scores(model, long)
    changed = questions.clone()
    changed[:, 67] += 1  # of the second and the fourth, that is padding
    again = scores(model, replace(long, questions=changed))
    assert [torch.equal(one, other) for one, other in zip(found, again, strict=True)][::2] == [False, False]
    if kind == "attributes":  # LXMERT's length is in the number of its pieces, which padding does not have
        torch.testing.assert_close(again[1::2], found[1::2])


@pytest.mark.parametrize(("name", "config", "kind"), KINDS)
def test_neither_padding_nor_order_changes_anything(name: str, config: dict[str, Any], kind: str) -> None:
    model, batch = made(name, config), sets_of(kind, lengths=(3, 2, 1))
    assert batch.images is not None
    expected = scores(model, batch)
    torch.testing.assert_close(scores(model, with_images(batch, batch.images[:, :3])), expected)
    # Images that no question has are not looked at, absent places included.
    changed = {key: each.clone() for key, each in batch.features.items()}
    unused = torch.tensor([k for k in range(N_SHARED) if k not in batch.images[0]])
    for each in changed.values():
        each[unused] = 0
    only_first = scores(model, part_of(replace(batch, features=changed), slice(1)))
    torch.testing.assert_close(only_first, expected[:1])
    other_order = batch.images.clone()
    other_order[:, [0, 1]] = other_order[:, [1, 0]]
    is_several = batch.images[:, 1] != ABSENT
    kept = torch.where(is_several.unsqueeze(1), other_order, batch.images)
    torch.testing.assert_close(scores(model, with_images(batch, kept)), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("name", "config", "kind"), KINDS)
def test_every_image_of_a_set_counts(name: str, config: dict[str, Any], kind: str) -> None:
    model, batch = made(name, config), sets_of(kind, 4, lengths=(5,))
    assert batch.images is not None
    expected = scores(model, batch)
    for place in range(5):
        fewer = batch.images.clone()
        fewer[:, place] = fewer[:, 4]
        fewer[:, 4] = ABSENT
        differs = (scores(model, with_images(batch, fewer)) - expected)[:, N_SPECIAL:].abs().amax(dim=1)
        assert (differs > 1e-6).all()


@pytest.mark.slow
def test_16_sets_are_learned_by_heart() -> None:
    model = made("object_transformer", {**TRANSFORMER, "dropout": 0.0})
    batch = sets_of("attributes", lengths=(5, 3, 2, 4))
    # The question is the same, so that the images alone tell the answers apart.
    batch = replace(
        batch,
        questions=batch.questions[:1].expand_as(batch.questions),
        question_lengths=batch.question_lengths[:1].expand_as(batch.question_lengths),
        answers=torch.arange(16) % 4 + N_SPECIAL,
    )
    assert learn_by_heart(model, batch, rate=2e-3, most=300) == 1.0


@pytest.mark.parametrize(("name", "config", "kind"), KINDS)
def test_rows_of_the_vocabulary(name: str, config: dict[str, Any], kind: str) -> None:
    model, vocab = made(name, config), clevr_vocab()
    state, rows = model.state_dict(), model.vocab_rows(vocab)
    assert all(len(state[weight]) == len(names) for weight, names in rows.items())
    head = "answer_head.logit_fc.3" if name == "lxmert_s" else "classifier"
    answers = rows[f"{head}.weight"]
    # The scores of answers are in the order of their rows.
    with torch.no_grad():
        model.state_dict()[f"{head}.bias"][answers.index("cube")] += 100
    best = scores(model, small_batch(4, 4, kind=kind)).argmax(dim=1)
    assert {vocab.answers()[number] for number in best.tolist()} == {"cube"}


def test_published_weights_leave_the_layers_for_sets_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    published = made("lxmert_s", LXMERT, sets=False, seed=1).state_dict()
    for each in ("weight", "bias"):
        rows = published[f"answer_head.logit_fc.3.{each}"]
        published[f"answer_head.logit_fc.3.{each}"] = rows.new_zeros(N_PUBLISHED, *rows.shape[1:])
    save_file(published, path)
    model = made("lxmert_p", {**LXMERT, "weights": str(path)}, seed=2)
    assert isinstance(model, LxmertPretrained)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    model.begin()
    for key, value in model.state_dict().items():
        if key.startswith("set_layers."):
            assert torch.equal(value, before[key])
        elif not key.startswith("answer_head.logit_fc.3."):
            assert torch.equal(value, published[key])


class WritesPrograms(nn.Module):
    """Reads no image, and writes programs."""

    feature_kind = "none"
    program_ways = {"symbolic": "predict"}  # noqa: RUF012

    @classmethod
    def build(cls, config: object, vocab: object) -> "WritesPrograms":
        return cls()

    def predict(self, batch: Batch) -> Tensor:
        return batch.programs

    loss = predict


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*MODELS} - {*SET_MODELS}))
def test_other_models_refuse_sets_of_images(name: str) -> None:
    check_refused(ConfigError, made, name, {"features": "pixels"})


def test_a_program_runs_on_one_scene() -> None:
    build_model("test_image_sets:WritesPrograms", {}, clevr_vocab())
    check_refused(ConfigError, build_model, "test_image_sets:WritesPrograms", {}, clevr_vocab(), sets=True)


def test_the_floor_reads_no_image() -> None:
    model, batch = made("question_only", {"hidden": 16}), sets_of("attributes")
    assert not isinstance(model, ImageSetModel)
    assert torch.equal(scores(model, batch), scores(model, replace(batch, features={})))
