"""The definition of an edition: its pairs, seed, sizes and rendering, from a TOML file of the package."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from clevrhope.config.presets import Config
from clevrhope.config.sources import resolve_config
from clevrhope.runtime.settings import Counts, check_known, naming, read_settings
from clevrhope.runtime.toml import read_toml

FOLDER = Path(str(files(__package__)))
"""The folder with the definitions of editions, and with what was frozen of each."""


@dataclass(frozen=True)
class Edition(Counts):
    """A named dataset with fixed content.

    Attributes:
        name: such as "hope-1".
        seed: the public seed; a dataset with another seed is a private edition.
        hops: the names of its sub-datasets.
        every_image: only images whose index in the pool is a multiple of this are compared.
        nonce: the number of episodes with nonce words, which are then all of its questions; or 0.
        settings: everything else that decides content, in the form of a folder's choices (`choices_of`).
    """

    name: str
    seed: int
    hops: tuple[str, ...]
    every_image: int
    settings: Mapping[str, Any]
    nonce: int = 0

    least: ClassVar = {"seed": 0, "nonce": 0}

    @property
    def config(self) -> Config:
        """The settings in the form that a build takes."""
        return resolve_config(before=self.settings)

    def record(self, seed: int) -> Mapping[str, Any]:
        """The entry of a manifest about the edition in a folder with this seed."""
        return {"name": self.name, "private": seed != self.seed}


def edition_names() -> list[str]:
    """The names of all editions, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read_edition(name: str) -> Edition:
    """Reads the edition with this name.

    Raises:
        ConfigError: there is no such edition (the message lists those that exist), or its file is broken.
    """
    check_known([name], edition_names(), "no edition")
    path = FOLDER / f"{name}.toml"
    edition = read_settings(Edition, {**read_toml(path, "an edition"), "name": name}, where=path)
    with naming(str(path)):
        _ = edition.config
    return edition
