"""The templates of a dataset's questions: the package's own, or files that the caller gives."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clevrhope.dataset.folder import Folder
from clevrhope.errors import DatasetError, TemplateError
from clevrhope.questions import read_templates, synonyms_path
from clevrhope.questions.suites import suite_fingerprint
from clevrhope.runtime import assets
from clevrhope.runtime.forms import TEXT, ListOf, MapOf, check_form
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import read_utf8
from clevrhope.scenes import World


@dataclass(frozen=True)
class TemplateFiles:
    """The templates of a dataset's questions, and the words for values."""

    folder: Path
    files: Sequence[tuple[str, bytes]]
    """Name without suffix and content of each file, in the order in which their families are numbered."""
    synonyms: bytes
    """The words for attribute values, as JSON."""
    words: Mapping[str, Sequence[str]]
    """The words for attribute values."""
    suite: Path | None
    """The folder that the user gave, if it belongs to a suite of the dataset."""


def find_templates(
    folder: Folder, world: World, given: Path | None, fingerprints: Iterable[str]
) -> TemplateFiles:
    """The templates that a dataset was made with.

    Args:
        folder: the dataset.
        world: its world.
        given: the folder that the user gave, if any; it may be that of one of the dataset's suites.
        fingerprints: those of its suites.

    Raises:
        DatasetError: the dataset was made with other templates.
    """
    manifest = folder.manifest
    package = assets.question_templates()
    of_suite = None
    if given is not None and any(given.glob("*.json")) and suite_fingerprint(given) in fingerprints:
        of_suite = given
    paths = [given or package]
    if of_suite is not None:
        paths = [path for path in (package, of_suite.resolve().parent.parent) if any(path.glob("*.json"))]
    for path in paths:
        try:
            fingerprint = read_templates(world, path).fingerprint
        except TemplateError as error:
            if path != given or not manifest.suites:
                raise
            raise TemplateError(
                f"{error}; and {path} does not have the files of a suite as it was made"
            ) from error
        if fingerprint == manifest.templates.get("fingerprint"):
            files = [
                (Path(name).stem, read_utf8(path / name, "templates")) for name in manifest.templates["files"]
            ]
            synonyms = read_utf8(synonyms_path(path), "synonyms")
            words = parse_json(synonyms, synonyms_path(path))
            check_form(words, MapOf(ListOf(TEXT)), synonyms_path(path))
            return TemplateFiles(path, files, synonyms, words, of_suite)
    name = manifest.config.get("templates", "question_templates")
    raise DatasetError(
        f"{folder.layout.manifest}: made with other templates than those in {paths[0]}; "
        f"name the folder's {name} with --templates"
    )
