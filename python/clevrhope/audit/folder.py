"""A dataset as the checks of an audit see it: manifest, vocabulary, question files, scenes and templates.

All of it is in the folder, except templates and properties. The manifest names these by fingerprint; they
are the package's own, or files that the caller gives.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from clevrhope._core import SceneBatch, object_ids
from clevrhope.audit.json_agreement import Families, family_places
from clevrhope.audit.templates import find_templates
from clevrhope.dataset.clevr_json import parse_row, read_numbered_rows
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.native_reader import vocabulary_of
from clevrhope.dataset.question_kinds import KINDS, PAIRS, SET_PAIRS, SETS, SINGLE, QuestionKind
from clevrhope.dataset.scene_files import Pools
from clevrhope.dataset.split_files import AddedPairs, PairArrays, SetArrays, SplitArrays, Vocab, read_vocab
from clevrhope.dataset.suite_pools import VISUAL, SuitePool
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.forms import ANY, COUNT, Fields, Form, ListOf, check_form
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS

A = TypeVar("A", bound=SplitArrays)
A_co = TypeVar("A_co", bound=SplitArrays, covariant=True)

FILES = (
    ("covr/", "", "sets"),
    ("nonce/", "", "nonce"),
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

STATED = {"places": "places", "groups": "sets", "sets": "sets"}
"""How a split is drawn -> what its entry in the manifest counts besides questions and images."""


def kind_of(file: str) -> str:
    """The kind of a file by its path below the folder; "" for files that no check of content reads."""
    return next((kind for begin, end, kind in FILES if fnmatch(file, f"{begin}*{end}")), "")


@dataclass(frozen=True)
class QuestionFile(Generic[A_co]):
    """Questions of one kind about one split, in an HDF5 file."""

    layout: Layout
    kind: QuestionKind
    hop: Hop
    name: str
    """The split's name."""
    pool: str
    n_rows: int
    """Number of its questions by the manifest."""
    reader: Callable[..., A_co]
    """Reads the HDF5 file."""

    @property
    def h5(self) -> Path:
        """The HDF5 file."""
        return self.kind.h5(self.layout, self.hop.name, self.name)

    @property
    def file(self) -> str:
        """Path of the HDF5 file below the folder."""
        return self.layout.relative(self.h5)

    @property
    def json(self) -> Path:
        """The question file in JSON, which a folder may lack."""
        return self.h5.with_name(f"{self.h5.stem}_questions.json")

    @property
    def vocab(self) -> Path:
        """The vocabulary of its tokens."""
        return self.kind.vocab(self.layout, self.name)

    @property
    def is_grouped(self) -> bool:
        """Whether its questions come in groups of images rather than in balanced windows."""
        return self.name in SPLITS and SPLITS[self.name].drawn != "stream"

    def needs(self) -> list[Path]:
        """The files and folders without which it is not checked."""
        return [self.h5, self.vocab, self.layout.scenes(self.pool)]

    @contextmanager
    def open(self) -> Iterator[A_co]:
        """Its arrays.

        Raises:
            DatasetError: the HDF5 file is damaged, which may show on opening or later.
        """
        with closing(self.reader(self.h5, max_rows=self.n_rows)) as arrays:
            yield arrays


SplitFile = QuestionFile[SplitArrays]
SetFile = QuestionFile[SetArrays]


@dataclass(frozen=True)
class PairFile(QuestionFile[PairArrays]):
    """The pairs of a suite on a split; or, with `AddedPairs`, a train set with questions of the suite."""

    suite: str
    split: SplitFile
    """The split that the originals are from."""

    @property
    def h5(self) -> Path:
        """The HDF5 file."""
        return self.layout.suite_h5(self.hop.name, self.suite, self.name)

    @property
    def vocab(self) -> Path:
        """The vocabulary of the suite."""
        return self.layout.suite_vocab(self.hop.name, self.suite)

    @property
    def own_pool(self) -> str | None:
        """The pool of images that the suite made for the split; None if these are the split's own."""
        pool = SuitePool(self.hop.name, self.suite, self.name)
        return pool.name if self.suite == VISUAL else None

    def needs(self) -> list[Path]:
        """The files and folders without which it is not checked."""
        paths = [*super().needs(), *self.split.needs()]
        if self.own_pool is not None:
            layout = self.layout
            paths += [place(self.own_pool) for place in (layout.scenes, layout.images, layout.images_h5)]
        return paths


