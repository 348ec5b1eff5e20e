"""Questions from templates: reads folders of question families, and asks their questions about scenes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from clevrhope import _core
from clevrhope._core import Phrasings, QuestionBatch, SceneBatch, Templates, Vocabulary, World
from clevrhope.errors import TemplateError
from clevrhope.runtime import assets
from clevrhope.runtime.forms import FILE_NAME, Fields, ListOf, check_form
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import read_utf8
from clevrhope.runtime.settings import check_whole
from clevrhope.scenes.forms import Scenes, read_batch, vocabulary_of
from clevrhope.scenes.vocabulary import default_vocabulary
from clevrhope.splits.nonce.words import NONCE

SYNONYMS = "synonyms.json"
FAMILIES = "families.json"
COVR = "covr.json"
"""Files in a folder of templates: the words for values, the order of the template files, the sentences of
questions over several images."""
NO_TEMPLATES = (SYNONYMS, FAMILIES, COVR, NONCE)
"""The files of such a folder that are not templates in CLEVR's format."""

_MOST = 2**32 - 1
"""The most questions that the engine is asked for about a scene; none yields as many."""


def read_templates(source: World | Vocabulary, folder: Path | str | None = None) -> Templates:
    """Reads a folder of question templates in CLEVR's format, such as CLEVR's own.

    Families are numbered through CLEVR's files as in CLEVR v1.0, then through other files by name; a
    `families.json` in the folder gives another order.

    Args:
        source: the source of the attribute values that the questions name.
        folder: a folder of JSON files; by default the package's templates.

    Raises:
        TemplateError: the folder is invalid; names the file, the template and the place in it.
    """
    folder = Path(folder or assets.question_templates())
    vocabulary = source.vocabulary if isinstance(source, World) else source
    synonyms = synonyms_path(folder)
    found = template_files(folder)
    return Templates(found, _order(folder), _read(synonyms), vocabulary, synonyms_file=str(synonyms))


def read_phrasings(vocabulary: Vocabulary, folder: Path | None = None) -> Phrasings:
    """Reads the sentences of questions over several images, from a folder of templates or the package.

    Raises:
        TemplateError: the file is invalid; names the template and the phrasing.
    """
    places = (*((folder / COVR,) if folder else ()), assets.question_templates() / COVR)
    path = next(path for path in places if path.is_file() or path is places[-1])
    return Phrasings(_read(path), vocabulary, file=str(path))


def template_files(folder: Path) -> list[tuple[str, bytes]]:
    """The template files of a folder, by name without suffix.

    Raises:
        TemplateError: there are none, or one cannot be read.
    """
    files = sorted(path for path in folder.glob("*.json") if path.name not in NO_TEMPLATES)
    if not files:
        raise TemplateError(f"{folder}: no JSON files; expected question templates in CLEVR's format")
    return [(path.stem, _read(path)) for path in files]


def synonyms_path(folder: Path) -> Path:
    """The file of words for values: in a folder of templates, beside it as in CLEVR's generator, or ours."""
    places = (folder / SYNONYMS, folder.parent / SYNONYMS, assets.question_templates() / SYNONYMS)
    return next(path for path in places if path.is_file() or path is places[-1])


def instantiate_questions(
    scenes: Scenes,
    *,
    seed: int,
    templates: Templates | None = None,
    questions_per_scene: int = 9,
    held_out: Sequence[tuple[str, str]] | None = None,
    questions: Literal["any", "without", "unimplied", "with"] = "any",
    vocabulary: Vocabulary | None = None,
) -> QuestionBatch:
    """Asks questions about scenes from any source, balanced over windows of 250 scenes.

    `select_split` makes a split of a pool; this function takes any scenes, including those published with
    CLEVR. `json.loads(batch.to_json(split="train"))` returns the questions as dictionaries.

    Args:
        scenes: those of `sample_scenes`, one scene in CLEVR's JSON form, a list of them, or what json.load
            gives of a scene file. Each object needs its size, color, material and shape, and each scene its
            `relationships`, or the `3d_coords` of its objects: relations then follow its `directions`, or its
            `camera`, or the camera of CLEVR's scenes.
        seed: from 0 to 2**64 - 1.
        templates: made for the scenes' vocabulary; by default the package's own.
        questions_per_scene: number of questions wanted; some scenes yield fewer.
        held_out: held-out values as (attribute type, value), of different types.
        questions: "any"; "without" a mention of the pair; "unimplied" for questions that do not ask for it by
            a comparison either; or "with" a mention.
        vocabulary: the values that scenes in JSON may name; by default those of a `SceneBatch` or `Scene`, or
            CLEVR's.

    Raises:
        ConfigError: the seed or `questions_per_scene` is not a whole number from 0 to 2**64 - 1.
        SceneError: a scene lacks something, or two have one `image_index`; names the place.
        SplitError: `held_out` is not a pair of values.
        VocabularyError: templates and scenes have different vocabularies.
    """
    check_whole("seed", seed)
    check_whole("questions_per_scene", questions_per_scene)
    vocabulary = vocabulary or vocabulary_of(scenes) or default_vocabulary()
    return _core.instantiate_questions(
        scenes if isinstance(scenes, SceneBatch) else read_batch(scenes, vocabulary),
        templates or read_templates(vocabulary),
        seed=seed,
        held_out=held_out,
        questions=questions,
        questions_per_scene=min(questions_per_scene, _MOST),
    )


def _order(folder: Path) -> list[str]:
    """Names of template files without suffix, in the order in which families are numbered."""
    own = folder / FAMILIES
    path = own if own.is_file() else assets.question_templates() / FAMILIES
    raw = parse_json(_read(path), path, error=TemplateError)
    check_form(raw, Fields({"files": ListOf(FILE_NAME)}), path, error=TemplateError)
    return [Path(name).stem for name in raw["files"]]


def _read(path: Path) -> bytes:
    return read_utf8(path, "question templates", error=TemplateError)
