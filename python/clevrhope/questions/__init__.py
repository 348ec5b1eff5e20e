"""Templates and scenes in, questions out: families read from a folder, and asked of scenes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from clevrhope import _core
from clevrhope._core import QuestionBatch, SceneBatch, Templates, World
from clevrhope.errors import TemplateError
from clevrhope.runtime import assets
from clevrhope.runtime.forms import FILE_NAME, Fields, ListOf, check_form
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import read_bytes

__all__ = ["QuestionBatch", "Templates", "instantiate_questions", "read_templates", "synonyms_path"]

SYNONYMS = "synonyms.json"
FAMILIES = "families.json"
"""In a folder of templates: not templates, but the words for values, and the order of the files."""


def read_templates(world: World, folder: Path | str | None = None) -> Templates:
    """Reads a folder of question templates in CLEVR's format, the original's own included.

    Families are numbered through the files as CLEVR v1.0 numbers them, other files after those by name; a
    `families.json` in the folder gives another order.

    Args:
        world: whose attribute values the questions name.
        folder: JSON files; the package's templates if not given.

    Raises:
        TemplateError: not such a folder; names the file, the template and the place in it.
    """
    folder = Path(folder or assets.question_templates())
    files = sorted(path for path in folder.glob("*.json") if path.name not in (SYNONYMS, FAMILIES))
    if not files:
        raise TemplateError(f"{folder}: no JSON files; expected question templates in CLEVR's format")
    synonyms = synonyms_path(folder)
    return Templates(
        [(path.stem, _read(path)) for path in files],
        _order(folder),
        _read(synonyms),
        world,
        synonyms_file=str(synonyms),
    )


def synonyms_path(folder: Path) -> Path:
    """The words for values that go with a folder of templates.

    They lie in it, beside it as in CLEVR's generator, or they are the package's.
    """
    places = (folder / SYNONYMS, folder.parent / SYNONYMS, assets.question_templates() / SYNONYMS)
    return next(path for path in places if path.is_file() or path is places[-1])


def instantiate_questions(
    scenes: SceneBatch,
    *,
    seed: int,
    templates: Templates,
    questions_per_scene: int = 9,
    pair: Sequence[tuple[str, str]] | None = None,
    questions: Literal["any", "without", "unimplied", "with"] = "any",
) -> QuestionBatch:
    """Asks questions on scenes, balanced over windows of 250 of them; for scenes from anywhere.

    `select_split` makes a split of a pool; this takes scenes as they come, CLEVR's published ones too.
    `json.loads(batch.to_json(split="train"))` gives the questions' dictionaries.

    Args:
        scenes: sampled, or read from a scene file; at least one.
        seed: from 0 to 2**64 - 1.
        templates: made for the scenes' vocabulary.
        questions_per_scene: how many are wanted; a scene that gives fewer contributes fewer.
        pair: held-out values as (attribute type, value), of different types.
        questions: which to ask: any, those "without" a mention of the pair, "unimplied" ones that ask for it
            by no likeness either, or those "with" a mention.

    Raises:
        SplitError: not a pair of values.
        VocabularyError: templates and scenes of two vocabularies.
    """
    return _core.instantiate_questions(
        scenes,
        templates,
        seed=seed,
        pair=pair,
        questions=questions,
        questions_per_scene=questions_per_scene,
    )


def _order(folder: Path) -> list[str]:
    """Names of template files without suffix, in the order in which families are numbered."""
    own = folder / FAMILIES
    path = own if own.is_file() else assets.question_templates() / FAMILIES
    raw = parse_json(_read(path), path, error=TemplateError)
    check_form(raw, Fields({"files": ListOf(FILE_NAME)}), path, error=TemplateError)
    return [Path(name).stem for name in raw["files"]]


def _read(path: Path) -> bytes:
    return read_bytes(path, "question templates", error=TemplateError)