F = TypeVar("F", bound=QuestionFile[SplitArrays])


class AuditFolder:
    """A finished dataset.

    Attributes:
        all_files: the question files of all kinds of splits that the manifest lists.
        all_splits: those of questions about single images.
        all_sets: those of questions over several images.
        all_pairs: the suites' pairs that it lists, on splits that it lists too.
        all_added: the train sets with questions of suites.
        files, splits, sets, pairs, added: those of them that can be read, with their scenes, as far as is
            known; and pairs only with the split that they are made from.
        world: the world of the scenes.
        templates: the templates of the questions.
        left_out: files that cannot be read, without which the checks continue.
    """

    def __init__(self, root: Path, *, templates: Path | None = None, properties: Path | None = None) -> None:
        """Opens a dataset, with its own templates and properties if they are not the package's.

        Raises:
            DatasetError: there is no dataset, it is not finished, its manifest is incomplete, or it has other
                templates or properties.
        """
        self._folder = folder = Folder.open(root)
        self.layout, self.manifest = folder.layout, folder.manifest
        if not (self.manifest.splits or self.manifest.nonce):
            raise DatasetError(f"{self.layout.manifest}: it lists no splits yet; build the dataset first")
        self.vocab: Vocab = read_vocab(self.layout.vocab)
        self.attribute_types = folder.attribute_types
        listed = (*self.manifest.splits, *self.manifest.covr, *self.manifest.nonce)
        by_name = {name: self._hop(name) for name in listed}
        self.hops = tuple(by_name[name] for name in self.manifest.splits)
        self._check_stated()
        self.scenes = Pools(self.layout, vocabulary_of(self.vocab))
        """The scenes of each pool, read when they are needed."""
        self.all_splits = tuple(_question_files(folder, SINGLE, SplitArrays, by_name))
        self.all_sets = tuple(_question_files(folder, SETS, SetArrays, by_name))
        self.all_files: tuple[SplitFile, ...] = (*self.all_splits, *self.all_sets)
        for kind in KINDS.values():
            if kind not in (SINGLE, SETS):
                reader = partial(SplitArrays, kind=kind)
                self.all_files += tuple(_question_files(folder, kind, reader, by_name))
        of_both = (*self.all_splits, *self.all_sets)
        self.all_pairs = tuple(_pair_files(folder, of_both, added=False))
        self.all_added = tuple(_pair_files(folder, self.all_splits, added=True))
        self.left_out: list[str] = []
        self._find_readable()
        self.world = folder.world(properties)
        self.templates = find_templates(folder, self.world, templates, self._fingerprints())

    def _hop(self, name: str) -> Hop:
        try:
            hop = self._folder.hop(name)
        except ConfigError as error:
            raise DatasetError(f"{self.layout.manifest}: splits: {error}") from error
        if hop.name != name:
            raise DatasetError(f'{self.layout.manifest}: splits.{name}: expected the name "{hop.name}"')
        return hop

    def _check_stated(self) -> None:
        """Checks that each split with places or sets states how many it has."""
        for hop, splits in self.manifest.splits.items():
            for name, entry in splits.items():
                if name in SPLITS and SPLITS[name].drawn in STATED:
                    form = Fields({STATED[SPLITS[name].drawn]: COUNT})
                    check_form(entry, form, self.layout.manifest, place=f"splits.{hop}.{name}")

    def _find_readable(self) -> None:
        def readable(files: Sequence[F]) -> tuple[F, ...]:
            return tuple(file for file in files if self.is_readable(*file.needs()))

        self.files = readable(self.all_files)
        self.splits = readable(self.all_splits)
        self.sets = readable(self.all_sets)
        self.pairs = readable(self.all_pairs)
        self.added = readable(self.all_added)

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
        self._find_readable()
        return True

    @property
    def image_size(self) -> tuple[int, int]:
        """Height and width of the images; the user may choose a size other than the scenes' frame."""
        size = {**self.manifest.world["constraints"], **(self.manifest.rendering or {})}
        return int(size["height"]), int(size["width"])

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools that the splits use."""
        return tuple(dict.fromkeys(file.pool for file in self.files))

    def scene_rows(self, pool: str) -> Iterator[tuple[Path, int, bytes]]:
        """Each row of a pool's scene files as JSON, with its file and line number.

        Raises:
            DatasetError: there are no such files.
        """
        for path in self.scene_files(pool):
            for line, row in read_numbered_rows(path):
                yield path, line, row

    def parsed_scenes(self, pool: str, **keys: Form) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Each scene of a pool, and its row as JSON.

        Raises:
            DatasetError: there are no scene files, or a scene does not have these keys.
        """
        form = Fields({"objects": ListOf(ANY), **keys})
        for path, line, row in self.scene_rows(pool):
            scene = parse_row(row, path, line)
            check_form(scene, form, f"{path}:{line}")
            yield scene, row

    def scene_files(self, pool: str) -> list[Path]:
        """A pool's scene files; raises a DatasetError if there are none."""
        files = self.layout.scene_files(pool)
        if not files:
            raise DatasetError(f"{self.layout.scenes(pool)}: no scene files, but splits use the pool")
        return files

    def object_ids(self, pool: str, rows: Sequence[bytes]) -> npt.NDArray[np.uint8]:
        """The number of the object at each pixel, (scenes, height, width): 0 for none, then 1, 2, ...

        `rows` are the scenes as JSON, each with its camera.
        """
        data = b'{"scenes": [' + b",".join(rows) + b"]}"
        batch = SceneBatch.from_json(self.world.vocabulary, data, file=f"scenes/{pool}")
        return object_ids(self.world, batch)

    def _fingerprints(self) -> Iterator[str]:
        """The fingerprints of the suites' files."""
        for file in self.all_pairs:
            with suppress(DatasetError), file.open() as arrays:
                yield arrays.fingerprint

    @cached_property
    def families(self) -> Families:
        """The file and number of each question family."""
        return family_places(self.templates.files)


