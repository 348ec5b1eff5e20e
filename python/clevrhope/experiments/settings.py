"""What a dataset of an experiment is built with, as files: settings, templates, values."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clevrhope.atomic import write_whole
from clevrhope.errors import DatasetError
from clevrhope.experiments.config import DatasetConfig
from clevrhope.experiments.some import some_templates, some_values
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.paths import checked_name
from clevrhope.runtime.reading import read_bytes
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
    """
    write_whole(places.config, toml_text(dataset.config).encode())
    if dataset.values:
        properties = some_values(dataset.values, where)
        write_whole(places.properties, json.dumps(properties, indent=2).encode())
    if dataset.has_templates:
        files = some_templates(dataset.templates, dataset.asks, dataset.mentions, where)
        _write_templates(places.templates, files)


def _write_templates(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes templates, and removes those that an earlier version of the experiment asked for.

    Raises:
        DatasetError: a file there was not written by an experiment, and would be read or replaced.
    """
    mark = folder / WRITTEN
    written = read_object(mark, "a list of templates") if mark.exists() else {}
    for path in sorted(folder.glob("*.json")):
        content = read_bytes(path, "templates")
        if hashlib.sha256(content).hexdigest() != written.get(path.name) and content != files.get(path.name):
            raise DatasetError(f"{path}: not written by this experiment; move it elsewhere")
    write_whole(
        mark, json.dumps({name: hashlib.sha256(each).hexdigest() for name, each in files.items()}).encode()
    )
    for name, content in files.items():
        write_whole(folder / name, content)
    for name in written:
        if name not in files:
            (folder / checked_name(name, str(mark))).unlink(missing_ok=True)


WRITTEN = ".clevrhope-written"
"""In a folder of templates: name and SHA-256 of each that was written there."""
