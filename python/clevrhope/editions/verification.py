"""Checks whether a folder has its edition's content; for other datasets, computes a digest to compare."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.dataset.binding import difference
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.manifest import Manifest
from clevrhope.editions.content import PARTS, Content, read_content, whole_digest
from clevrhope.editions.definition import read_edition
from clevrhope.editions.frozen import SHORT, Frozen, read_frozen
from clevrhope.pages import render_page
from clevrhope.runtime.progress import Progress, Silent

_TEXT = PARTS[:2]


@dataclass(frozen=True)
class Verification(Content):
    """The result of verifying a folder: its content, and how that compares with its edition.

    Attributes, beside those of `Content`:
        folder: as given; of an import in the user's cache, the published files.
        published: whether it was imported, so that images are not compared, and scenes may be unknown.
        edition: its name; "" if the dataset is not an edition.
        private: whether it is a private edition, for which there are no digests to compare with.
        n_of_edition: number of splits in the whole edition; 0 for other datasets.
        every_image: only images whose index in the pool is a multiple of this were read.
        differences: a phrase for each part of a split that differs from the edition.
    """

    folder: str
    published: bool
    edition: str
    private: bool
    n_of_edition: int
    every_image: int
    differences: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every file could be read and nothing differs from the edition."""
        return not (self.differences or self.faults)

    @property
    def text_digest(self) -> str | None:
        """The digest of questions and, if they are known, scenes; None if a file could not be read."""
        return None if self.faults else whole_digest(self.splits, _TEXT[: 2 if self.n_scenes else 1])

    @property
    def digest(self) -> str | None:
        """The digest of questions, scenes and images; None also if there are no images."""
        return None if self.faults else whole_digest(self.splits, PARTS)

    @property
    def n_splits(self) -> int:
        """Number of splits that could be read."""
        return sum(map(len, self.splits.values()))

    @property
    def n_images(self) -> int:
        """Number of images that were read."""
        return sum(map(len, self.images.values()))

    def as_json(self) -> dict[str, Any]:
        """Everything, for `--json`."""
        return {
            "folder": self.folder,
            "edition": self.edition or None,
            "private": self.private,
            "ok": self.ok,
            "digest": self.digest,
            "text_digest": self.text_digest,
            "questions": self.n_questions,
            "scenes": self.n_scenes,
            "images": self.n_images,
            "every_image": self.every_image,
            "splits_of_edition": self.n_of_edition,
            "splits": self.splits,
            "differences": list(self.differences),
            "faults": list(self.faults),
        }

    def lines(self) -> list[str]:
        """The result in sentences."""
        return render_page("verify.txt", found=self).rstrip("\n").split("\n")


def verify(folder: Path | str, progress: Progress | None = None) -> Verification:
    """Computes the digests of a finished dataset, and compares those of an edition with the frozen ones.

    A damaged or missing file is reported in the result; the other files are still read.

    Raises:
        WrongFolderError: the folder is not a dataset.
        DatasetError: its manifest is damaged, its build is not finished, or it is a part of a dataset.
        ConfigError: it is an edition that this version does not have.
    """
    folder = Path(folder)
    opened = Folder.open(folder)
    layout, manifest = opened.layout, opened.manifest
    edition = read_edition(manifest.edition["name"]) if manifest.edition else None
    every_image = edition.every_image if edition else 1
    content = read_content(layout, manifest, progress or Silent(), every_image=every_image)
    private = bool(manifest.edition and manifest.edition["private"])
    frozen = read_frozen(edition) if edition and not private else None
    return Verification(
        **vars(content),
        folder=opened.title,
        published=bool(manifest.source),
        edition=edition.name if edition else "",
        private=private,
        n_of_edition=sum(map(len, frozen.splits.values())) if frozen else 0,
        every_image=every_image,
        differences=tuple(_differences(content, frozen, manifest)) if frozen else (),
    )


def _differences(content: Content, frozen: Frozen, manifest: Manifest) -> Iterator[str]:
    """The parts of splits that differ from what was frozen, after a possible reason."""
    wanted, found = frozen.engine["rendering"], manifest.rendering
    if found is not None and found != wanted:
        yield f"the recorded rendering: {difference(wanted, found, sides=('in the edition', 'here'))}"
    for hop, splits in content.splits.items():
        for split, parts in splits.items():
            digests = frozen.splits.get(hop, {}).get(split)
            if digests is None:
                yield f"{hop}/{split}: the edition has no such split"
                continue
            for name, digest in parts.items():
                if digest == digests[name]:
                    continue
                yield f"{hop}/{split}: other {name}" + (
                    _first_image(content, frozen, hop, split) if name == "images" else ""
                )


def _first_image(content: Content, frozen: Frozen, hop: str, split: str) -> str:
    """The first image of a split that differs, in words that follow the difference."""
    for pool, indices in content.checked[hop, split].items():
        there = frozen.images.get(pool, {})
        for index in indices.tolist():
            if content.images[pool][index][:SHORT] != there.get(index):
                return f", first image {index} of the pool {pool}"
    return ""
