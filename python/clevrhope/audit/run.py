"""Runs the checks of the table in order, and leaves out whatever needs a file that cannot be read."""

from pathlib import Path

from clevrhope.audit.checks.clevr_leaks import check_clevr_folder, check_clevr_leaks
from clevrhope.audit.checks.files import check_readable, unreadable
from clevrhope.audit.folder import AuditFolder, kind_of
from clevrhope.audit.report import Check, Line, Report
from clevrhope.audit.table import BESIDE_CLEVR, CHECKSUMS, READABLE, STAGES, Stage
from clevrhope.errors import DatasetError, SceneError
from clevrhope.runtime.progress import Progress, Silent


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
    readable = READABLE.check()
    with shown.stage("Opening files", total=len(opened.manifest.files), unit="files") as advance:
        check_readable(opened, readable, advance)
    checks = [readable]
    for stage in STAGES:
        checks += _run(stage, opened, readable, shown)
    if against is not None and readable.n_faults:
        checks += [_not_done(opened, line, readable.faults[0].file) for line in BESIDE_CLEVR]
    elif against is not None:
        lines = {line.name: line.check() for line in BESIDE_CLEVR}
        n_scenes = sum(len(opened.scenes[pool].indices) for pool in opened.pools)
        with shown.stage("Comparing with CLEVR", total=n_scenes, unit="scenes") as advance:
            check_clevr_leaks(opened, against, lines, advance)
        checks += lines.values()
    for check in checks:
        check.finish()
    return Report(str(folder), tuple(hop.name for hop in opened.hops), tuple(checks))


def _run(stage: Stage, folder: AuditFolder, readable: Check, shown: Progress) -> list[Check]:
    """Runs a stage, again without each file that turns out to be unreadable; returns its lines."""
    while stage is CHECKSUMS or folder.splits or not folder.left_out:
        lines = {line.name: line.check(folder.manifest.world["constraints"]) for line in stage.lines}
        try:
            with shown.stage(stage.title, total=stage.total(folder), unit=stage.unit) as advance:
                stage.run(folder, lines, advance)
        except (DatasetError, SceneError) as error:
            file = unreadable(readable, folder, error)
            if folder.leave_out(file):
                continue
            break
        for line in stage.lines:
            lines[line.name].leave_out(
                [file for file in folder.left_out if kind_of(file) in stage.needs_of(line)]
            )
        return [*lines.values()]
    else:
        file = folder.left_out[0]
    return [_not_done(folder, line, file) for line in stage.lines]


def _not_done(folder: AuditFolder, line: Line, file: str) -> Check:
    check = line.check(folder.manifest.world["constraints"])
    check.skip(f"{file} cannot be read")
    return check
