"""An experiment's file, or the name of one that comes with the package, in; the file's path out."""

from pathlib import Path

from clevrhope.config.presets import suggestion
from clevrhope.errors import ConfigError
from clevrhope.runtime import assets


def shipped_experiments() -> dict[str, Path]:
    """The experiments that come with the package, by name."""
    return {path.stem: path for path in sorted(assets.experiments().glob("*.toml"))}


def find_file(file: Path) -> Path:
    """The file as it is, where it is there; else the package's of that name.

    Raises:
        ConfigError: neither.
    """
    if file.is_file():
        return file
    known = shipped_experiments()
    name = str(file).removeprefix("experiments/").removesuffix(".toml")
    if name not in known:
        raise ConfigError(
            f"{file}: no such file, nor an experiment of the package{suggestion(name, known)}; "
            f"there are: {', '.join(known)}"
        )
    return known[name]
