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


def run_layers(layers: nn.Sequential, x: Tensor) -> Tensor:
    """Runs layers whose weights are stacked.

    Convolutions are grouped, with a group for each model; 1x1 convolutions and linear layers are batched
    matrix products, which a GPU computes several times as fast.

    Args:
        layers: 2-d convolutions, linear layers, batch norm, ReLU, max pooling and `Flatten`.
        x: (B, M, C, H, W) maps or (B, M, C) rows.

    Returns:
        (B, M, ...) outputs.

    Raises:
        TypeError: another kind of layer.
    """
    n, n_models = x.shape[:2]
    for layer in layers:
        if isinstance(layer, nn.Conv2d) and layer.kernel_size == (1, 1):
            product = torch.matmul(layer.weight.flatten(2), x.flatten(3))
            if layer.bias is not None:
                product = product + layer.bias.unsqueeze(2).to(product.dtype)  # as autocast has it
            x = product.view(n, n_models, -1, *x.shape[3:])
        elif isinstance(layer, nn.Conv2d):
            weight = layer.weight.flatten(0, 1)
            bias = None if layer.bias is None else layer.bias.flatten()
            maps = F.conv2d(x.flatten(1, 2), weight, bias, layer.stride, layer.padding, groups=n_models)
            x = maps.view(n, n_models, -1, *maps.shape[2:])
        elif isinstance(layer, nn.BatchNorm2d):
            x = _batch_norm(layer, x.flatten(1, 2)).view_as(x)
        elif isinstance(layer, nn.Flatten):
            x = x.flatten(2)
        elif isinstance(layer, nn.Linear):
            x = torch.baddbmm(layer.bias.unsqueeze(1), x.transpose(0, 1), layer.weight.mT).transpose(0, 1)
        elif isinstance(layer, nn.ReLU):
            x = layer(x)
        elif isinstance(layer, nn.MaxPool2d):
            maps = layer(x.flatten(0, 1))
            x = maps.view(n, n_models, *maps.shape[1:])
        else:
            raise TypeError(f"{type(layer).__name__} has no form for stacked weights")
    return x


def answer_losses(scores: Tensor, answers: Tensor, n_models: int) -> Tensor:
    """(M,) mean cross-entropy of each model's part of (M * B, A) scores."""
    return F.cross_entropy(scores, answers, reduction="none").view(n_models, -1).mean(dim=1)


def _batch_norm(layer: Any, x: Tensor) -> Tensor:
    """Batch norm of (B, M * C, ...); as its statistics are per channel, each model has its own."""
    if layer.training:
        layer.num_batches_tracked.add_(1)
    # The statistics are updated in place, as `flatten` gives views here.
    return F.batch_norm(
        x,
        layer.running_mean.flatten(),
        layer.running_var.flatten(),
        layer.weight.flatten(),
        layer.bias.flatten(),
        layer.training,
        layer.momentum,
        layer.eps,
    )
