"""The stages of the audit in the order in which they run, cheap and basic ones first, and how they run.

`checks.toml` says what each of their checks proves. Whatever needs a file that cannot be read is left out.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from clevrhope.audit.captions import audit_captions
from clevrhope.audit.checks.clevr import check_clevr_leaks, check_clevr_scenes, read_clevr
from clevrhope.audit.checks.counts import check_counts
from clevrhope.audit.checks.files import check_files, check_readable, unreadable
from clevrhope.audit.checks.images import check_images, check_passes
from clevrhope.audit.checks.questions import check_text
from clevrhope.audit.checks.scenes import MOST_SCENES, check_object_counts, check_scenes, check_visibility
from clevrhope.audit.folder import AuditFolder, kind_of
from clevrhope.audit.imported import audit_imported
from clevrhope.audit.leaks.check import check_pairs
from clevrhope.audit.nonce import PREFIX, RULES, check_nonce
from clevrhope.audit.report import CheckResult, Report, Results, new_results
from clevrhope.audit.sets.check import check_sets
from clevrhope.audit.suites.check import check_suites
from clevrhope.dataset import question_kinds
from clevrhope.dataset.captions import is_captions
from clevrhope.dataset.folder import Folder
from clevrhope.errors import ConfigError, DatasetError, SceneError
from clevrhope.runtime.progress import Advance, Progress, Silent

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
    run: Callable[[AuditFolder, Results, Advance], None]
    """Raises a DatasetError or SceneError that names a file which is missing or cannot be read."""
    checks: tuple[str, ...]
    """The names of its checks."""
    needs: Collection[str] = QUESTIONS
    """The kinds of files without which all its checks are done in part."""
    total: Callable[[AuditFolder], int] = lambda folder: 0
    """How many units there are; 0 means unknown."""


def _n_images(folder: AuditFolder) -> int:
    return sum(int(pool["images"]) for pool in folder.manifest.pools.values())


def _n_annotated(folder: AuditFolder) -> int:
    return _n_images(folder) if folder.manifest.config.get("passes") else 0


def _n_scenes(folder: AuditFolder) -> int:
    return sum(len(folder.scenes[pool].indices) for pool in folder.pools)


def _n_splits(folder: AuditFolder) -> int:
    return len(folder.splits)


def _n_questions(folder: AuditFolder) -> int:
    return sum(file.n_rows for file in folder.all_files if file.kind is not question_kinds.SETS)


def _n_hops(folder: AuditFolder) -> int:
    return len(folder.hops)


def _n_looked_at(folder: AuditFolder) -> int:
    return MOST_SCENES


OF_SCENES = ("twin scenes", "relationships", "train and test")
OF_QUESTIONS = ("text", "duplicates", "balance", "arrays")
OF_LEAKS = ("programs", "held-out pair", "palette", "apart", "HDF5 and JSON", "groups")
OF_SUITES = (
    "pairs", "pair programs", "pair answers", "pair mentions", "pair texts", "pair balance",
    "pair foils", "pair files", "added questions", "pair images",
)  # fmt: skip
OF_SETS = tuple(
    f"several images: {name}" for name in ("files", "programs", "distractors", "pair", "texts", "balance")
)
OF_NONCE = tuple(f"{PREFIX}{name}" for name in RULES)
"""The names of the checks that stages with many of them have."""

CHECKSUMS = AuditStage(
    "Comparing checksums", "files", check_files, ("files",), (), lambda folder: len(folder.manifest.files)
)
"""The one stage that needs no file to be readable."""

STAGES = (
    CHECKSUMS,
    AuditStage("Counting", "splits", check_counts, ("counts",), PAIRS, _n_splits),
    AuditStage("Comparing scenes", "scenes", check_scenes, OF_SCENES),
    AuditStage("Comparing splits", "splits", check_object_counts, ("numbers of objects",), total=_n_splits),
    AuditStage("Looking at CLEVR's scenes", "scenes", check_clevr_scenes, ("scenes from CLEVR",)),
    AuditStage("Looking at objects", "scenes", check_visibility, ("visible objects",), total=_n_looked_at),
    AuditStage("Parsing texts into programs", "questions", check_text, OF_QUESTIONS, total=_n_questions),
    AuditStage("Executing programs, looking for leaks", "pairs", check_pairs, OF_LEAKS, total=_n_hops),
    AuditStage("Reading pairs of suites", "files", check_suites, OF_SUITES, PAIRS),
    AuditStage("Reading questions over several images", "splits", check_sets, OF_SETS, SETS),
    AuditStage("Reading episodes with nonce words", "episodes", check_nonce, OF_NONCE, ("nonce", "scenes")),
    AuditStage("Looking at images", "images", check_images, ("images",), (*QUESTIONS, "images"), _n_images),
    AuditStage(
        "Looking at annotations", "images", check_passes, ("passes",), (*QUESTIONS, "passes"), _n_annotated
    ),
)

BESIDE_CLEVR = ("scenes of CLEVR",)
"""The check beside a CLEVR folder."""


def audit(
    folder: Path | str,
    *,
    against: Path | None = None,
    templates: Path | None = None,
    properties: Path | None = None,
    pixels: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Proves what can be proved about a finished dataset from its files alone.

    Args:
        folder: The dataset, or a folder of captions.
        against: A CLEVR_v1.0 folder; the dataset must contain nothing from its val and test splits.
        templates: The dataset's question templates, if they are not the package's.
        properties: The dataset's properties file, if it is not the package's.
        pixels: Whether images of an imported dataset are compared by their pixels, which takes long.
        progress: Shows the progress of the audit.

    Raises:
        ConfigError: an option is for datasets that were built, and this one was imported, or has captions.
        DatasetError: there is no dataset, it has no vocabulary, the templates or properties are not the
            dataset's, or the CLEVR folder cannot be read. Everything else is in the report, including files
            of the dataset that are missing or cannot be read.
    """
    folder, shown = Path(folder), progress or Silent()
    if is_captions(folder):
        if against or templates or properties:
            raise ConfigError(f"{folder}: it has captions, whose audit takes no options")
        return audit_captions(folder)
    if (imported := Folder.open(folder)).manifest.source:
        _check_of_imported(folder, against=against, templates=templates, properties=properties)
        return audit_imported(imported, pixels=pixels, progress=shown)
    opened = AuditFolder(folder, templates=templates, properties=properties)
    stages = [*STAGES]
    if against is not None:
        check = partial(check_clevr_leaks, published=read_clevr(against))
        title = "Comparing with CLEVR"
        stages.append(AuditStage(title, "scenes", check, BESIDE_CLEVR, total=_n_scenes))
    readable = new_results(["readable"])["readable"]
    with shown.stage("Opening files", total=len(opened.manifest.files), unit="files") as advance:
        check_readable(opened, readable, advance)
    lines = [readable]
    for stage in stages:
        lines += _run(stage, opened, readable, shown)
    for line in lines:
        line.finish()
    return Report(str(folder), tuple(hop.name for hop in opened.hops), tuple(lines))


