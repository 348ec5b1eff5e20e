"""A dataset as the checks of an audit see it: manifest, vocabulary, pairs, splits, scenes and templates.

All of it is in the folder, except templates and properties. The manifest names these by fingerprint; they
are the package's own, or files that the caller gives.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clevrhope._core import SceneBatch, object_ids
from clevrhope.dataset.clevr_json import read_numbered_rows
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import finished_manifest
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
from clevrhope.scenes import World, read_world
from clevrhope.splits.covr.kinds import COVR_KINDS, CovrKind
from clevrhope.splits.hops import Hop, parse_hop
from clevrhope.splits.kinds import SPLITS

AttributeTypes = Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class SplitPlace:
    """A split of the folder and the locations of its files."""

    hop: Hop
    name: str
    pool: str
    h5: Path
    file: str
    """Path of its HDF5 file below the folder."""

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
class SuitePlace(SplitPlace):
    """The pairs of a suite on a split, in files that are laid out like the split's."""

    suite: str
    json: Path
    vocab: Path
    split: SplitPlace
    """The split that the originals are from."""


@dataclass(frozen=True)
class SetSplit:
    """A split of questions over several images and the locations of its files."""

    hop: Hop
    name: str
    pool: str
    h5: Path
    json: Path
    file: str
    """Path of its HDF5 file below the folder."""

    @property
    def kind(self) -> CovrKind:
        """The split's row in `clevrhope.splits.covr.kinds`."""
        return COVR_KINDS[self.name]


