"""Stacks of models: the weights of M models of one kind in one module, and layers that run for all of them.

A stack is a module like its models, except that each weight and buffer has a first axis for the models. Every
operation that treats the entries of that axis alike and apart, such as a step of Adam, then does for M models
what it does for one.
"""

from collections.abc import Sequence
from copy import deepcopy
from itertools import chain

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn import Parameter


def stack_models(models: Sequence[nn.Module]) -> nn.Module:
    """A stack of models that differ in nothing but the values of their weights and buffers."""
    stack = deepcopy(models[0])
    for own, *parts in zip(stack.modules(), *(model.modules() for model in models), strict=True):
        for name, weight in list(own.named_parameters(recurse=False)):
            values = torch.stack([getattr(part, name).detach() for part in parts])
            own.register_parameter(name, Parameter(values, requires_grad=weight.requires_grad))
        for name, _ in list(own.named_buffers(recurse=False)):
            setattr(own, name, torch.stack([getattr(part, name) for part in parts]))
    return stack


def show_model(model: nn.Module, stack: nn.Module, number: int) -> None:
    """Makes a model's weights and buffers views of those of one of the models of a stack.

    What is then read from the model or loaded into it is read from the stack, or loaded into it.
    """
    pairs = zip(
        chain(model.parameters(), model.buffers()), chain(stack.parameters(), stack.buffers()), strict=True
    )
    for own, values in pairs:
        own.data = values.detach()[number]


def run_layers(layers: nn.Sequential, x: Tensor, n_models: int) -> Tensor:
    """Runs layers whose weights are stacked.

    Convolutions are grouped, a group for each model; linear layers are one batched product.

    Args:
        layers: 2-d convolutions, batch norm, ReLU and max pooling; then, optionally, `Flatten` and layers
            that are linear or ReLU.
        x: (M * B, C, H, W) maps, those of a model behind each other.
        n_models: M.

    Returns:
        (M * B, ...) outputs in the same order.

    Raises:
        TypeError: another kind of layer.
    """
    n = len(x) // n_models  # B
    x = x.reshape(n_models, n, *x.shape[1:]).transpose(0, 1).flatten(1, 2)  # (B, M * C, H, W)
    for layer in layers:
        if isinstance(layer, nn.Conv2d):
            bias = None if layer.bias is None else layer.bias.flatten()
            x = F.conv2d(x, layer.weight.flatten(0, 1), bias, layer.stride, layer.padding, groups=n_models)
        elif isinstance(layer, nn.BatchNorm2d):
            x = _batch_norm(layer, x)
        elif isinstance(layer, nn.Flatten):
            x = x.reshape(n, n_models, -1).transpose(0, 1)  # (M, B, C * H * W)
        elif isinstance(layer, nn.Linear):
            x = torch.baddbmm(layer.bias.unsqueeze(1), x, layer.weight.mT)
        elif isinstance(layer, nn.ReLU | nn.MaxPool2d):
            x = layer(x)
        else:
            raise TypeError(f"{type(layer).__name__} has no form for stacked weights")
    if x.ndim == 4:
        x = x.reshape(n, n_models, -1, *x.shape[2:]).transpose(0, 1)  # (M, B, C, H, W)
    return x.flatten(0, 1)


def _batch_norm(layer: nn.BatchNorm2d, x: Tensor) -> Tensor:
    """Batch norm of (B, M * C, H, W) maps: its statistics are of each channel, so of each model apart."""
    assert layer.running_mean is not None
    assert layer.running_var is not None
    assert layer.num_batches_tracked is not None
    assert layer.momentum is not None
    if layer.training:
        layer.num_batches_tracked.add_(1)
    # Statistics are changed in place: flattened, they are views.
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
