"""The layout of a dataset's folder."""

import glob
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from clevrhope.dataset.suite_pools import parse_suite_pool
from clevrhope.runtime.atomic import OWN_PREFIX, DiskError
from clevrhope.runtime.lock import OR_ELSEWHERE, FolderInUseError, locked
from clevrhope.splits.covr.kinds import covr_file, is_covr
from clevrhope.splits.hops import NONE
from clevrhope.splits.nonce.kinds import is_nonce, nonce_file

FOLDERS = ("covr", "hops", "images", "nonce", "passes", "scenes")
"""Folders with the dataset's files, directly below its root."""

ON_ANOTHER_DISK = ("images", "passes")
"""Those of them that may be links to another disk."""

SCENES_A_SHARD = 10_000
"""Number of scene indices that one scene file covers, whether they are used or not."""


@dataclass(frozen=True)
class Layout:
    """The paths of one dataset's files."""

    root: Path

    @property
    def manifest(self) -> Path:
        """The file with seed, settings, and every file's size and checksum."""
        return self.root / "manifest.json"

    @property
    def vocab(self) -> Path:
        """The numbers of words, functions and answers."""
        return self.root / "vocab.json"

    @property
    def datasheet(self) -> Path:
        """The datasheet of the whole dataset."""
        return self.root / "DATASHEET.md"

    @property
    def measured(self) -> Path:
        """The measurements of the whole dataset."""
        return self.root / "measured.json"

    @property
    def contact_sheet(self) -> Path:
        """An HTML page with some images and questions of each split."""
        return self.root / "index.html"

    def images(self, pool: str) -> Path:
        """The folder of a pool's PNG files."""
        return self._of_pools("images", pool) / _folder_name(pool)

    def image(self, pool: str, index: int) -> Path:
        """The image of one scene."""
        return self.images(pool) / image_filename(pool, index)

    def images_h5(self, pool: str) -> Path:
        """All images of a pool."""
        return self._of_pools("images", pool) / f"{_folder_name(pool)}.h5"

    def image_record(self, pool: str) -> Path:
        """The record of where the images of an imported pool are."""
        return self._of_pools("images", pool) / f"{_folder_name(pool)}.npz"

    def image_store(self, pool: str) -> Path:
        """The file of images that wait to be packed into HDF5, if the folder keeps no PNG files."""
        return self._of_pools("images", pool) / f"{OWN_PREFIX}{_folder_name(pool)}"

    def passes_h5(self, pool: str) -> Path:
        """Masks, depths and normals of all images of a pool."""
        return self.root / "passes" / f"{pool}.h5"

    def passes_store(self, pool: str) -> Path:
        """The records of annotations that wait to be packed into HDF5; a machine's part keeps them."""
        return self.root / "passes" / pool

    def passes_record(self, pool: str, index: int) -> Path:
        """The annotations of one image that wait to be packed into HDF5."""
        return self.passes_store(pool) / f"{Path(image_filename(pool, index)).stem}.passes"

    def scenes(self, pool: str) -> Path:
        """The folder of a pool's scene files."""
        return self._of_pools("scenes", pool) / _folder_name(pool)

    def _of_pools(self, kind: str, pool: str) -> Path:
        """The folder `images` or `scenes` that holds a pool: the dataset's, or the one of its suite."""
        of_suite = parse_suite_pool(pool)
        return (self.suite(of_suite.hop, of_suite.suite) if of_suite else self.root) / kind

    def scene_files(self, pool: str) -> list[Path]:
        """The existing scene files of a pool, in order; other files in its folder belong to the user."""
        there = sorted(numbered_files(self.scenes(pool), "", ".json", digits=4).items())
        return [path for _, path in there if path.is_file()]

    def scene_shard(self, pool: str, shard: int) -> Path:
        """The file of the scenes from `shard * SCENES_A_SHARD` to the last before the next file's first."""
        return self.scenes(pool) / f"{shard:04d}.json"

    def hop(self, hop: str) -> Path:
        """The folder of a sub-dataset."""
        return self.root / "hops" / hop

    def questions_h5(self, hop: str, split: str) -> Path:
        """A split's questions as arrays."""
        path = self._questions(hop, split)
        return path.with_name(f"{path.name}.h5")

    def questions_json(self, hop: str, split: str) -> Path:
        """A split's questions in the format of CLEVR's files."""
        path = self._questions(hop, split)
        return path.with_name(f"{path.name}_questions.json")

    def _questions(self, hop: str, split: str) -> Path:
        """The path of a split's files, without what follows; a kind of questions can have its own folder."""
        if is_nonce(split):  # episodes hold nothing out, so no other sub-dataset has any
            return self.nonce_vocab.parent / ("" if hop == NONE else hop) / nonce_file(split)
        folder = self.root / "covr" / hop if is_covr(split) else self.hop(hop)
        return folder / covr_file(split)

    def vocab_of(self, split: str) -> Path:
        """The vocabulary that numbers a split's tokens and answers."""
        if is_nonce(split):
            return self.nonce_vocab
        return self.covr_vocab if is_covr(split) else self.vocab

    @property
    def nonce_vocab(self) -> Path:
        """The numbers for episodes with nonce words: the dataset's, followed by those of more words."""
        return self.root / "nonce" / "vocab.json"

    @property
    def covr_vocab(self) -> Path:
        """The numbers for questions about sets of images: the dataset's, followed by their own."""
        return self.root / "covr" / "vocab.json"

    def suite(self, hop: str, suite: str) -> Path:
        """The folder of a suite of paired tests on a sub-dataset."""
        return self.hop(hop) / "suites" / suite

    def suite_h5(self, hop: str, suite: str, split: str) -> Path:
        """The pairs of a suite on a split's questions, as arrays."""
        return self.suite(hop, suite) / f"{split}.h5"

    def suite_json(self, hop: str, suite: str, split: str) -> Path:
        """The pairs of a suite on a split's questions, as a CLEVR question file."""
        return self.suite(hop, suite) / f"{split}_questions.json"

    def suite_vocab(self, hop: str, suite: str) -> Path:
        """The numbers of words, functions and answers of a suite: the dataset's, followed by its own."""
        return self.suite(hop, suite) / "vocab.json"

    def hop_datasheet(self, hop: str) -> Path:
        """The datasheet of a sub-dataset."""
        return self.hop(hop) / "DATASHEET.md"

    def hop_measured(self, hop: str) -> Path:
        """The measurements of a sub-dataset, which its datasheet shows."""
        return self.hop(hop) / "measured.json"

    def folders(self) -> Iterator[Path]:
        """Every folder to which the dataset's files are written."""
        yield self.root
        for name in FOLDERS:
            for folder in (self.root / name, *sorted((self.root / name).glob("*"))):
                if folder.is_dir():
                    yield folder
        for suite in sorted((self.root / "hops").glob("*/suites/*")):
            yield from (suite, *sorted(suite.glob("images")), *sorted(suite.glob("images/*/")))
            yield from sorted(suite.glob("scenes/*/"))

    def relative(self, path: Path) -> str:
        """The name of a file in the manifest: its path relative to the root, with forward slashes."""
        return path.relative_to(self.root).as_posix()


