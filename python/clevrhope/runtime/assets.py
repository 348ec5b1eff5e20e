"""Folders with the files that come with the package: the look, the question templates, the experiments.

In a checkout, `_assets` has links to the folders at the root, so that edits there take effect at once; in an
installed wheel, it has the files themselves.
"""

from importlib.resources import files
from pathlib import Path

from clevrhope.errors import ConfigError


def blender_assets() -> Path:
    """The folder of the look: properties.json, and the sources of shapes, materials, lights and camera."""
    return _folder("blender_assets")


def properties_file(path: Path, base: Path = Path()) -> Path:
    """The path of a properties file below `base`; a bare name can stand for one of the package's files."""
    own = blender_assets() / "worlds" / f"{path.stem}.json"
    is_own = len(path.parts) == 1 and path.suffix in ("", ".json") and own.is_file()
    return own if is_own and not (base / path).exists() else base / path


def question_templates() -> Path:
    """The folder of the question templates: JSON files in CLEVR's format, and the synonyms."""
    return _folder("question_templates")


def experiments() -> Path:
    """The folder of the experiments' TOML files."""
    return _folder("experiments")


def _folder(name: str) -> Path:
    folder = Path(str(files("clevrhope"))) / "_assets" / name
    if not folder.is_dir():
        raise ConfigError(
            f"{folder}: missing, because the package was copied without its links; install it with pip, "
            "or check it out with symbolic links enabled"
        )
    return folder
