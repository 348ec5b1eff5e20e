"""Loads the scenes of a pool, all of them or those that show some objects."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from clevrhope.dataset.clevr_json import parse_row, read_numbered_rows
from clevrhope.dataset.folder import Folder
from clevrhope.errors import ConfigError
from clevrhope.runtime.settings import suggestion
from clevrhope.scenes.descriptions import parse_description, shows


def load_scenes(folder: str | PathLike[str], pool: str, *, objects: str = "") -> Iterator[dict[str, Any]]:
    """The scenes of a pool in their order, in the form of CLEVR's scene files, one at a time.

    Each image comes once, however many questions ask about it; `image_index` and `image_filename` name it.

    Args:
        folder: a dataset.
        pool: a pool of scenes, such as "train"; `Split.pool` of `clevrhope.load` names a split's.
        objects: a description of what they show, such as "small red metal cube" or "two or more cubes"; see
            `clevrhope.scenes.descriptions`. Empty for all scenes.

    Raises:
        ConfigError: there is no such pool, or the description has a word that the world does not know.
        DatasetError: the folder is not a dataset, or a file of scenes is missing or damaged.
    """
    opened = Folder.open(Path(folder), finished=False)
    files = opened.layout.scene_files(pool)
    if not files:
        folders = sorted(opened.root.glob("scenes/[!.]*/"))
        pools = [path.name for path in folders if opened.layout.scene_files(path.name)]
        near, there = suggestion(pool, pools), ", ".join(pools) or "none"
        raise ConfigError(f'{folder}: no scenes of a pool "{pool}"{near}; there are: {there}')
    wanted = parse_description(objects, opened.attributes)
    rows = (parse_row(row, path, line) for path in files for line, row in read_numbered_rows(path))
    return (scene for scene in rows if shows(wanted, scene))
