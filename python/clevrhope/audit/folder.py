"""A dataset as the checks of an audit see it: manifest, vocabulary, questions, scenes and templates.

All of it is in the folder, except templates and properties. The manifest names these by fingerprint; they
are the package's own, or files that the caller gives.
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from clevrhope._core import SceneBatch, object_ids
from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.audit.question_files import (
    PairFile,
    QuestionFile,
    SetFile,
    SplitFile,
    pair_files,
    question_files,
)
from clevrhope.audit.templates import TemplateFiles, find_templates
from clevrhope.dataset.clevr_json import read_numbered_rows
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.question_kinds import KINDS, SETS, SINGLE
from clevrhope.dataset.scene_files import Pools
from clevrhope.dataset.split_files import SetArrays, SplitArrays, Vocab, read_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.forms import COUNT, Fields, check_form
from clevrhope.scenes import World
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS

F = TypeVar("F", bound=QuestionFile[SplitArrays])

FILES = (
    ("covr/", "", "sets"),
    ("hops/*/suites/", "_questions.json", "question files of pairs"),
    ("hops/*/suites/", "", "pairs"),
    ("hops/", "_questions.json", "question files"),
    ("hops/", ".h5", "questions"),
    ("scenes/", "", "scenes"),
    ("images/", "", "images"),
    ("passes/", "", "passes"),
    ("", ".h5", "questions"),
)
"""How the paths of files of a kind begin and end, and the kind; the first that fits counts."""


def kind_of(file: str) -> str:
    """The kind of a file by its path below the folder; "" for files that no check of content reads."""
    return next((kind for begin, end, kind in FILES if fnmatch(file, f"{begin}*{end}")), "")


class AuditFolder:
    """A finished dataset."""

    def __init__(self, root: Path, *, templates: Path | None = None, properties: Path | None = None) -> None:
        """Opens a dataset, with its own templates and properties if they are not the package's.

        Raises:
            DatasetError: there is no dataset, it is not finished, or its manifest is incomplete.
        """
        self._folder = folder = Folder.open(root)
        self.layout, self.manifest = layout, manifest = folder.layout, folder.manifest
        if not manifest.splits:
            raise DatasetError(f"{layout.manifest}: it lists no splits yet; build the dataset first")
        self._templates, self._properties = templates, properties
        self.vocab: Vocab = read_vocab(layout.vocab)
        self.attribute_types = folder.attribute_types
        by_name = {name: self._hop(name) for name in (*manifest.splits, *manifest.covr)}
        self.hops = tuple(by_name[name] for name in manifest.splits)
        self._check_groups()
        self.all_splits = tuple(question_files(folder, SINGLE, SplitArrays, by_name))
        """The splits that the manifest lists."""
        self.all_pairs = tuple(pair_files(folder, self.all_splits, added=False))
        """The suites' pairs that the manifest lists, on splits that it lists too."""
        self.all_added = tuple(pair_files(folder, self.all_splits, added=True))
        """The train sets with questions of suites that the manifest lists."""
        self.all_sets = tuple(question_files(folder, SETS, SetArrays, by_name))
        """The splits of questions over several images that the manifest lists."""
        self.all_others = tuple(
            file
            for kind in KINDS.values()
            if kind.splits and kind not in (SINGLE, SETS)
            for file in question_files(folder, kind, partial(SplitArrays, kind=kind), by_name)
        )
        """The splits of other kinds of questions that the manifest lists."""
        self.left_out: list[str] = []
        """Files that cannot be read, without which the checks continue."""

    def _hop(self, name: str) -> Hop:
        try:
            hop = self._folder.hop(name)
        except ConfigError as error:
            raise DatasetError(f"{self.layout.manifest}: splits: {error}") from error
        if hop.name != name:
            raise DatasetError(f'{self.layout.manifest}: splits.{name}: expected the name "{hop.name}"')
        return hop

    def _check_groups(self) -> None:
        """Checks that each split with places or sets states how many it has.

        Raises:
            DatasetError: a split does not.
        """
        numbers = {"places": "places", "groups": "sets", "sets": "sets"}
        for hop, splits in self.manifest.splits.items():
            for name, entry in splits.items():
                if name in SPLITS and SPLITS[name].drawn in numbers:
                    form = Fields({numbers[SPLITS[name].drawn]: COUNT})
                    check_form(entry, form, self.layout.manifest, place=f"splits.{hop}.{name}")

    @property
    def splits(self) -> tuple[SplitFile, ...]:
        """The splits whose arrays and scenes can be read, as far as is known."""
        return self._readable(self.all_splits)

    @property
    def sets(self) -> tuple[SetFile, ...]:
        """The splits of questions over several images, restricted as in `splits`."""
        return self._readable(self.all_sets)

    @property
    def others(self) -> tuple[QuestionFile[SplitArrays], ...]:
        """The splits of other kinds of questions, restricted as in `splits`."""
        return self._readable(self.all_others)

    @property
    def pairs(self) -> tuple[PairFile, ...]:
        """The suites' pairs that can be read with the splits that they are made from."""
        return self._readable_pairs(self.all_pairs)

    @property
    def added(self) -> tuple[PairFile, ...]:
        """The train sets with questions from suites, restricted as in `pairs`."""
        return self._readable_pairs(self.all_added)

    def _readable(self, files: Sequence[F]) -> tuple[F, ...]:
        scenes = self.layout.scenes
        return tuple(file for file in files if self.is_readable(file.h5, file.vocab, scenes(file.pool)))

    def _readable_pairs(self, files: Sequence[PairFile]) -> tuple[PairFile, ...]:
        layout, splits = self.layout, self.splits
        return tuple(
            file
            for file in self._readable(files)
            if file.split in splits
            and (
                file.own_pool is None
                or self.is_readable(
                    *(place(file.own_pool) for place in (layout.scenes, layout.images, layout.images_h5))
                )
            )
        )

    def is_readable(self, *paths: Path) -> bool:
        """Whether no file at or below these paths has been excluded."""
        names = [self.layout.relative(path) for path in paths]
        return not any(
            file == name or file.startswith(f"{name}/") for name in names for file in self.left_out
        )

    def leave_out(self, file: str) -> bool:
        """Excludes an unreadable file from the checks, and whatever depends on it.

        Returns False if the checks cannot continue without it, or if it is excluded already.
        """
        if not kind_of(file) or not file.endswith((".h5", ".json")) or file in self.left_out:
            return False
        self.left_out.append(file)
        return True

    @property
    def image_size(self) -> tuple[int, int]:
        """Height and width of the images; the user may choose a size other than the scenes' frame."""
        size = {**self.manifest.world["constraints"], **(self.manifest.rendering or {})}
        return int(size["height"]), int(size["width"])

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools that the splits use."""
        return tuple(dict.fromkeys(file.pool for file in (*self.splits, *self.sets, *self.others)))

    def scene_files(self, pool: str) -> list[Path]:
        """A pool's scene files.

        Raises:
            DatasetError: there are none.
        """
        files = self.layout.scene_files(pool)
        if not files:
            raise DatasetError(f"{self.layout.scenes(pool)}: no scene files, but splits use the pool")
        return files

    def scene_rows(self, pool: str) -> Iterator[tuple[Path, int, bytes]]:
        """Each row of a pool's scene files as JSON, with its file and line number."""
        for path in self.scene_files(pool):
            for line, row in read_numbered_rows(path):
                yield path, line, row

    def object_ids(self, pool: str, rows: Sequence[bytes]) -> npt.NDArray[np.uint8]:
        """The number of the object at each pixel, (scenes, height, width): 0 for none, then 1, 2, ...

        `rows` are the scenes as JSON, each with its camera.
        """
        data = b'{"scenes": [' + b",".join(rows) + b"]}"
        batch = SceneBatch.from_json(self.world.vocabulary, data, file=f"scenes/{pool}")
        return object_ids(self.world, batch)

    @cached_property
    def leaks(self) -> LeakCheck:
        """The check for leaks, which reads each of the folder's scenes once."""
        return LeakCheck(self.layout.root, words=self.templates.words)

    @property
    def scenes(self) -> Pools:
        """The scenes of each pool."""
        return self.leaks.pools

    @cached_property
    def world(self) -> World:
        """The world of the scenes; raises the errors of `Folder.world`."""
        return self._folder.world(self._properties)

    @cached_property
    def templates(self) -> TemplateFiles:
        """The templates of the questions; raises the errors of `find_templates`."""
        return find_templates(self._folder, self.world, self._templates, self.all_pairs)
