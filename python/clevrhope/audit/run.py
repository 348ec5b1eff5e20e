"""A folder in, the report of all checks out: what is cheap and basic first."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from clevrhope.audit.against import beside_clevr, check_against, check_clevr_folder
from clevrhope.audit.counts import check_counts
from clevrhope.audit.files import check_files
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.leaks import check_pairs
from clevrhope.audit.pictures import check_pictures
from clevrhope.audit.report import Report, Tally
from clevrhope.audit.scenes import check_scenes, n_grouped_scenes
from clevrhope.audit.text import check_templates, check_text
from clevrhope.dataset.leaks import LeakCheck
from clevrhope.progress import Advance, Progress, Silent


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
        DatasetError: no dataset, a file that is missing or cannot be read at all, or templates or properties
            that are not the folder's. All else is in the report.
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
    tallies: list[Tally] = []

    def stage(title: str, total: int, unit: str, check: Callable[[Advance], Tally | Iterable[Tally]]) -> None:
        with shown.stage(title, total=total, unit=unit) as advance:
            found = check(advance)
        tallies.extend([found] if isinstance(found, Tally) else found)

    stage("Comparing checksums", len(opened.manifest.files), "files", partial(check_files, opened))
    stage("Counting", len(opened.splits), "splits", partial(check_counts, opened))
    stage("Comparing scenes", n_grouped_scenes(opened), "scenes", partial(check_scenes, opened, leaks.pools))
    stage("Reading texts backwards", n_questions, "questions", partial(check_text, opened, leaks.pools))
    stage(
        "Executing programs, looking for leaks",
        len(opened.hops),
        "pairs",
        partial(check_pairs, opened, leaks),
    )
    n_pictures = sum(int(pool["pictures"]) for pool in opened.manifest.pools.values())
    stage("Looking at pictures", n_pictures, "pictures", partial(check_pictures, opened))
    beside: Sequence[Mapping[str, Any]] = ()
    if against is not None:
        n_scenes = sum(len(leaks.pools[pool].indices) for pool in opened.pools)
        stage("Comparing with CLEVR", n_scenes, "scenes", partial(check_against, opened, against))
        beside = beside_clevr(opened, against, shown)
    checks = tuple(each.check() for each in tallies)
    return Report(str(folder), tuple(hop.name for hop in opened.hops), checks, beside)
