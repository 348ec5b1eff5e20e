"""The order in which an audit runs its checks: cheap and basic checks come first."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from clevrhope.audit.checks.clevr_leaks import check_clevr_folder, check_clevr_leaks, distances_from_clevr
from clevrhope.audit.checks.clevr_scenes import check_clevr_scenes
from clevrhope.audit.checks.counts import check_counts
from clevrhope.audit.checks.files import check_files
from clevrhope.audit.checks.images import check_images, check_passes
from clevrhope.audit.checks.leaks import check_pairs
from clevrhope.audit.checks.object_counts import check_object_counts
from clevrhope.audit.checks.readability import check_readable, unreadable
from clevrhope.audit.checks.scenes import check_scenes, n_grouped_scenes
from clevrhope.audit.checks.text import check_text
from clevrhope.audit.checks.visibility import MOST_SCENES, check_visibility
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.audit.report import Check, Report
from clevrhope.audit.sets.check import check_sets
from clevrhope.audit.suites.check import check_suites
from clevrhope.errors import DatasetError, SceneError
from clevrhope.runtime.progress import Advance, Progress, Silent

CHECKSUMS = "Comparing checksums"
SETS = "Reading questions over several images"

LINES: Mapping[str, Sequence[str]] = {
    CHECKSUMS: ("files",),
    "Counting": ("counts",),
    "Comparing scenes": (
        "twin scenes",
        "relationships",
        "train and test",
        "minimal groups",
        "preliminary sets",
    ),
    "Comparing splits": ("numbers of objects",),
    "Looking at CLEVR's scenes": ("scenes from CLEVR",),
    "Looking at objects": ("visible objects",),
    "Parsing texts into programs": ("text", "duplicates", "balance", "arrays"),
    "Executing programs, looking for leaks": (
        "programs",
        "held-out pair",
        "palette",
        "apart",
        "HDF5 and JSON",
        "minimal answers",
    ),
    "Reading pairs of suites": (
        "pairs",
        "pair programs",
        "pair answers",
        "pair mentions",
        "pair texts",
        "pair balance",
        "pair foils",
        "pair files",
        "added questions",
        "pair images",
    ),
    SETS: (
        "several images: files",
        "several images: programs",
        "several images: distractors",
        "several images: pair",
        "several images: texts",
        "several images: balance",
    ),
    "Looking at images": ("images",),
    "Looking at annotations": ("passes",),
    "Comparing with CLEVR": ("scenes of CLEVR", "questions of CLEVR"),
}
"""Stage -> the lines of the report that it fills."""


def audit(
    folder: Path,
    *,
    against: Path | None = None,
    templates: Path | None = None,
    properties: Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Proves what can be proved about a finished dataset from its files alone.

    Args:
        folder: The dataset.
        against: A CLEVR_v1.0 folder; the dataset must contain nothing from its val and test splits.
        templates: The dataset's question templates, if they are not the package's.
        properties: The dataset's properties file, if it is not the package's.
        progress: Shows the progress of the audit.

    Raises:
        DatasetError: there is no dataset, it has no vocabulary, the templates or properties are not the
            dataset's, or the CLEVR folder cannot be read. Everything else is in the report, including files
            of the dataset that are missing or cannot be read.
    """
    opened = AuditFolder(folder, templates=templates, properties=properties)
    opened.templates.files()  # fails here, before any long check begins
    if against is not None:
        check_clevr_folder(against)
    shown = progress or Silent()
    leaks = LeakCheck(folder, words=opened.templates.words)
    pools = leaks.pools  # all checks share them, so that each scene is read once
    manifest = opened.manifest
    with shown.stage("Opening files", total=len(manifest.files), unit="files") as advance:
        readable = check_readable(opened, advance)
    checks = [readable]

    def stage(title: str, total: int, unit: str, run: Callable[[Advance], Check | Iterable[Check]]) -> None:
        while title == CHECKSUMS or opened.splits or not opened.left_out:
            try:
                with shown.stage(title, total=total, unit=unit) as advance:
                    found = run(advance)
            except (DatasetError, SceneError) as error:
                file = unreadable(readable, opened, error)
                if opened.leave_out(file):
                    continue
                break
            for check in [found] if isinstance(found, Check) else found:
                check.leave_out([file for file in opened.left_out if _needs(check.name, file)])
                checks.append(check)
            return
        else:
            file = opened.left_out[0]
        checks.extend(_not_done(name, file) for name in LINES[title])

    n_questions = sum(int(split["questions"]) for hop in manifest.splits.values() for split in hop.values())
    n_images = sum(int(pool["pictures"]) for pool in manifest.pools.values())
    n_annotated = n_images if manifest.config.get("passes") else 0
    stage(CHECKSUMS, len(manifest.files), "files", partial(check_files, opened))
    stage("Counting", len(opened.splits), "splits", partial(check_counts, opened))
    stage("Comparing scenes", n_grouped_scenes(opened), "scenes", partial(check_scenes, opened, pools))
    n_splits = len(opened.splits)
    stage("Comparing splits", n_splits, "splits", partial(check_object_counts, opened, pools))
    # A total of 0 means unknown: only the scenes tell how many of them are CLEVR's.
    stage("Looking at CLEVR's scenes", 0, "scenes", partial(check_clevr_scenes, opened, pools))
    stage("Looking at objects", MOST_SCENES, "scenes", partial(check_visibility, opened, pools))
    stage("Parsing texts into programs", n_questions, "questions", partial(check_text, opened, pools))
    stage(
        "Executing programs, looking for leaks",
        len(opened.hops),
        "pairs",
        partial(check_pairs, opened, leaks),
    )
    n_files = len(opened.suites) + len(opened.augmented)
    stage("Reading pairs of suites", n_files, "files", partial(check_suites, opened, leaks))
    n_set_splits = len(opened.set_splits)
    stage(SETS, n_set_splits, "splits", partial(check_sets, opened, leaks))
    stage("Looking at images", n_images, "images", partial(check_images, opened))
    stage("Looking at annotations", n_annotated, "images", partial(check_passes, opened))
    beside: Sequence[Mapping[str, Any]] = ()
    if against is not None:
        title = "Comparing with CLEVR"
        if readable.n_faults:
            checks += [_not_done(name, readable.faults[0].file) for name in LINES[title]]
        else:
            n_scenes = sum(len(pools[pool].indices) for pool in opened.pools)
            with shown.stage(title, total=n_scenes, unit="scenes") as advance:
                checks += check_clevr_leaks(opened, against, advance)
            beside = distances_from_clevr(opened, against, shown)
    for check in checks:
        check.finish()
    return Report(str(folder), tuple(hop.name for hop in opened.hops), tuple(checks), beside)


def _needs(line: str, file: str) -> bool:
    """Whether a line of the report depends on the content of a file."""
    if line == "files":
        return False
    for folder, title in (("images/", "Looking at images"), ("passes/", "Looking at annotations")):
        if file.startswith(folder):
            return line in LINES[title]
    of_sets = line in LINES[SETS]
    if file.startswith("covr/"):
        return of_sets
    if of_sets:
        return file.startswith("scenes/")
    of_suites = line in LINES["Reading pairs of suites"]
    if "/suites/" in file and not of_suites:
        return line == "counts" and not file.endswith("_questions.json")
    if file.endswith("_questions.json"):
        return line == ("pair files" if "/suites/" in file else "HDF5 and JSON")
    return not of_suites or "/suites/" in file or file.startswith(("hops/", "scenes/"))


def _not_done(name: str, file: str) -> Check:
    check = Check(name, "", "")
    check.skip(f"{file} cannot be read")
    return check
