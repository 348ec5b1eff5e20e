"""Stacks of models: the weights of M models of one class in one module, and layers that run for all of them.

A stack is a module like its models, except that each weight and buffer has a first axis for the models. An
operation that treats the entries of that axis alike and independently, such as a step of Adam, then does for
M models what it does for one.
"""

from collections.abc import Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn import Parameter

from clevrhope.models.lstm import Gru


def stack_models(models: Sequence[nn.Module]) -> nn.Module:
    """A stack of models that differ only in the values of their weights and buffers."""
    stack = deepcopy(models[0])
    for own, *parts in zip(stack.modules(), *(model.modules() for model in models), strict=True):
        for name, weight in list(own.named_parameters(recurse=False)):
            values = torch.stack([getattr(part, name).detach() for part in parts])
            own.register_parameter(name, Parameter(values, requires_grad=weight.requires_grad))
        for name, _ in list(own.named_buffers(recurse=False)):
            setattr(own, name, torch.stack([getattr(part, name) for part in parts]))
    return stack


def show_model(model: nn.Module, stack: nn.Module, number: int) -> None:
    """Makes a model's weights and buffers views of those of one of a stack's models.

    Whatever is read from the model or loaded into it is then read from the stack or loaded into the stack.
    """
    pairs = zip(
        chain(model.parameters(), model.buffers()), chain(stack.parameters(), stack.buffers()), strict=True
    )
    for own, values in pairs:
        own.data = values.detach()[number]


def by_question(x: Tensor, n_models: int) -> Tensor:
    """(M * B, ...) rows, those of one model after those of another, as (B, M, ...)."""
    return x.view(n_models, -1, *x.shape[1:]).transpose(0, 1)


def by_model(x: Tensor) -> Tensor:
    """The inverse of `by_question`."""
    return x.transpose(0, 1).flatten(0, 1)


def run_layers(layers: nn.Module, x: Tensor) -> Tensor:
    """Runs layers whose weights are stacked.

    Convolutions are grouped, with a group for each model; 1x1 convolutions and linear layers are batched
    matrix products, which a GPU computes several times as fast.

    Args:
        layers: a layer, or a `Sequential` of layers: 2-d convolutions, linear layers, batch norm, ReLU, max
            pooling and `Flatten`.
        x: (B, M, C, H, W) maps or (B, M, C) rows.

    Returns:
        (B, M, ...) outputs.

    Raises:
        TypeError: another kind of layer.
    """
    n, n_models = x.shape[:2]
    for layer in layers if isinstance(layers, nn.Sequential) else [layers]:
        if isinstance(layer, nn.Conv2d) and _is_1x1(layer):
            product = torch.matmul(layer.weight.flatten(2), x.flatten(3))
            if layer.bias is not None:
                product = product + layer.bias.unsqueeze(2).to(product.dtype)  # as autocast has it
            x = product.view(n, n_models, -1, *x.shape[3:])
        elif isinstance(layer, nn.Conv2d):
            weight = layer.weight.flatten(0, 1)
            bias = None if layer.bias is None else layer.bias.flatten()
            maps = F.conv2d(x.flatten(1, 2), weight, bias, layer.stride, layer.padding, groups=n_models)
            x = maps.view(n, n_models, -1, *maps.shape[2:])
        elif isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
            x = _batch_norm(layer, x.flatten(1, 2)).view_as(x)
        elif isinstance(layer, nn.Flatten):
            x = x.flatten(2)
        elif isinstance(layer, nn.Linear):
            x = _linear(x.transpose(0, 1), layer.weight, layer.bias).transpose(0, 1)
        elif isinstance(layer, nn.ReLU):
            x = layer(x)
        elif isinstance(layer, nn.MaxPool2d):
            maps = layer(x.flatten(0, 1))
            x = maps.view(n, n_models, *maps.shape[1:])
        else:
            raise TypeError(f"{type(layer).__name__} has no form for stacked weights")
    return x


def _is_1x1(layer: nn.Conv2d) -> bool:
    return layer.kernel_size == layer.stride == (1, 1) and layer.padding == (0, 0)


def embed(words: nn.Embedding, tokens: Tensor, n_models: int) -> Tensor:
    """(M * B, Q, E) embeddings of (M * B, Q) tokens, those of one model after those of another."""
    n_words = words.weight.shape[1]
    starts = n_words * torch.arange(n_models, device=tokens.device)
    rows = tokens.view(n_models, -1) + starts[:, None]
    return F.embedding(rows.view_as(tokens), words.weight.flatten(0, 1))


def run_gru(gru: Gru, x: Tensor, lengths: Tensor, n_models: int) -> Tensor:
    """The state of a stacked GRU after each row's last token.

    torch has no GRU for stacked weights, and `vmap` does not support its GRU, so its equations are here:
    r, z = s(W x + U h); n = tanh(W x + r (U h)); h = (1 - z) n + z h, each W and U with a bias.

    Args:
        gru: of one layer and one direction.
        x: (M * B, Q, E) padded rows.
        lengths: (M * B,) int64 on the CPU.
        n_models: M.

    Returns:
        (M * B, H) states, in float32 under autocast on a CPU, as of `Gru`.
    """
    first, second = (gru.weight_ih_l0, gru.bias_ih_l0), (gru.weight_hh_l0, gru.bias_hh_l0)
    n_steps, n_gates = int(lengths.max()), 2 * gru.hidden_size
    is_token = torch.arange(n_steps)[:, None] < lengths  # (Q, M * B)
    is_token = is_token.to(x.device, non_blocking=True).view(n_steps, n_models, -1, 1)
    with torch.autocast("cpu", enabled=False):
        inputs = x[:, :n_steps].reshape(n_models, -1, x.shape[2])  # (M, B * Q, E)
        inputs = _linear(inputs, *first).view(n_models, -1, n_steps, 3 * gru.hidden_size)
        state = inputs.new_zeros(*inputs.shape[:2], gru.hidden_size)  # (M, B, H)
        for of_input, is_token_here in zip(inputs.unbind(2), is_token, strict=True):
            of_state = _linear(state, *second)
            gates = torch.sigmoid(of_input[..., :n_gates] + of_state[..., :n_gates])
            reset, update = gates.chunk(2, dim=2)
            new = torch.tanh(of_input[..., n_gates:] + reset * of_state[..., n_gates:])
            state = torch.where(is_token_here, new + update * (state - new), state)
    return state.flatten(0, 1)


def answer_losses(scores: Tensor, answers: Tensor, n_models: int) -> Tensor:
    """(M,) mean cross-entropy of each model's part of (M * B, A) scores."""
    return F.cross_entropy(scores, answers, reduction="none").view(n_models, -1).mean(dim=1)


def _linear(x: Tensor, weight: Any, bias: Any) -> Tensor:
    """(M, B, I) rows times (M, O, I) weights, with (M, O) biases."""
    if bias is None:
        return torch.bmm(x, weight.mT)
    return torch.baddbmm(bias.unsqueeze(1), x, weight.mT)


def _batch_norm(layer: Any, x: Tensor) -> Tensor:
    """Batch norm of (B, M * C, ...); as its statistics are per channel, each model has its own."""
    if layer.training:
        layer.num_batches_tracked.add_(1)
    # The statistics are updated in place, as `flatten` gives views here.
    return F.batch_norm(
        x,
        layer.running_mean.flatten(),
        layer.running_var.flatten(),
        layer.weight.flatten() if layer.affine else None,
        layer.bias.flatten() if layer.affine else None,
        layer.training,
        layer.momentum,
        layer.eps,
    )
