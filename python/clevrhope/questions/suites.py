"""Suites of paired tests, prepared for a dataset's templates (docs/suites.md describes the files)."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from clevrhope._core import Suite, Templates, Vocabulary
from clevrhope.errors import TemplateError
from clevrhope.questions import template_files
from clevrhope.questions.hypernyms import HYPERNYMS, check_hypernyms, hypernym_entries, read_hypernyms
from clevrhope.runtime import assets
from clevrhope.runtime.forms import TEXT, ListOf, MapOf, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.paths import is_name
from clevrhope.runtime.settings import suggestion

SUBJECTS = "subjects.json"
"""The file of a suite with the noun phrases that replace {X} in its texts."""

OF_SETS = "covr"
"""Ends the names of tables with questions over several images, as a suite's name ends those of its own."""

ORIGINALS = "originals.json"
"""The file of a suite with templates of questions that no dataset has, for originals of its own."""


def suite_names() -> list[str]:
    """The suites that come with the package."""
    return sorted(path.name for path in (assets.question_templates() / "suites").iterdir() if path.is_dir())


def suite_folder(name: str, folder: Path | None = None) -> Path:
    """The folder of a suite: one of the package's, or a user's own.

    For a user's own suite, `folder` may also be a folder of templates with the suite in `suites/NAME`.

    Raises:
        TemplateError: there is no such suite; its name cannot be that of a folder or is reserved for
            questions over several images; or a user's own suite has the name of one of the package's.
    """
    if not is_name(name):
        raise TemplateError(f'"{name}" cannot be the name of a suite; use letters, digits, - and _')
    if name == OF_SETS:
        raise TemplateError(f'a suite cannot be called "{name}", as questions over several images are')
    known, own = suite_names(), assets.question_templates() / "suites" / name
    if folder is not None and not folder.is_dir():
        raise TemplateError(f"{folder}: no such folder; --templates takes a folder of JSON files")
    if folder is not None and any((folder / "suites" / name).glob("*.json")):
        folder = folder / "suites" / name
    if folder is not None:
        if name in known and suite_fingerprint(folder) != suite_fingerprint(own):
            raise TemplateError(f"{name} is a suite of the package; give the one in {folder} another name")
        return folder
    if name not in known:
        raise TemplateError(
            f'no suite "{name}"{suggestion(name, known)}; the package has {", ".join(known)}, and visual; '
            "--templates FOLDER reads a suite of your own, and --texts FILE paraphrases"
        )
    return own


def suite_fingerprint(folder: Path) -> str:
    """SHA-256 of the names and contents of a suite's files, by which the audit knows where pairs come from.

    Raises:
        TemplateError: there are no files, or one cannot be read.
    """
    digest = hashlib.sha256()
    for name, content in template_files(folder):
        digest.update(f"{name}.json {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def read_suite(
    name: str, templates: Templates, vocabulary: Vocabulary, *, folder: Path, template_folder: Path
) -> Suite:
    """Reads a suite and prepares it for the templates of a dataset.

    Args:
        name: the suite's name, on which its random draws depend.
        templates: the dataset's templates.
        vocabulary: the dataset's values, which a table of hypernyms names.
        folder: the folder of the suite's files, which are lists of entries.
        template_folder: the folder that the templates were read from.

    Raises:
        TemplateError: an entry does not match the templates; names the file and the place in it.
    """
    entries = [each for each in template_files(folder) if f"{each[0]}.json" not in (SUBJECTS, HYPERNYMS)]
    if (folder / HYPERNYMS).is_file():
        hypernyms = read_hypernyms(folder / HYPERNYMS)
        shapes = dict(vocabulary.attribute_types)["shape"]
        check_hypernyms(folder / HYPERNYMS, hypernyms, shapes, templates.words)
        entries.append((Path(HYPERNYMS).stem, json.dumps(hypernym_entries(hypernyms)).encode()))
    subjects: Mapping[str, Sequence[str]] = {}
    if (folder / SUBJECTS).is_file():
        subjects = read_object(folder / SUBJECTS, "noun phrases by family", error=TemplateError)
        check_form(subjects, MapOf(ListOf(TEXT)), folder / SUBJECTS, error=TemplateError)
    return Suite(
        name,
        files=entries,
        subjects=subjects,
        templates=templates,
        template_files=template_files(template_folder),
    )
