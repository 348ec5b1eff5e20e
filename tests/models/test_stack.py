"""Stacks of models: losses, gradients and views are those of each model; LSTMs and GRUs under autocast."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from small_batches import PIXELS, clevr_vocab, part_of, small_batch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from clevrhope.errors import ConfigError
from clevrhope.models.batch import Batch
from clevrhope.models.lstm import Gru, Lstm, encode
from clevrhope.models.names import find_model
from clevrhope.models.stack import embed, run_gru, run_layers, show_model, stack_models
from wording import check_refused

COMMON = {**PIXELS, "stem_channels": 4, "shift": 2, "classifier_channels": 6, "classifier_hidden": 10}
SETTINGS = {
    "tensor_nmn": {**COMMON, "stages": "engine"},
    "film": {**COMMON, "blocks": 2, "words": 5, "hidden": 7},
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
    return part_of(batch, slice(number * PART, (number + 1) * PART))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_stack_computes_what_its_models_compute(name: str) -> None:
    models = models_of(name, 3)
    stack = stack_models(models)
    batch = part_of(small_batch(9, 9), slice(3 * PART))
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
    check_refused(ConfigError, models_of("tensor_nmn", 1)[0].stack_plan, batch)


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
    batch = part_of(small_batch(9, 9), slice(3 * PART))
    plan = stack.stack_plan(batch)
    stack.stack_plan = lambda _: plan
    losses = stack_losses(stack.to("meta"), batch.to("meta"), [None] * 3)
    losses.sum().backward()
    assert losses.device.type == "meta"


def test_a_stacked_gru_computes_in_float32_under_autocast_on_a_cpu() -> None:
    """As each of its models does, on processors with and without bfloat16."""
    models = [each.float() for each in models_of("film", 2)]
    batch = part_of(small_batch(9, 9), slice(2 * PART))
    with torch.autocast("cpu", torch.bfloat16):
        stack = stack_models(models)
        words = embed(stack.words, batch.questions, 2)
        states = run_gru(stack.reader, words, batch.question_lengths, 2)
        for number, model in enumerate(models):
            own = part(batch, number)
            _, _, last = encode(model.reader, model.words(own.questions), own.question_lengths)
            torch.testing.assert_close(states[number * PART : (number + 1) * PART], last[-1])


@pytest.mark.parametrize("layer", [Lstm, Gru])
def test_lstms_and_grus_stay_in_float32_on_a_cpu(layer: type[nn.RNNBase]) -> None:
    torch.manual_seed(0)
    reader, words = layer(6, 5, 2, batch_first=True, bidirectional=True), torch.randn(3, 4, 6)
    values = torch.randn(4, 3, 5)
    state, state_of_bfloat16 = (
        (each, each) if layer is Lstm else each for each in (values, values.bfloat16())
    )
    packed = pack_padded_sequence(words, torch.tensor([4, 1, 3]), batch_first=True, enforce_sorted=False)
    expected, expected_packed = reader(words, state)[0], pad_packed_sequence(reader(packed)[0])[0]
    with torch.autocast("cpu", torch.bfloat16):
        made, made_packed = reader(words, state)[0], pad_packed_sequence(reader(packed)[0])[0]
        of_bfloat16 = reader(words.bfloat16(), state_of_bfloat16)[0]
    assert made.dtype == of_bfloat16.dtype == torch.float32
    assert torch.equal(made, expected)
    assert torch.equal(made_packed, expected_packed)
    torch.testing.assert_close(of_bfloat16, expected, rtol=0, atol=0.02)
    of_bfloat16.sum().backward()
    assert all(weight.grad is not None for weight in reader.parameters())


def test_a_stacked_gru_is_never_laid_out_for_cudnn(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU torch would do so wherever a GRU is copied, and cannot for weights of three dimensions."""
    called: list[object] = []
    monkeypatch.setattr(torch.nn.GRU, "flatten_parameters", lambda self: called.append(self))
    single = Gru(6, 5)
    called.clear()
    stack = stack_models([torch.nn.Sequential(single), torch.nn.Sequential(Gru(6, 5))])
    called.clear()
    stack[0].flatten_parameters()
    assert called == []
    single.flatten_parameters()
    assert called == [single]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no NVIDIA GPU")
def test_a_stacked_gru_can_be_copied_on_a_gpu() -> None:
    stack = stack_models([torch.nn.Sequential(Gru(6, 5)).cuda() for _ in range(3)])
    copied = deepcopy(stack)
    assert torch.equal(copied[0].weight_ih_l0, stack[0].weight_ih_l0)