class AuditFolder:
    """A finished dataset."""

    def __init__(self, root: Path, *, templates: Path | None = None, properties: Path | None = None) -> None:
        """Opens a dataset with its own templates and properties, or the package's.

        Raises:
            DatasetError: there is no dataset, it is not finished, or its manifest is incomplete.
        """
        self.layout = Layout(root)
        self.manifest = manifest = finished_manifest(self.layout.manifest)
        if not manifest.splits:
            raise DatasetError(f"{self.layout.manifest}: it lists no splits yet; build the dataset first")
        self._templates = templates
        self.properties = properties
        """The properties file, if it is not the package's."""
        self.vocab: Vocab = read_vocab(self.layout.vocab)
        kinds = manifest.world["attributes"].items()
        self.attribute_types: AttributeTypes = [(kind, tuple(values)) for kind, values in kinds]
        self.hops = tuple(self._hop(name) for name in manifest.splits)
        self._check_groups()
        self.all_splits = tuple(self._splits())
        """The splits that the manifest lists."""
        self.all_suites = tuple(self._suites())
        """The suites' pairs that the manifest lists, on splits that it lists too."""
        self.all_augmented = tuple(self._augmented())
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
        for hop in self.hops:
            for name, entry in self.manifest.splits[hop.name].items():
                path = self.layout.questions_h5(hop.name, name)
                yield SplitPlace(hop, name, str(entry["pool"]), path, self.layout.relative(path))

    def _set_splits(self) -> Iterator[SetSplit]:
        layout = self.layout
        for name, splits in self.manifest.covr.items():
            hop = self._hop(name)
            for split, entry in splits.items():
                h5, rows = layout.covr_h5(name, split), layout.covr_json(name, split)
                yield SetSplit(hop, split, str(entry["pool"]), h5, rows, layout.relative(h5))

    def _suites(self) -> Iterator[SuitePlace]:
        for split in self.all_splits:
            for suite, of_suite in self.manifest.suites.get(split.hop.name, {}).items():
                if split.name in of_suite:
                    yield self._suite_place(split, suite, split.name)

    def _augmented(self) -> Iterator[SuitePlace]:
        for split in self.all_splits:
            for suite, of_suite in self.manifest.suites.get(split.hop.name, {}).items():
                name = f"{split.name}_{suite}"
                if SPLITS[split.name].role == "train" and name in of_suite:
                    yield self._suite_place(split, suite, name)

    def _suite_place(self, split: SplitPlace, suite: str, name: str) -> SuitePlace:
        """The files with a given name that a suite made from a split."""
        layout, hop = self.layout, split.hop.name
        path = layout.suite_h5(hop, suite, name)
        return SuitePlace(
            split.hop,
            name,
            split.pool,
            path,
            layout.relative(path),
            suite,
            layout.suite_json(hop, suite, name),
            layout.suite_vocab(hop, suite),
            split,
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
        folders = ("covr/", "hops/", "scenes/", "images/", "passes/")
        known = file.startswith(folders) and file.endswith((".h5", ".json"))
        if not known or file in self.left_out:
            return False
        self.left_out.append(file)
        return True

    def is_readable(self, path: Path) -> bool:
        """Whether a file has not been excluded."""
        return self.layout.relative(path) not in self.left_out

    def seen(self, hop: Hop) -> frozenset[tuple[str, ...]] | None:
        """The combinations of the pair's attributes that were seen; None if all but the pair were seen.

        Raises:
            DatasetError: the manifest has no palette for the pair, or its attributes differ.
        """
        if not hop.palette or hop.pair is None:
            return None
        try:
            raw = self.manifest.palettes[hop.name]
            order = [list(raw["types"]).index(kind) for kind, _ in hop.pair]
            return frozenset(tuple(each[k] for k in order) for row in raw["rows"] for each in row)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise DatasetError(f"{self.layout.manifest}: no palette of {hop.name} ({error!r})") from error

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

    @contextmanager
    def open(self, split: SplitPlace) -> Iterator[SplitArrays]:
        """A split's arrays.

        Raises:
            DatasetError: the HDF5 file is damaged, which may show on opening or later.
        """
        n = int(self.manifest.splits[split.hop.name][split.name]["questions"])
        with closing(SplitArrays(split.h5, max_rows=n)) as arrays:
            yield arrays

    @contextmanager
    def open_sets(self, split: SetSplit) -> Iterator[SetArrays]:
        """The arrays of a split of questions over several images.

        Raises:
            DatasetError: as for `open`.
        """
        n = int(self.manifest.covr[split.hop.name][split.name]["questions"])
        with closing(SetArrays(split.h5, max_rows=n)) as arrays:
            yield arrays

    @contextmanager
    def open_pairs(self, place: SuitePlace) -> Iterator[PairArrays]:
        """The arrays of a suite's pairs on a split.

        Raises:
            DatasetError: as for `open`.
        """
        n = int(self.manifest.suites[place.hop.name][place.suite][place.name]["pairs"])
        with closing(PairArrays(place.h5, max_rows=2 * n)) as arrays:
            yield arrays

    @contextmanager
    def open_added(self, place: SuitePlace) -> Iterator[AddedPairs]:
        """The questions added to a train set, with their originals.

        Raises:
            DatasetError: as for `open`.
        """
        entry = self.manifest.suites[place.hop.name][place.suite][place.name]
        n = int(entry["pairs"]) + int(entry["originals"])
        with closing(AddedPairs(place.h5, max_rows=n)) as arrays:
            yield arrays

    def used(self, split: SplitPlace) -> npt.NDArray[np.int32]:
        """Indices of the scenes that a split asks about, unique and sorted.

        Raises:
            DatasetError: as for `open`.
        """
        with self.open(split) as arrays:
            return arrays.used

    @cached_property
    def world(self) -> World:
        """The world of the scenes.

        Raises:
            DatasetError: the folder was made with properties or a look other than those given.
        """
        there = self.manifest.world
        world = read_world(
            properties=self.properties, constraints=there.get("constraints", {}), changes=there.get("look")
        )
        if world.fingerprint != self.manifest.world.get("fingerprint"):
            name = self.manifest.config.get("properties", "properties.json")
            raise DatasetError(
                f"{self.layout.manifest}: the dataset was made with other properties than those of "
                f"{self.properties or 'the package'}; name the folder's {name} with --properties"
            )
        return world

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
            with suppress(DatasetError), self.open_pairs(place) as arrays:
                if arrays.fingerprint == fingerprint:
                    return folder
        return None

    def decode(self, tokens: Sequence[int]) -> str:
        """A row of tokens as text, without <START> and <END>."""
        return " ".join(self._words.get(token, "?") for token in tokens if token > 2)

    def question(self, arrays: SplitArrays, row: int) -> str:
        """The text of a question."""
        return self.decode(arrays.tokens("questions", row, 1)[0].tolist())

    def datasheet(self, path: Path) -> str:
        """The text of a datasheet."""
        return read_bytes(path, "a datasheet").decode(errors="replace")

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
