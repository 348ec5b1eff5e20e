"""The stages of the audit in the order in which they run: cheap and basic ones first.

`checks.toml` says what each of their checks proves.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from clevrhope.audit.checks.clevr import check_clevr_scenes
from clevrhope.audit.checks.counts import check_counts
from clevrhope.audit.checks.files import check_files
from clevrhope.audit.checks.images import check_images, check_passes
from clevrhope.audit.checks.questions import check_text
from clevrhope.audit.checks.scenes import MOST_SCENES, check_object_counts, check_scenes, check_visibility
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.leaks.check import check_pairs
from clevrhope.audit.report import Results
from clevrhope.audit.sets.check import check_sets
from clevrhope.audit.suites.check import check_suites
from clevrhope.dataset import question_kinds
from clevrhope.runtime.progress import Advance

QUESTIONS = ("questions", "scenes")
"""The kinds of files that checks of questions about single images need."""
PAIRS = (*QUESTIONS, "pairs")
SETS = ("sets", "scenes")

JSON_FILES = {"HDF5 and JSON": "question files", "pair files": "question files of pairs"}
"""The kind of files that a check needs besides those of its stage."""


@dataclass(frozen=True)
class AuditStage:
    """A function that checks, and the lines of the report that it fills."""

    title: str
    """What the progress display calls it."""
    unit: str
    """What is counted while it runs."""
    total: Callable[[AuditFolder], int]
    """How many of these there are; 0 means unknown."""
    run: Callable[[AuditFolder, Results, Advance], None]
    """Raises a DatasetError or SceneError that names a file which is missing or cannot be read."""
    checks: tuple[str, ...]
    """The names of its checks."""
    needs: Collection[str] = QUESTIONS
    """The kinds of files without which all its checks are done in part."""


def _n_images(folder: AuditFolder) -> int:
    return sum(int(pool["images"]) for pool in folder.manifest.pools.values())


def _n_splits(folder: AuditFolder) -> int:
    return len(folder.splits)


def _n_annotated(folder: AuditFolder) -> int:
    return _n_images(folder) if folder.manifest.config.get("passes") else 0


CHECKSUMS = AuditStage(
    "Comparing checksums", "files", lambda folder: len(folder.manifest.files), check_files, ("files",), ()
)
"""The one stage that needs no file to be readable."""

STAGES = (
    CHECKSUMS,
    AuditStage("Counting", "splits", _n_splits, check_counts, ("counts",), PAIRS),
    AuditStage(
        "Comparing scenes",
        "pools",
        lambda folder: len(folder.pools),
        check_scenes,
        ("twin scenes", "relationships", "train and test"),
    ),
    AuditStage("Comparing splits", "splits", _n_splits, check_object_counts, ("numbers of objects",)),
    AuditStage(
        "Looking at CLEVR's scenes",
        "scenes",
        lambda folder: 0,  # only the scenes tell how many of them are CLEVR's
        check_clevr_scenes,
        ("scenes from CLEVR",),
    ),
    AuditStage(
        "Looking at objects", "scenes", lambda folder: MOST_SCENES, check_visibility, ("visible objects",)
    ),
    AuditStage(
        "Parsing texts into programs",
        "questions",
        lambda folder: sum(file.n_rows for file in folder.all_files if file.kind is not question_kinds.SETS),
        check_text,
        ("text", "duplicates", "balance", "arrays"),
    ),
    AuditStage(
        "Executing programs, looking for leaks",
        "pairs",
        lambda folder: len(folder.hops),
        check_pairs,
        ("programs", "held-out pair", "palette", "apart", "HDF5 and JSON", "groups"),
    ),
    AuditStage(
        "Reading pairs of suites",
        "files",
        lambda folder: len(folder.pairs) + len(folder.added),
        check_suites,
        (
            *("pairs", "pair programs", "pair answers", "pair mentions", "pair texts", "pair balance"),
            *("pair foils", "pair files", "added questions", "pair images"),
        ),
        PAIRS,
    ),
    AuditStage(
        "Reading questions over several images",
        "splits",
        lambda folder: len(folder.sets),
        check_sets,
        tuple(
            f"several images: {name}"
            for name in ("files", "programs", "distractors", "pair", "texts", "balance")
        ),
        SETS,
    ),
    AuditStage("Looking at images", "images", _n_images, check_images, ("images",), (*QUESTIONS, "images")),
    AuditStage(
        "Looking at annotations", "images", _n_annotated, check_passes, ("passes",), (*QUESTIONS, "passes")
    ),
)

BESIDE_CLEVR = ("scenes of CLEVR", "questions of CLEVR")
"""The checks beside a CLEVR folder."""
