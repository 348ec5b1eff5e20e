"""Settings of models, as `--set` and checkpoints give them."""

from collections.abc import Mapping
from typing import Any, TypeVar

from clevrhope.runtime.settings import read_settings

Config = TypeVar("Config")

MOST = 1 << 31
"""What a whole number is below: sizes are products of several, in 64 bits."""


def read_model_settings(kind: type[Config], given: Mapping[str, Any], *, model: str) -> Config:
    """A model's configuration, with defaults for what is not given; errors as of `read_settings`."""
    return read_settings(kind, given, where=model, strings=True, most=MOST)
