"""A stack of models: its losses, gradients, statistics and views are those of each model by itself."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from small_batches import clevr_vocab, small_batch
from torch import Tensor, nn

from clevrhope.errors import ConfigError
from clevrhope.models.batch import Batch
from clevrhope.models.lstm import encode
from clevrhope.models.names import find_model
from clevrhope.models.stack import embed, run_gru, run_layers, show_model, stack_models
from wording import refused

PIXELS = {
    "features": "pixels",
    "image_width": 48,
    "image_height": 32,
    "halvings": 2,
    "stem_channels": 4,
    "channels": 8,
    "shift": 2,
    "classifier_channels": 6,
    "classifier_hidden": 10,
}
SETTINGS = {
    "tensor_nmn": {**PIXELS, "stages": "engine"},
    "film": {**PIXELS, "blocks": 2, "words": 5, "hidden": 7},
}
PART = 20
"""Questions of each model."""


def models_of(name: str, n: int, **changes: Any) -> list[nn.Module]:
    torch.manual_seed(1)
    settings = {**SETTINGS[name], **changes}
    return [find_model(name).build(settings, clevr_vocab()).double() for _ in range(n)]


def stack_losses(stack: nn.Module, batch: Batch, generators: Sequence[torch.Generator | None]) -> Tensor:
    method = getattr(stack, stack.stack_losses[stack.recipe.stages[-1].loss])
    return method(replace(batch, plan=stack.stack_plan(batch)), generators)


def part(batch: Batch, number: int) -> Batch:
    """The questions of one of the models."""
    own = slice(number * PART, (number + 1) * PART)
    return Batch(
        **{
            name: getattr(batch, name)[own]
            for name in ("questions", "question_lengths", "programs", "program_lengths", "answers",
                         "families", "rows")
        },
        features={name: each[own] for name, each in batch.features.items()},
    )  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_a_stack_computes_what_its_models_compute(name: str) -> None:
    models = models_of(name, 3)
    stack = stack_models(models)
    batch = small_batch(9, 9).first(3 * PART)
    assert len(batch) == 3 * PART
    assert len(set(batch.question_lengths.tolist())) > 1
    losses = stack_losses(stack, batch, [torch.Generator().manual_seed(k) for k in range(3)])
    losses.sum().backward()
    for number, model in enumerate(models):
        torch.manual_seed(number)
        loss = model.loss(part(batch, number))
        loss.backward()
        torch.testing.assert_close(losses[number], loss)
        stacked = dict(stack.named_parameters())
        for own, weight in model.named_parameters():
            torch.testing.assert_close(stacked[own].grad[number], weight.grad, msg=own)
        for own, buffer in model.named_buffers():
            torch.testing.assert_close(dict(stack.named_buffers())[own][number], buffer, msg=own)
    if name == "tensor_nmn":
        joins = stack.engine.bank.join_weights.grad
        assert all(bool(each.any()) for each in joins), "no program of some model joins two inputs"


def test_a_model_that_is_shown_is_a_view_of_the_stack() -> None:
    models = models_of("film", 2)
    stack, shown = stack_models(models), models_of("film", 1)[0]
    show_model(shown, stack, 1)
    for name, value in models[1].state_dict().items():
        torch.testing.assert_close(shown.state_dict()[name], value, rtol=0, atol=0)
    shown.load_state_dict(models[0].state_dict())
    show_model(shown, stack, 0)
    for name, weight in stack.named_parameters():
        torch.testing.assert_close(weight[1], models[0].get_parameter(name), rtol=0, atol=0)


def test_a_program_that_is_no_tree_is_refused() -> None:
    batch = small_batch(2, 2)
    batch.programs[0, 1:] = batch.programs[0, 0]
    with refused(ConfigError):
        models_of("tensor_nmn", 1)[0].stack_plan(batch)


def test_a_layer_without_a_form_for_stacked_weights_is_refused() -> None:
    with pytest.raises(TypeError, match="GroupNorm"):
        run_layers(nn.Sequential(nn.GroupNorm(1, 3)), torch.zeros(1, 2, 3, 4, 4))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("tensor_nmn", {"stages": "all"}),
        ("tensor_nmn", {"features": "resnet101"}),
        ("film", {"features": "resnet101"}),
    ],
)
def test_only_models_of_pixels_without_a_generator_have_losses_of_stacks(
    name: str, changes: dict[str, Any]
) -> None:
    assert not models_of(name, 1, **changes)[0].stack_losses


@pytest.mark.parametrize("name", SETTINGS)
def test_an_update_of_a_stack_reads_no_number_from_its_device(name: str) -> None:
    """On torch's device meta that is an error; meta has no generators, so images are not shifted."""
    stack = stack_models(models_of(name, 3, shift=0))
    batch = small_batch(9, 9).first(3 * PART)
    plan = stack.stack_plan(batch)
    stack.stack_plan = lambda _: plan
    losses = stack_losses(stack.to("meta"), batch.to("meta"), [None] * 3)
    losses.sum().backward()
    assert losses.device.type == "meta"


def test_a_stacked_gru_computes_in_float32_under_autocast_on_a_cpu() -> None:
    """As each of its models does, on processors with and without bfloat16."""
    models = [each.float() for each in models_of("film", 2)]
    batch = small_batch(9, 9).first(2 * PART)
    with torch.autocast("cpu", torch.bfloat16):
        stack = stack_models(models)
        words = embed(stack.words, batch.questions, 2)
        states = run_gru(stack.reader, words, batch.question_lengths, 2)
        for number, model in enumerate(models):
            own = part(batch, number)
            _, _, last = encode(model.reader, model.words(own.questions), own.question_lengths)
            torch.testing.assert_close(states[number * PART : (number + 1) * PART], last[-1])
