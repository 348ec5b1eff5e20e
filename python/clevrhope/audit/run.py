"""Runs the checks of the table in order, and leaves out whatever needs a file that cannot be read."""

from collections.abc import Iterable
from pathlib import Path

from clevrhope.audit.all_checks import BESIDE_CLEVR, CHECKSUMS, JSON_FILES, STAGES, AuditStage
from clevrhope.audit.checks.clevr import check_clevr_folder, check_clevr_leaks
from clevrhope.audit.checks.files import check_readable, unreadable
from clevrhope.audit.folder import AuditFolder, kind_of
from clevrhope.audit.imported import audit_imported
from clevrhope.audit.report import CheckResult, Report, new_results
from clevrhope.dataset.folder import Folder
from clevrhope.errors import ConfigError, DatasetError, SceneError
from clevrhope.runtime.progress import Progress, Silent


def audit(
    folder: Path,
    *,
    against: Path | None = None,
    templates: Path | None = None,
    properties: Path | None = None,
    pixels: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Proves what can be proved about a finished dataset from its files alone.

    Args:
        folder: The dataset.
        against: A CLEVR_v1.0 folder; the dataset must contain nothing from its val and test splits.
        templates: The dataset's question templates, if they are not the package's.
        properties: The dataset's properties file, if it is not the package's.
        pixels: Whether images of an imported dataset are compared by their pixels, which takes long.
        progress: Shows the progress of the audit.

    Raises:
        ConfigError: an option is for datasets that were built, and this one was imported.
        DatasetError: there is no dataset, it has no vocabulary, the templates or properties are not the
            dataset's, or the CLEVR folder cannot be read. Everything else is in the report, including files
            of the dataset that are missing or cannot be read.
    """
    shown = progress or Silent()
    if (imported := Folder.open(folder)).manifest.source:
        _check_of_imported(folder, against=against, templates=templates, properties=properties)
        return audit_imported(imported, pixels=pixels, progress=shown)
    opened = AuditFolder(folder, templates=templates, properties=properties)
    if against is not None:
        check_clevr_folder(against)
    readable = new_results(["readable"])["readable"]
    with shown.stage("Opening files", total=len(opened.manifest.files), unit="files") as advance:
        check_readable(opened, readable, advance)
    lines = [readable]
    for stage in STAGES:
        lines += _run(stage, opened, readable, shown)
    if against is not None and readable.n_faults:
        lines += _not_done(BESIDE_CLEVR, opened, readable.faults[0].file)
    elif against is not None:
        results = new_results(BESIDE_CLEVR)
        n_scenes = sum(len(opened.scenes[pool].indices) for pool in opened.pools)
        with shown.stage("Comparing with CLEVR", total=n_scenes, unit="scenes") as advance:
            check_clevr_leaks(opened, against, results, advance)
        lines += results.values()
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
    while stage is CHECKSUMS or folder.splits or not folder.left_out:
        results = new_results(stage.checks, folder.manifest.world["constraints"])
        try:
            with shown.stage(stage.title, total=stage.total(folder), unit=stage.unit) as advance:
                stage.run(folder, results, advance)
        except (DatasetError, SceneError) as error:
            file = unreadable(readable, folder, error)
            if not folder.leave_out(file):
                return _not_done(stage.checks, folder, file)
            continue
        for name, result in results.items():
            needs = {*stage.needs, JSON_FILES.get(name)}
            result.leave_out([file for file in folder.left_out if kind_of(file) in needs])
        return results.values()
    return _not_done(stage.checks, folder, folder.left_out[0])


def _not_done(checks: Iterable[str], folder: AuditFolder, file: str) -> Iterable[CheckResult]:
    """The results of checks that a file prevents."""
    results = new_results(checks, folder.manifest.world["constraints"]).values()
    for result in results:
        result.skip(f"{file} cannot be read")
    return results
