"""Settings of models, given by name."""

from collections.abc import Mapping
from typing import Any, TypeVar

from clevrhope.errors import ConfigError
from clevrhope.runtime.settings import read_settings

Config = TypeVar("Config")

MOST = 1 << 31
"""Whole numbers are less than this, since sizes of tensors are products of several, in 64 bits."""


def read_options(kind: type[Config], given: Mapping[str, Any], *, model: str) -> Config:
    """A model's configuration, with defaults for settings that are not given.

    Raises:
        ConfigError: as `read_settings`.
    """
    return read_settings(kind, given, where=model, strings=True, most=MOST)


def check_at_least(model: str, least: int, **values: int) -> None:
    """Passes where all values are `least` or more.

    Raises:
        ConfigError: one is not; names it.
    """
    for name, value in values.items():
        if value < least:
            raise ConfigError(f"{model}: {name} is {value}; expected {least} or more")