def _check_of_imported(folder: Path, **choices: Path | None) -> None:
    """Checks that no option is given that the audit of an imported dataset would not use."""
    if choices.pop("templates"):
        raise ConfigError(
            f"--templates: {folder} was imported already; give them to clevrhope import, or give the "
            "published files to clevrhope audit"
        )
    if given := [name for name, choice in choices.items() if choice]:
        raise ConfigError(f"--{given[0]}: not for {folder}, which was imported; leave it out")


def _run(
    stage: AuditStage, folder: AuditFolder, readable: CheckResult, shown: Progress
) -> Iterable[CheckResult]:
    """Runs a stage, again without each file that turns out to be unreadable; returns its results.

    Once no split is left, or a file that all need cannot be read, its checks are not done.
    """
    constraints = folder.manifest.world["constraints"]
    file = ""
    while stage is CHECKSUMS or folder.splits or not folder.left_out:
        results = new_results(stage.checks, constraints)
        try:
            with shown.stage(stage.title, total=stage.total(folder), unit=stage.unit) as advance:
                stage.run(folder, results, advance)
        except (DatasetError, SceneError) as error:
            file = unreadable(readable, folder, error)
            if folder.leave_out(file):
                continue
            break
        for name, result in results.items():
            needs = {*stage.needs, JSON_FILES.get(name)}
            result.leave_out([file for file in folder.left_out if kind_of(file) in needs])
        return results.values()
    results = new_results(stage.checks, constraints)
    for result in results.values():
        result.skip(f"{file or folder.left_out[0]} cannot be read")
    return results.values()
