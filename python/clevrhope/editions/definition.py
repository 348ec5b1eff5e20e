"""The definition of an edition: its pairs, seed, sizes and rendering, from a TOML file of the package."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from clevrhope.config.presets import Config
from clevrhope.config.sources import resolve_config
from clevrhope.errors import ConfigError, shown
from clevrhope.runtime.settings import check_at_least, naming, read_settings, suggestion
from clevrhope.runtime.toml import read_toml

FOLDER = Path(str(files(__package__)))
"""The folder of the definitions, and of what was frozen of each."""


@dataclass(frozen=True)
class Edition:
    """A named dataset whose content is fixed.

    Attributes:
        name: such as "hope-1".
        seed: of everybody's dataset; one with another seed is a private edition.
        hops: the names of its sub-datasets.
        every_image: images are compared whose index in the pool is a multiple of this.
        settings: what decides content besides these, in the form of a folder's choices (`choices_of`).
    """

    name: str
    seed: int
    hops: tuple[str, ...]
    every_image: int
    settings: Mapping[str, Any]

    @property
    def config(self) -> Config:
        """The settings as a build takes them."""
        return resolve_config(before=self.settings)

    def record(self, seed: int) -> Mapping[str, Any]:
        """What a manifest says of the edition that a folder with this seed holds."""
        return {"name": self.name, "private": seed != self.seed}


@dataclass(frozen=True)
class _File:
    seed: int
    hops: tuple[str, ...]
    every_image: int
    settings: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_at_least(0, seed=self.seed)
        check_at_least(1, every_image=self.every_image)


def edition_names() -> list[str]:
    """The names of all editions, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read_edition(name: str) -> Edition:
    """The edition of that name.

    Raises:
        ConfigError: there is none, and the message lists those that there are; or its file is broken.
    """
    names = edition_names()
    if name not in names:
        raise ConfigError(
            f"no edition {shown(name)}{suggestion(name, names)}; there are: {', '.join(names) or 'none'}"
        )
    path = FOLDER / f"{name}.toml"
    found = read_settings(_File, read_toml(path, "an edition"), where=path)
    edition = Edition(name, found.seed, found.hops, found.every_image, found.settings)
    with naming(str(path)):
        _ = edition.config
    return edition
