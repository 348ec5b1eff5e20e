"""Checks whether a folder has its edition's content; for other datasets, computes a digest to compare."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.dataset.binding import difference
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.manifest import Manifest
from clevrhope.editions.content import PARTS, Content, Tree, read_content, whole_digest
from clevrhope.editions.definition import read_edition
from clevrhope.editions.frozen import SHORT, Frozen, read_frozen
from clevrhope.runtime.progress import Progress, Silent

_TEXT = PARTS[:2]

MOST_LINES = 12
"""The most lines of a list of faults or differences."""


@dataclass(frozen=True)
class Verification:
    """The result of verifying a folder.

    Attributes:
        folder: as given; of an import in the user's cache, the published files.
        published: whether it was imported, so that images are not compared, and scenes may be unknown.
        edition: its name; "" if the dataset is not an edition.
        private: whether it is a private edition, for which there are no digests to compare with.
        splits: the digests.
        n_of_edition: number of splits in the whole edition; 0 for other datasets.
        n_questions: number of questions in the folder.
        n_scenes: number of scenes in the folder.
        n_images: number of images that were read.
        every_image: only images whose index in the pool is a multiple of this were read.
        differences: a phrase for each part of a split that differs from the edition.
        faults: a sentence for each file that is damaged or missing.
    """

    folder: str
    published: bool
    edition: str
    private: bool
    splits: Tree
    n_of_edition: int
    n_questions: int
    n_scenes: int
    n_images: int
    every_image: int
    differences: tuple[str, ...]
    faults: tuple[str, ...]

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

    def lines(self) -> Iterator[str]:
        """The result in sentences."""
        if self.faults:
            yield f"{self.folder}: {_counted(len(self.faults), 'file')} damaged or missing:"
            yield from _first(self.faults)
        if self.edition and not self.private:
            yield from self._compared()
        elif not self.faults:
            yield f"{self.folder}: {self._counts()}"
        if self.digest:
            yield f"Digest of text and images: {self.digest}"
        if self.text_digest:
            yield f"Digest of the text:        {self.text_digest}"
        if self.text_digest and (self.private or not self.edition):
            whose = f"This is a private edition of {self.edition}: two" if self.private else "Two"
            same = "content"
            if self.n_images and self.every_image > 1:
                same = f"text, and the same images where they are compared (one in {self.every_image})"
            yield f"{whose} folders with the same digest have the same {same}."

    def _compared(self) -> Iterator[str]:
        """How a public edition compares with what was frozen."""
        if self.differences:
            yield f"{self.folder}: the content is not that of everybody's {self.edition}:"
            yield from _first(self.differences)
            return
        what = "what could be read" if self.faults else "the content"
        yield f"{self.folder}: {what} is that of everybody's {self.edition}: {self._counts()}"

    def _counts(self) -> str:
        of = f" of {self.n_of_edition}" if self.n_of_edition > self.n_splits else ""
        images = "images not compared" if self.published else "no images"
        if self.n_images:
            images = _counted(self.n_images, "image")
            if self.every_image > 1:
                images += f" compared (one in {self.every_image})"
        splits = f"{self.n_splits}{of} splits" if of else _counted(self.n_splits, "split")
        has_scenes = self.n_scenes or not self.published
        scenes = f"{self.n_scenes:,} scenes" if has_scenes else "scenes not published"
        return f"{splits}, {self.n_questions:,} questions, {scenes}, {images}"


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
        opened.title,
        bool(manifest.source),
        edition.name if edition else "",
        private,
        content.splits,
        sum(map(len, frozen.splits.values())) if frozen else 0,
        content.n_questions,
        content.n_scenes,
        sum(map(len, content.images.values())),
        every_image,
        tuple(_differences(content, frozen, manifest)) if frozen else (),
        content.faults,
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


def _first(sentences: Sequence[str]) -> Iterator[str]:
    """The first few lines of a list, and how many more there are."""
    yield from (f"  {each}" for each in sentences[:MOST_LINES])
    if len(sentences) > MOST_LINES:
        yield f"  and {len(sentences) - MOST_LINES} more, which --json lists"


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"
