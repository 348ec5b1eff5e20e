"""The vocabulary of scenes: CLEVR's, or that of a properties file."""

from functools import cache
from pathlib import Path

from clevrhope._core import Vocabulary
from clevrhope.errors import VocabularyError
from clevrhope.runtime.assets import blender_assets
from clevrhope.runtime.reading import read_utf8


@cache
def default_vocabulary() -> Vocabulary:
    """CLEVR's attribute types and values, from the properties file that comes with the package."""
    return read_vocabulary(blender_assets() / "properties.json")


def read_vocabulary(path: Path | str) -> Vocabulary:
    """Reads the vocabulary of a properties file in CLEVR's format.

    Raises:
        VocabularyError: the file is something else, or cannot be read; says where.
    """
    content = read_utf8(Path(path), "a properties file", error=VocabularyError)
    return Vocabulary(content, file=str(path))