def _question_files(
    folder: Folder, kind: QuestionKind, reader: Callable[..., A], hops: Mapping[str, Hop]
) -> Iterator[QuestionFile[A]]:
    """The splits of a kind that the manifest lists; `reader` reads their files, and `hops` are by name."""
    listed: Mapping[str, Mapping[str, Any]] = getattr(folder.manifest, kind.listed)
    for hop, splits in listed.items():
        for name, entry in splits.items():
            if name in kind.splits:
                pool, n_rows = str(entry["pool"]), int(entry["questions"])
                yield QuestionFile(folder.layout, kind, hops[hop], name, pool, n_rows, reader)


def _pair_files(folder: Folder, splits: Iterable[SplitFile], *, added: bool) -> Iterator[PairFile]:
    """The pairs of suites on splits that the manifest lists, or the train sets with questions of suites."""
    for split in splits:
        for suite, entries in folder.manifest.suites.get(split.hop.name, {}).items():
            name = f"{split.name}_{suite}" if added else split.name
            if name not in entries or (added and SPLITS[split.name].role != "train"):
                continue
            n_pairs = int(entries[name]["pairs"])
            n_rows = n_pairs + int(entries[name]["originals"]) if added else 2 * n_pairs
            kind = SET_PAIRS if split.kind.of_sets else PAIRS
            reader = AddedPairs if added else partial(PairArrays, kind=kind)
            file = (folder.layout, kind, split.hop, name, split.pool, n_rows, reader)
            yield PairFile(*file, suite, split)