def locked_layout(root: Path) -> AbstractContextManager[None]:
    """Locks a dataset's folder for a run that writes to it; errors as for `locked`."""
    return locked(root, FOLDERS, elsewhere=ON_ANOTHER_DISK)


@contextmanager
def changed_layout(root: Path) -> Iterator[None]:
    """As `locked_layout`, for a command that changes a dataset in place and so has no --out to advise."""
    try:
        with locked_layout(root):
            yield
    except DiskError as error:
        raise DiskError(error.path, error.error, option=None) from error.error
    except FolderInUseError as error:
        raise FolderInUseError(str(error).removesuffix(OR_ELSEWHERE)) from error


def _folder_name(pool: str) -> str:
    """The name of a pool's folders; a pool of a suite is in the suite's own folder."""
    of_suite = parse_suite_pool(pool)
    return of_suite.split if of_suite else pool


def image_filename(pool: str, index: int) -> str:
    """The file name of an image, unique over all pools, as in scene and question files."""
    return f"HOPE_{pool}_{index:06d}.png"


def image_index(path: Path) -> int:
    """The scene's index in the path of an image, whose name comes from `image_filename`."""
    return int(path.stem.rpartition("_")[2])


def numbered_files(folder: Path, begin: str, suffix: str, *, digits: int = 6) -> dict[int, Path]:
    """The files of a folder named `begin`, a number of `digits` to nine digits, and `suffix`, by number.

    Other files belong to the user. Empty if the folder does not exist.
    """
    pattern = re.compile(rf"{re.escape(begin)}(\d{{{digits},9}}){re.escape(suffix)}")
    found = ((pattern.fullmatch(path.name), path) for path in folder.glob(f"{glob.escape(begin)}*"))
    return {int(match[1]): path for match, path in found if match}


def images_of(folder: Path, pool: str) -> dict[int, Path]:
    """The PNG files of a pool's images in a folder, by the scene's index."""
    return numbered_files(folder, f"HOPE_{pool}_", ".png")


def own_files(pool: str, suffix: str) -> re.Pattern[str]:
    """The names of a pool's records in a working folder."""
    return re.compile(rf"HOPE_{re.escape(pool)}_\d{{6,9}}{re.escape(suffix)}")
