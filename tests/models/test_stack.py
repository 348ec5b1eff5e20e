"""A stack of models: its losses, gradients, statistics and views are those of each model by itself."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from small_batches import clevr_vocab, small_batch
from torch import nn

from clevrhope.errors import ConfigError
from clevrhope.models.batch import Batch
from clevrhope.models.names import find_model
from clevrhope.models.stack import run_layers, show_model, stack_models

SETTINGS = {
    "stages": "engine",
    "features": "pixels",
    "picture_width": 48,
    "picture_height": 32,
    "halvings": 2,
    "stem_channels": 4,
    "channels": 8,
    "shift": 2,
    "classifier_channels": 6,
    "classifier_hidden": 10,
}
PART = 20
"""Questions of each model."""


def engines(n: int) -> list[nn.Module]:
    torch.manual_seed(1)
    return [find_model("tensor_nmn").build(SETTINGS, clevr_vocab()).double() for _ in range(n)]


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


def test_a_stack_computes_what_its_models_compute() -> None:
    models = engines(3)
    stack = stack_models(models)
    batch = small_batch(9, 9).first(3 * PART)
    assert len(batch) == 3 * PART
    losses = stack.stack_engine_losses(
        replace(batch, plan=stack.stack_plan(batch)), [torch.Generator().manual_seed(k) for k in range(3)]
    )
    losses.sum().backward()
    for number, model in enumerate(models):
        torch.manual_seed(number)
        loss = model.engine_loss(part(batch, number))
        loss.backward()
        torch.testing.assert_close(losses[number], loss)
        stacked = dict(stack.named_parameters())
        for name, weight in model.named_parameters():
            torch.testing.assert_close(stacked[name].grad[number], weight.grad, msg=name)
        for name, buffer in model.named_buffers():
            torch.testing.assert_close(dict(stack.named_buffers())[name][number], buffer, msg=name)
    joins = stack.engine.bank.join_weights.grad
    assert all(bool(each.any()) for each in joins), "no program of some model joins two inputs"


def test_a_model_that_is_shown_is_a_view_of_the_stack() -> None:
    models = engines(2)
    stack, shown = stack_models(models), engines(1)[0]
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
    with pytest.raises(ConfigError, match="not a tree of functions"):
        engines(1)[0].stack_plan(batch)


def test_a_layer_without_a_form_for_stacked_weights_is_refused() -> None:
    with pytest.raises(TypeError, match="GroupNorm"):
        run_layers(nn.Sequential(nn.GroupNorm(1, 3)), torch.zeros(2, 3, 4, 4), 2)


def test_only_an_engine_from_pixels_has_losses_of_stacks() -> None:
    for changes in ({"stages": "all"}, {"features": "resnet101"}):
        assert not find_model("tensor_nmn").build({**SETTINGS, **changes}, clevr_vocab()).stack_losses


def test_an_update_of_a_stack_reads_no_number_from_its_device() -> None:
    """On torch's device meta that is an error; meta has no generators, so images are not shifted."""
    stack = stack_models([find_model("tensor_nmn").build({**SETTINGS, "shift": 0}, clevr_vocab())] * 3)
    batch = small_batch(9, 9).first(3 * PART)
    planned = replace(batch.to("meta"), plan=stack.stack_plan(batch))
    losses = stack.to("meta").stack_engine_losses(planned, [None] * 3)
    losses.sum().backward()
    assert losses.device.type == "meta"
