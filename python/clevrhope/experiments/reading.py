"""Reads experiments from TOML files: the package's own by name, others by path."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from clevrhope.experiments.config import DatasetConfig, Experiment, ExperimentFile, ModelConfig
from clevrhope.experiments.grids import grid_points
from clevrhope.runtime import assets
from clevrhope.runtime.settings import check_known, read_settings
from clevrhope.runtime.toml import read_toml

_PATHS_OF_BUILD = ("properties", "templates", "clevr")
"""Settings of build that are paths; they become absolute, since they are written to another folder."""
_PATHS_OF_MODELS = ("weights",)

_HINTS = get_type_hints(ModelConfig)
_LISTS = tuple(
    each.metadata.get("key", each.name)
    for each in fields(ModelConfig)
    if any(get_origin(hint) is tuple for hint in (_HINTS[each.name], *get_args(_HINTS[each.name])))
)
"""The settings of a model that are lists themselves."""


def read_experiment(file: Path, *, out: Path | None = None) -> Experiment:
    """Reads an experiment. Its `out` is relative to the working directory, other paths to the file's folder.

    In the package's own files, all paths but palettes are relative to the working directory. `out` replaces
    the file's `out`, which defaults to `out/` and the file's name.

    Raises:
        ConfigError: there is no such file, or it has an unknown key or value; names the place in it.
    """
    raw = read_toml(file, "an experiment")
    base = Path() if file.resolve().parent == assets.experiments().resolve() else file.parent
    tables = raw.get("model", [])
    tables = tables if isinstance(tables, list) else [tables]
    grids = [grid_points(each, f"{file}: model[{k}]", lists=_LISTS) for k, each in enumerate(tables)]
    # The first table of each grid stands for it in the file; the others are read below it.
    found = read_settings(
        ExperimentFile, {**raw, "model": [points[0] for points in grids]}, where=file, base=base
    )
    models = [
        (k, read_settings(ModelConfig, point, where=file, path=f"model[{k}].", base=base))
        for k, points in enumerate(grids)
        for point in points
    ]
    return Experiment(
        file=file,
        content=found,
        out=out or Path(found.out or Path("out") / file.stem),
        datasets=tuple(_with_paths(own, base, file) for each in found.dataset for own in each.replicates),
        tables=tuple(k for k, each in enumerate(found.dataset) for _ in each.replicates),
        models=tuple(_resolved(each, found.dataset, base) for _, each in models),
        model_tables=tuple(k for k, _ in models),
    )


def shipped_experiments() -> dict[str, Path]:
    """The experiments that come with the package, by name."""
    return {path.stem: path for path in sorted(assets.experiments().glob("*.toml"))}


def find_file(file: Path) -> Path:
    """The file if it exists, or else the package's experiment of that name.

    Raises:
        ConfigError: there is neither.
    """
    known = shipped_experiments()
    name = str(file).removeprefix("experiments/").removesuffix(".toml")
    if file.is_file() or (file.exists() and name not in known):  # what is no file is refused when it is read
        return file
    check_known([name], known, f"{file}: no such file, and the package has no experiment")
    return known[name]


def _with_paths(dataset: DatasetConfig, base: Path, file: Path) -> DatasetConfig:
    """A dataset whose paths in strings and tables are relative to the working directory.

    The palettes of the package's own `file` come with it.
    """
    builds = dataset.builds
    if base == Path():
        builds = tuple(replace(e, palette=e.palette and file.parent / e.palette) for e in builds)
    features = tuple(
        replace(each, weights=str(base / each.weights))
        if each.weights not in (None, "random") and ":" not in each.kind
        else each
        for each in dataset.features
    )
    config = _from_folder(dataset.config, _PATHS_OF_BUILD, base.resolve())
    return replace(dataset, builds=builds, features=features, config=config)


def _resolved(model: ModelConfig, datasets: Sequence[DatasetConfig], base: Path) -> ModelConfig:
    """A model on the replicates of its datasets, whose paths are relative to the working directory."""
    named = set(model.datasets)
    own = [
        each.name for dataset in datasets for each in dataset.replicates if named & {dataset.name, each.name}
    ]
    paths = () if ":" in model.name else _PATHS_OF_MODELS  # only a user's own model knows its settings
    return replace(model, datasets=tuple(own), settings=_from_folder(model.settings, paths, base))


def _from_folder(table: Mapping[str, Any], names: Sequence[str], base: Path) -> dict[str, Any]:
    paths = {name: str(base / table[name]) for name in names if isinstance(table.get(name), str)}
    return {**table, **paths}
