"""Locates each scene of a file, so that one can be read without those before it."""

from pathlib import Path
from typing import Any

from clevrhope.dataset.clevr_json import parse_row, scene_index
from clevrhope.dataset.json_rows import open_lines, rows_of_lines
from clevrhope.errors import DatasetError


class SceneLines:
    """The positions of the scenes in a file written by this package; takes about 200 bytes per scene."""

    def __init__(self, path: Path) -> None:
        """Finds the positions without parsing the scenes.

        Raises:
            DatasetError: the file is missing, or not a scene file.
        """
        self._path = path
        self._places: dict[int, tuple[int, int]] = {}
        with open_lines(path) as file:
            place = len(file.readline())
            for line, row in rows_of_lines(file, path):
                self._places.setdefault(scene_index(row, path, line), (line, place))
                place = file.tell()

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<{len(self):,} scenes of {self._path}>"

    def read(self, index: int) -> dict[str, Any]:
        """Reads the scene with this index, as in its row.

        Raises:
            DatasetError: the scene is missing or broken, or the file has changed.
        """
        if index not in self._places:
            raise DatasetError(f"{self._path}: no scene {index}; run the dataset's build again")
        line, place = self._places[index]
        with open_lines(self._path) as file:
            file.seek(place)
            _, row = next(rows_of_lines(file, self._path), (line, b""))
            scene = parse_row(row, self._path, line)
        if scene["image_index"] != index:
            raise DatasetError(f"{self._path}:{line}: not scene {index} any more; load the page again")
        return scene
