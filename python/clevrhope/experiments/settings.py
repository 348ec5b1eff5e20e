"""The files that an experiment's dataset is built with: settings, templates and properties."""

import json
from dataclasses import dataclass
from pathlib import Path

from clevrhope.experiments.config import DatasetConfig
from clevrhope.experiments.subset import subset_templates, subset_values
from clevrhope.runtime.own_files import write_own
from clevrhope.runtime.toml import toml_text


@dataclass(frozen=True)
class Places:
    """The paths of a dataset and of the files that it is built with.

    Attributes:
        data: the dataset's folder.
        config: what build's `--config` takes.
        templates: the folder of its templates, where it uses a subset of the package's.
        properties: the file of its properties, where it uses a subset of the package's values.
    """

    data: Path
    config: Path
    templates: Path
    properties: Path


def places_below(out: Path, dataset: DatasetConfig) -> Places:
    """The paths in an experiment's folder; an existing dataset keeps its own."""
    config, name = out / "config", dataset.name
    return Places(
        data=dataset.folder or out / "data" / name,
        config=config / f"{name}.toml",
        templates=config / f"{name}_templates",
        properties=config / f"{name}_properties.json",
    )


def write_settings(dataset: DatasetConfig, places: Places, where: str) -> None:
    """Writes the settings that a build reads, and templates and properties where it uses subsets.

    Args:
        dataset: one that is to be built.
        places: the paths to write.
        where: the dataset's place in the experiment's file, for messages.

    Raises:
        ConfigError: there are no such templates, questions or values.
        DatasetError: a user's file is in the way, or a file was edited.
    """
    files = {places.config.name: toml_text(dataset.config).encode()}
    if dataset.values:
        files[places.properties.name] = json.dumps(subset_values(dataset.values, where), indent=2).encode()
    write_own(places.config.parent, files)
    if dataset.has_templates:
        templates = subset_templates(dataset.templates, dataset.asks, dataset.mentions, where)
        write_own(places.templates, templates, alone="*.json")
