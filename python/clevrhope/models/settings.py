"""Settings of models, from `--set` and checkpoints."""

from collections.abc import Mapping
from typing import Any, TypeVar

from clevrhope.runtime.settings import read_settings

Config = TypeVar("Config")

MOST = 1 << 31
"""The limit that whole numbers stay below: sizes are products of several of them, in 64 bits."""


def read_model_settings(kind: type[Config], given: Mapping[str, Any], *, model: str) -> Config:
    """A model's configuration, with defaults for missing settings; errors as for `read_settings`."""
    return read_settings(kind, given, where=model, strings=True, most=MOST)
