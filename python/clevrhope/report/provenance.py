"""Where a report's numbers come from: datasets and files of predictions, with digests."""

from collections.abc import Iterator, Sequence
from hashlib import file_digest
from pathlib import Path

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.errors import ClevrhopeError
from clevrhope.report.page import Block, Cell, Heading, Table, Text
from clevrhope.report.runs import Source
from clevrhope.version import software_version

_SHORT = 12


def provenance_blocks(sources: Sequence[Source]) -> Iterator[Block]:
    """The section on datasets and files."""
    yield Heading("Provenance")
    yield Text(
        f"Written by clevrhope {software_version()}. Digests are the first {_SHORT} letters of SHA-256."
    )
    yield Table(
        title="Datasets",
        head=["folder", "seed", "world", "templates", "manifest"],
        rows=[
            [Cell(text) for text in _dataset(path)]
            for path in dict.fromkeys(each.dataset.resolve() for each in sources)
        ],
    )
    yield Table(
        title="Files of predictions",
        head=["file", "model", "checkpoint", "digest"],
        rows=[
            [
                Cell(_short_path(each)),
                Cell(each.name),
                Cell(each.after or each.checkpoint),
                Cell(_digest(each.path)),
            ]
            for each in sources
        ],
    )


def _dataset(folder: Path) -> list[str]:
    layout = Layout(folder)
    try:
        manifest = existing_manifest(layout.manifest)
    except ClevrhopeError:
        return [folder.name, "", "", "", ""]
    prints = [str(each["fingerprint"])[:_SHORT] for each in (manifest.world, manifest.templates)]
    return [folder.name, manifest.seed_in_words, *prints, _digest(layout.manifest)]


def _short_path(source: Source) -> str:
    """The file's path from the folder with the runs; its name alone where a link leads out of that."""
    path, runs = source.path.resolve(), source.origin.resolve().parent
    return str(path.relative_to(runs) if path.is_relative_to(runs) else path.name)


def _digest(path: Path) -> str:
    """The digest of a file; "" where it cannot be read, which the report says elsewhere."""
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()[:_SHORT]
    except OSError:
        return ""
