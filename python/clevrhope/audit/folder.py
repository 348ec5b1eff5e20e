"""A dataset as the checks of an audit see it: manifest, vocabulary, pairs, splits, scenes and templates.

All of it is in the folder, except templates and properties. The manifest names these by fingerprint; they
are the package's own, or files that the caller gives.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from clevrhope._core import SceneBatch, object_ids
from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.dataset.clevr_json import read_numbered_rows
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.scene_files import Pools
from clevrhope.dataset.split_files import (
    AddedPairs,
    PairArrays,
    SetArrays,
    SplitArrays,
    Vocab,
    read_vocab,
)
from clevrhope.dataset.suite_pools import SuitePool
from clevrhope.errors import ConfigError, DatasetError, TemplateError
from clevrhope.questions import Templates, read_templates, synonyms_path
from clevrhope.questions.suites import suite_fingerprint
from clevrhope.runtime import assets
from clevrhope.runtime.forms import COUNT, TEXT, Fields, ListOf, MapOf, check_form
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import read_bytes
from clevrhope.scenes import World
from clevrhope.splits.covr.kinds import COVR_KINDS, CovrKind
from clevrhope.splits.hops import Hop, parse_hop
from clevrhope.splits.kinds import SPLITS

AttributeTypes = Sequence[tuple[str, Sequence[str]]]
A_co = TypeVar("A_co", bound=SplitArrays, covariant=True)


@dataclass(frozen=True)
class Place(Generic[A_co]):
    """Questions of one kind about one split, and the locations of their files."""

    hop: Hop
    name: str
    pool: str
    h5: Path
    json: Path
    file: str
    """Path of its HDF5 file below the folder."""
    n_rows: int
    """Number of its questions by the manifest."""
    reader: Callable[..., A_co]
    """Reads its HDF5 file."""

    @contextmanager
    def open(self) -> Iterator[A_co]:
        """Its arrays.

        Raises:
            DatasetError: the HDF5 file is damaged, which may show on opening or later.
        """
        with closing(self.reader(self.h5, max_rows=self.n_rows)) as arrays:
            yield arrays


@dataclass(frozen=True)
class SplitPlace(Place[SplitArrays]):
    """A split of questions about single images."""

    @property
    def is_minimal(self) -> bool:
        """Whether its images come in groups that show the same place."""
        return SPLITS[self.name].drawn == "places"

    @property
    def is_prelim(self) -> bool:
        """Whether it asks about a single value, in groups or sets of images."""
        return self.hop.value is not None

    @property
    def is_grouped(self) -> bool:
        """Whether its questions come in groups of images rather than in balanced windows."""
        return self.is_minimal or self.is_prelim


@dataclass(frozen=True)
class SuitePlace(Place[PairArrays]):
    """The pairs of a suite on a split, in files that are laid out like the split's.

    If `reader` is `AddedPairs`, they are train questions with some of the suite's among them.
    """

    suite: str
    vocab: Path
    split: SplitPlace
    """The split that the originals are from."""


@dataclass(frozen=True)
class SetSplit(Place[SetArrays]):
    """A split of questions over several images."""

    @property
    def kind(self) -> CovrKind:
        """The split's row in `clevrhope.splits.covr.kinds`."""
        return COVR_KINDS[self.name]


KINDS = (
    ("covr/", "", "sets"),
    ("hops/*/suites/", "_questions.json", "question files of pairs"),
    ("hops/*/suites/", "", "pairs"),
    ("hops/", "_questions.json", "question files"),
    ("hops/", ".h5", "questions"),
    ("scenes/", "", "scenes"),
    ("images/", "", "images"),
    ("passes/", "", "passes"),
)
"""How the paths of files of a kind begin and end, and the kind; the first that fits counts."""


def kind_of(file: str) -> str:
    """The kind of a file by its path below the folder; "" for files that no check of content reads."""
    return next((kind for begin, end, kind in KINDS if fnmatch(file, f"{begin}*{end}")), "")


