"""A folder in, the report of all checks out: what is cheap and basic first."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from clevrhope.audit.checks.against import beside_clevr, check_against, check_clevr_folder
from clevrhope.audit.checks.cameras import Cameras
from clevrhope.audit.checks.copies import check_copies
from clevrhope.audit.checks.counts import check_counts
from clevrhope.audit.checks.files import check_files
from clevrhope.audit.checks.images import check_images
from clevrhope.audit.checks.leaks import check_pairs
from clevrhope.audit.checks.matched import check_matched
from clevrhope.audit.checks.passes import check_passes
from clevrhope.audit.checks.published import check_published
from clevrhope.audit.checks.readable import check_readable, unreadable
from clevrhope.audit.checks.scenes import check_scenes, n_grouped_scenes
from clevrhope.audit.checks.text import check_templates, check_text
from clevrhope.audit.checks.visible import MOST_SCENES, check_visible
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.audit.report import Report, Tally
from clevrhope.errors import DatasetError, SceneError
from clevrhope.runtime.progress import Advance, Progress, Silent

_Check = Callable[[Advance], Tally | Iterable[Tally]]

CHECKSUMS = "Comparing checksums"

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
    "Reading texts backwards": ("text", "duplicates", "balance", "arrays"),
    "Executing programs, looking for leaks": (
        "programs",
        "held-out pair",
        "palette",
        "apart",
        "HDF5 and JSON",
        "minimal answers",
    ),
    "Looking at images": ("images", "objects in images"),
    "Looking at annotations": ("passes",),
    "Comparing with CLEVR": ("scenes of CLEVR", "questions of CLEVR", "copies of CLEVR"),
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
    """Proves what can be proved of a finished dataset with nothing but its files.

    Args:
        folder: The dataset.
        against: A CLEVR_v1.0 folder, of whose val and test nothing may be in the dataset.
        templates: Its question templates, where they are not the package's.
        properties: Its values and looks, where they are not the package's.
        progress: What shows how far it is.

    Raises:
        DatasetError: no dataset, one without a vocabulary, templates or properties that are not the folder's,
            or a CLEVR folder that cannot be read. All else is in the report, and so are files of the dataset
            that are missing or cannot be read.
    """
    opened = AuditFolder(folder, templates=templates, properties=properties)
    check_templates(opened)
    if against is not None:
        check_clevr_folder(against)
    shown = progress or Silent()
    leaks = LeakCheck(folder, words=opened.templates.words)  # reads the scenes, once for all that follows
    n_questions = sum(
        int(split["questions"]) for hop in opened.manifest.splits.values() for split in hop.values()
    )
    readable = Tally("readable", "", "")
    tallies: list[Tally] = []

    def stage(title: str, total: int, unit: str, check: _Check) -> None:
        nonlocal readable
        lines = LINES[title]
        while True:
            if opened.left_out and not opened.splits and title != CHECKSUMS:
                tallies.extend(_not_done(name, opened.left_out[0]) for name in lines)
                return
            try:
                with shown.stage(title, total=total, unit=unit) as advance:
                    found = check(advance)
                break
            except (DatasetError, SceneError) as error:
                file = unreadable(readable, opened, error)
                if not opened.leave_out(file):
                    tallies.extend(_not_done(name, file) for name in lines)
                    return
        for tally in [found] if isinstance(found, Tally) else found:
            tally.leave_out([file for file in opened.left_out if _needs(tally.name, file)])
            tallies.append(tally)

    n_files = len(opened.manifest.files)
    with shown.stage("Opening files", total=n_files, unit="files") as advance:
        readable = check_readable(opened, advance)
    tallies.append(readable)
    stage(CHECKSUMS, n_files, "files", partial(check_files, opened))
    stage("Counting", len(opened.splits), "splits", partial(check_counts, opened))
    stage("Comparing scenes", n_grouped_scenes(opened), "scenes", partial(check_scenes, opened, leaks.pools))
    stage("Comparing splits", len(opened.splits), "splits", partial(check_matched, opened, leaks.pools))
    # How many there are is in the scenes alone.
    cameras = Cameras()
    stage("Looking at CLEVR's scenes", 0, "scenes", partial(check_published, opened, cameras))
    stage(
        "Looking at objects",
        MOST_SCENES,
        "scenes",
        partial(check_visible, opened, leaks.pools, cameras),
    )
    stage("Reading texts backwards", n_questions, "questions", partial(check_text, opened, leaks.pools))
    stage(
        "Executing programs, looking for leaks",
        len(opened.hops),
        "pairs",
        partial(check_pairs, opened, leaks),
    )
    n_images = sum(int(pool["pictures"]) for pool in opened.manifest.pools.values())
    stage("Looking at images", n_images, "images", partial(check_images, opened, cameras))
    n_annotated = n_images if opened.manifest.config.get("passes") else 0
    stage("Looking at annotations", n_annotated, "images", partial(check_passes, opened))
    beside: Sequence[Mapping[str, Any]] = ()
    if against is not None:
        title = "Comparing with CLEVR"
        if readable.n_faults:
            tallies += [_not_done(name, readable.faults[0].file) for name in LINES[title]]
        else:
            n_scenes = sum(len(leaks.pools[pool].indices) for pool in opened.pools)
            with shown.stage(title, total=n_scenes, unit="scenes") as advance:
                tallies += check_against(opened, against, advance)
            # How many there are is in the scenes alone.
            with shown.stage("Comparing copies of CLEVR", total=0, unit="scenes") as advance:
                tallies += check_copies(opened, against, advance)
            beside = beside_clevr(opened, against, shown)
    checks = tuple(each.check() for each in tallies)
    return Report(str(folder), tuple(hop.name for hop in opened.hops), checks, beside)


def _needs(line: str, file: str) -> bool:
    """Whether a line looks at what is in a kind of file."""
    if line == "files":
        return False
    for folder, title in (("images/", "Looking at images"), ("passes/", "Looking at annotations")):
        if file.startswith(folder):
            return line in LINES[title]
    return line == "HDF5 and JSON" or not file.endswith("_questions.json")


def _not_done(name: str, file: str) -> Tally:
    tally = Tally(name, "", "")
    tally.skip(f"{file} cannot be read")
    return tally
