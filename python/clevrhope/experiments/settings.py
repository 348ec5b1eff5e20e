"""What a dataset of an experiment is built with, as files: settings, templates, values."""

import json
from dataclasses import dataclass
from pathlib import Path

from clevrhope.experiments.config import DatasetConfig
from clevrhope.experiments.some import some_templates, some_values
from clevrhope.runtime.own_files import write_own
from clevrhope.runtime.toml import toml_text


@dataclass(frozen=True)
class Places:
    """Where a dataset and what it is built with lie.

    Attributes:
        data: the dataset's folder.
        config: what build's `--config` takes.
        templates: the folder of its templates, where it takes some of the package's only.
        properties: the file of its properties, where it takes some of the package's values only.
    """

    data: Path
    config: Path
    templates: Path
    properties: Path


def places_below(out: Path, dataset: DatasetConfig) -> Places:
    """Those of an experiment's folder; a dataset that is used as it is stays where it is."""
    config, name = out / "config", dataset.name
    return Places(
        data=dataset.folder or out / "data" / name,
        config=config / f"{name}.toml",
        templates=config / f"{name}_templates",
        properties=config / f"{name}_properties.json",
    )


def write_settings(dataset: DatasetConfig, places: Places, where: str) -> None:
    """Writes what a build reads: its settings, and templates and values where not all of the package's.

    Args:
        dataset: one that is built.
        places: where to.
        where: of the dataset in the experiment's file, for messages.

    Raises:
        ConfigError: templates, questions or values that there are none of.
        DatasetError: a user's file is in the way, or one was edited.
    """
    files = {places.config.name: toml_text(dataset.config).encode()}
    if dataset.values:
        files[places.properties.name] = json.dumps(some_values(dataset.values, where), indent=2).encode()
    write_own(places.config.parent, files)
    if dataset.has_templates:
        templates = some_templates(dataset.templates, dataset.asks, dataset.mentions, where)
        write_own(places.templates, templates, alone="*.json")
