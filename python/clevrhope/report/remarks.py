"""What a reader must know about results: remarks, tables of single runs, and where numbers come from."""

from collections.abc import Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Any

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.errors import ClevrhopeError
from clevrhope.metrics.published import size_name
from clevrhope.report.page import Table
from clevrhope.report.results import BY_FAMILY, QUESTION_ONLY, Result, grouped
from clevrhope.report.runs import Source
from clevrhope.report.setups import differences

DIGEST_LETTERS = 12
"""Letters of a digest that are shown."""


def remarks(results: Sequence[Result]) -> dict[str, Any]:
    """What is said of baselines, missing predictions, instructions, and notes of features and models."""
    missing = [result for result in results if result.n_missing]
    unanswered = [result for result in results if any(result.n_unanswered.values())]
    return {
        "has_stand_in": any(result.blind and result.blind.name == BY_FAMILY for result in results),
        "other_sizes": list(dict.fromkeys(
            f"{result.size} ({size_name(result.blind.train_size)})"
            for result in results
            if result.blind
            and result.blind.name == QUESTION_ONLY
            and result.blind.train_size != result.train_size
        )),
        "n_missing": sum(result.n_missing for result in missing),
        "first_missing": f"{missing[0].model}, {missing[0].hop}" if missing else "",
        "n_unanswered": sum(sum(result.n_unanswered.values()) for result in unanswered),
        "unanswered": list(dict.fromkeys(result.model for result in unanswered)),
        "instructions": {
            label: list(dict.fromkeys(result.model for result in of_label))
            for label, of_label in grouped(
                results, lambda result: result.source.setup.get("instruction", "")
            ).items()
            if label
        },
        "notes": {
            note: list(dict.fromkeys(result.model for result in of_note))
            for note, of_note in grouped(results, lambda result: result.source.note).items()
            if note
        },
    }  # fmt: skip


def setup_tables(results: Sequence[Result]) -> dict[str, Table]:
    """For each model that was trained or asked in different ways, a table of what its names mean."""
    tables: dict[str, Table] = {}
    groups = ((r.source.model, bool(r.source.hop)) for r in results if r.source.group)
    for model, is_run in dict.fromkeys(groups):
        named = {r.source.name: r for r in results if (r.source.model, bool(r.source.hop)) == (model, is_run)}
        # Names contain the dataset's path only if nothing else distinguishes datasets.
        setups = [{**result.source.setup, "dataset.folder": None} for result in named.values()]
        rows = list(zip(named, differences(setups), strict=True))
        others = tables[model].rows if model in tables else []
        tables[model] = Table(["name in this report", "settings that differ"], [*others, *rows])
    return tables


def datasets_table(sources: Sequence[Source]) -> Table:
    """The datasets, with digests."""
    folders = dict.fromkeys(source.dataset.resolve() for source in sources)
    return Table(["folder", "seed", "world", "templates", "manifest"], list(map(_dataset_cells, folders)))


def files_table(sources: Sequence[Source]) -> Table:
    """The files of predictions, with digests."""
    rows = [[_short_path(s), s.name, s.after or s.checkpoint, _digest(s.path)] for s in sources]
    return Table(["file", "model", "checkpoint", "digest"], rows)


def _dataset_cells(folder: Path) -> list[str]:
    layout = Layout(folder)
    try:
        manifest = existing_manifest(layout.manifest)
    except ClevrhopeError:
        return [folder.name, "", "", "", ""]
    prints = [str(of["fingerprint"])[:DIGEST_LETTERS] for of in (manifest.world, manifest.templates)]
    return [folder.name, manifest.seed_in_words, *prints, _digest(layout.manifest)]


def _short_path(source: Source) -> str:
    """The file's path from the folder with the runs; only its name where a link leads out of that folder."""
    path, runs = source.path.resolve(), source.origin.resolve().parent
    return str(path.relative_to(runs) if path.is_relative_to(runs) else path.name)


def _digest(path: Path) -> str:
    """The digest of a file; "" where it cannot be read, which the report says elsewhere."""
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()[:DIGEST_LETTERS]
    except OSError:
        return ""