class AuditFolder:
    """A finished dataset."""

    def __init__(
        self,
        root: Path,
        *,
        templates: Path | None = None,
        properties: Path | None = None,
    ) -> None:
        """Opens a dataset, with its own templates and properties if they are not the package's.

        Raises:
            DatasetError: there is no dataset, it is not finished, or its manifest is incomplete.
        """
        self._folder = folder = Folder.open(root)
        self.layout, self.manifest = folder.layout, folder.manifest
        manifest = folder.manifest
        if not manifest.splits:
            raise DatasetError(f"{self.layout.manifest}: it lists no splits yet; build the dataset first")
        self._templates = templates
        self.properties = properties
        """The properties file, if it is not the package's."""
        self.vocab: Vocab = read_vocab(self.layout.vocab)
        self.attribute_types: AttributeTypes = folder.attribute_types
        self.hops = tuple(self._hop(name) for name in manifest.splits)
        self._check_groups()
        self.all_splits = tuple(self._splits())
        """The splits that the manifest lists."""
        self.all_suites = tuple(self._suites(augmented=False))
        """The suites' pairs that the manifest lists, on splits that it lists too."""
        self.all_augmented = tuple(self._suites(augmented=True))
        """The train sets with questions of suites that the manifest lists."""
        self.all_set_splits = tuple(self._set_splits())
        """The splits of questions over several images that the manifest lists."""
        self.left_out: list[str] = []
        """Files that cannot be read, without which the checks continue."""

    def _hop(self, name: str) -> Hop:
        try:
            hop = parse_hop(name, self.attribute_types)
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
        for hop in self.hops:
            for split, entry in self.manifest.splits[hop.name].items():
                wanted = ["places"] * (SPLITS[split].drawn == "places") + ["sets"] * bool(hop.value)
                form = Fields(dict.fromkeys(wanted, COUNT))
                check_form(entry, form, self.layout.manifest, place=f"splits.{hop.name}.{split}")

    def _splits(self) -> Iterator[SplitPlace]:
        layout = self.layout
        for hop in self.hops:
            for name, entry in self.manifest.splits[hop.name].items():
                h5, rows = layout.questions_h5(hop.name, name), layout.questions_json(hop.name, name)
                n, pool = int(entry["questions"]), str(entry["pool"])
                yield SplitPlace(hop, name, pool, h5, rows, layout.relative(h5), n, SplitArrays)

    def _set_splits(self) -> Iterator[SetSplit]:
        layout = self.layout
        for name, splits in self.manifest.covr.items():
            hop = self._hop(name)
            for split, entry in splits.items():
                h5, rows = layout.questions_h5(name, split), layout.questions_json(name, split)
                n, pool = int(entry["questions"]), str(entry["pool"])
                yield SetSplit(hop, split, pool, h5, rows, layout.relative(h5), n, SetArrays)

    def _suites(self, *, augmented: bool) -> Iterator[SuitePlace]:
        """The pairs of suites on splits, or the train sets with questions of suites."""
        layout = self.layout
        for split in self.all_splits:
            if augmented and SPLITS[split.name].role != "train":
                continue
            hop = split.hop.name
            for suite, of_suite in self.manifest.suites.get(hop, {}).items():
                name = f"{split.name}_{suite}" if augmented else split.name
                if name in of_suite:
                    n_pairs, n_originals = (int(of_suite[name][key]) for key in ("pairs", "originals"))
                    n = n_pairs + n_originals if augmented else 2 * n_pairs
                    reader = AddedPairs if augmented else PairArrays
                    h5, rows = layout.suite_h5(hop, suite, name), layout.suite_json(hop, suite, name)
                    vocab = layout.suite_vocab(hop, suite)
                    yield SuitePlace(
                        *(split.hop, name, split.pool, h5, rows, layout.relative(h5), n, reader),
                        suite=suite,
                        vocab=vocab,
                        split=split,
                    )

    @property
    def suites(self) -> tuple[SuitePlace, ...]:
        """The suites' pairs whose files are all readable, as far as is known."""
        return self._readable(self.all_suites)

    @property
    def augmented(self) -> tuple[SuitePlace, ...]:
        """The train sets with questions from suites, restricted as in `suites`."""
        return self._readable(self.all_augmented)

    def _readable(self, places: Sequence[SuitePlace]) -> tuple[SuitePlace, ...]:
        readable = self.splits
        return tuple(
            each
            for each in places
            if each.split in readable
            and self.is_readable(each.h5)
            and self.is_readable(each.vocab)
            and not any(self._is_of_suite(file, each) for file in self.left_out)
        )

    def _is_of_suite(self, file: str, place: SuitePlace) -> bool:
        """Whether a file holds scenes or images that a suite made for a split."""
        layout = self.layout
        pool = SuitePool(place.hop.name, place.suite, place.name).name
        folders = (layout.scenes(pool), layout.images(pool))
        begins = tuple(f"{layout.relative(folder)}/" for folder in folders)
        return file.startswith(begins) or file == layout.relative(layout.images_h5(pool))

    @property
    def splits(self) -> tuple[SplitPlace, ...]:
        """The splits whose arrays and scenes can be read, as far as is known."""
        return tuple(
            split for split in self.all_splits if self.is_readable(split.h5) and self._has_scenes(split.pool)
        )

    @property
    def set_splits(self) -> tuple[SetSplit, ...]:
        """The splits of questions over several images, restricted as in `splits`."""
        if not self.is_readable(self.layout.covr_vocab):
            return ()
        return tuple(
            split
            for split in self.all_set_splits
            if self.is_readable(split.h5) and self._has_scenes(split.pool)
        )

    def _has_scenes(self, pool: str) -> bool:
        """Whether no scene file of a pool has been excluded."""
        return not any(file.startswith(f"scenes/{pool}/") for file in self.left_out)

    def leave_out(self, file: str) -> bool:
        """Excludes an unreadable file from the checks, and whatever depends on it.

        Returns False if the checks cannot continue without it, or if it is excluded already.
        """
        if not kind_of(file) or not file.endswith((".h5", ".json")) or file in self.left_out:
            return False
        self.left_out.append(file)
        return True

    def is_readable(self, path: Path) -> bool:
        """Whether a file has not been excluded."""
        return self.layout.relative(path) not in self.left_out

    @property
    def image_size(self) -> tuple[int, int]:
        """Height and width of the images; the user may choose a size other than the scenes' frame."""
        size = {**self.manifest.world["constraints"], **(self.manifest.rendering or {})}
        return int(size["height"]), int(size["width"])

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools that the splits use."""
        pools = [split.pool for split in self.splits] + [split.pool for split in self.set_splits]
        return tuple(dict.fromkeys(pools))

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
        return object_ids(
            self.world, SceneBatch.from_json(self.world.vocabulary, data, file=f"scenes/{pool}")
        )

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
        return self._folder.world(self.properties)

    @cached_property
    def templates(self) -> "TemplateFiles":
        """The templates of the questions.

        Raises:
            DatasetError: the folder was made with templates other than those given.
        """
        package = assets.question_templates()
        if self.suite_folder is None:
            folders = [self._templates or package]
        else:
            around = self.suite_folder.resolve().parent.parent
            folders = [folder for folder in (package, around) if any(folder.glob("*.json"))]
        for folder in folders:
            try:
                read: Templates = read_templates(self.world, folder)
            except TemplateError as error:
                if folder != self._templates or not self.all_suites:
                    raise
                raise TemplateError(
                    f"{error}; and {folder} does not have the files of a suite as it was made"
                ) from error
            if read.fingerprint == self.manifest.templates.get("fingerprint"):
                return TemplateFiles(folder, [str(name) for name in self.manifest.templates["files"]])
        name = self.manifest.config.get("templates", "question_templates")
        raise DatasetError(
            f"{self.layout.manifest}: made with other templates than those in {folders[0]}; "
            f"name the folder's {name} with --templates"
        )

    @cached_property
    def suite_folder(self) -> Path | None:
        """The templates folder that the user gave, if it belongs to a suite of the dataset."""
        folder = self._templates
        if folder is None or not any(folder.glob("*.json")):
            return None
        fingerprint = suite_fingerprint(folder)
        for place in self.all_suites:
            with suppress(DatasetError), place.open() as arrays:
                if arrays.fingerprint == fingerprint:
                    return folder
        return None

    def decode(self, tokens: Sequence[int]) -> str:
        """A row of tokens as text, without <START> and <END>."""
        return " ".join(self._words.get(token, "?") for token in tokens if token > 2)

    def question(self, arrays: SplitArrays, row: int) -> str:
        """The text of a question."""
        return self.decode(arrays.tokens("questions", row, 1)[0].tolist())

    @cached_property
    def _words(self) -> Mapping[int, str]:
        return {number: word for word, number in self.vocab.words.items()}


@dataclass(frozen=True)
class TemplateFiles:
    """A folder of templates, and its files in the order in which their families are numbered."""

    folder: Path
    names: Sequence[str]

    def files(self) -> list[tuple[str, bytes]]:
        """The name without suffix and the content of each file."""
        return [(Path(name).stem, read_bytes(self.folder / name, "templates")) for name in self.names]

    @property
    def synonyms(self) -> bytes:
        """The words for attribute values, as JSON."""
        return read_bytes(synonyms_path(self.folder), "synonyms")

    @property
    def words(self) -> Mapping[str, Sequence[str]]:
        """The words for attribute values."""
        words: Mapping[str, Sequence[str]] = parse_json(self.synonyms, synonyms_path(self.folder))
        check_form(words, MapOf(ListOf(TEXT)), synonyms_path(self.folder))
        return words
