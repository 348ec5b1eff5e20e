"""A dataset's folder in, what all checks need of it out: manifest, vocabulary, pairs, splits, templates.

Everything is in the folder but the templates and the vocabulary's looks, which the manifest names by
fingerprint: the package's own, or files that the caller gives.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest, part_of, read_manifest
from clevrhope.dataset.split_files import SplitArrays, Vocab, read_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.questions import Templates, read_templates, synonyms_path
from clevrhope.runtime import assets
from clevrhope.runtime.forms import COUNT, TEXT, Fields, ListOf, MapOf, check_form
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import read_bytes
from clevrhope.scenes import World, read_world
from clevrhope.splits.hops import Hop, parse_hop
from clevrhope.splits.kinds import SPLITS

AttributeTypes = Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class SplitPlace:
    """A split of the folder."""

    hop: Hop
    name: str
    pool: str
    h5: Path
    file: str
    """Its HDF5 file's path below the folder."""

    @property
    def is_minimal(self) -> bool:
        """Whether its images come in groups at one place."""
        return SPLITS[self.name].drawn == "places"

    @property
    def is_prelim(self) -> bool:
        """Whether it asks for a value alone, of groups or sets of images."""
        return self.hop.value is not None

    @property
    def is_grouped(self) -> bool:
        """Whether its questions come in groups of images, not in windows that are balanced."""
        return self.is_minimal or self.is_prelim


class AuditFolder:
    """A finished dataset."""

    def __init__(self, root: Path, *, templates: Path | None = None, properties: Path | None = None) -> None:
        """Opens it.

        Raises:
            DatasetError: no dataset, one that is not finished, or whose manifest lacks what checks ask for.
        """
        self.layout = Layout(root)
        manifest = read_manifest(self.layout.manifest)
        if manifest is None:
            raise DatasetError(f"{root}: no dataset of clevrhope (no manifest.json)")
        if manifest.shard is not None:
            part = part_of(manifest.shard, self.layout.manifest)
            raise DatasetError(f"{root}: part {part} of a dataset; join the parts with clevrhope merge first")
        if not manifest.splits:
            raise DatasetError(f"{self.layout.manifest}: no split is in it yet; build the dataset first")
        if not manifest.complete:
            raise DatasetError(f"{root}: not finished yet; run the same build again, then audit it")
        self.manifest: Manifest = manifest
        self._templates = templates
        self.properties = properties
        """Values and looks, where they are not the package's."""
        self.vocab: Vocab = read_vocab(self.layout.vocab)
        kinds = manifest.world["attributes"].items()
        self.attribute_types: AttributeTypes = [(kind, tuple(values)) for kind, values in kinds]
        self.hops = tuple(self._hop(name) for name in manifest.splits)
        self._check_groups()
        self.all_splits = tuple(self._splits())
        """Those of the manifest."""
        self.left_out: list[str] = []
        """Files that cannot be read, and that checks do without."""

    def _hop(self, name: str) -> Hop:
        try:
            hop = parse_hop(name, self.attribute_types)
        except ConfigError as error:
            raise DatasetError(f"{self.layout.manifest}: splits: {error}") from error
        if hop.name != name:
            raise DatasetError(f'{self.layout.manifest}: splits.{name}: expected the name "{hop.name}"')
        return hop

    def _check_groups(self) -> None:
        """Passes when splits whose questions come in places or sets say how many.

        Raises:
            DatasetError: one does not; says which.
        """
        for hop in self.hops:
            for split, entry in self.manifest.splits[hop.name].items():
                # As the checks tell them apart.
                wanted = [
                    name
                    for name, is_so in (("places", SPLITS[split].drawn == "places"), ("sets", hop.value))
                    if is_so
                ]
                form = Fields(dict.fromkeys(wanted, COUNT))
                check_form(entry, form, self.layout.manifest, place=f"splits.{hop.name}.{split}")

    def _splits(self) -> Iterator[SplitPlace]:
        for hop in self.hops:
            for name, entry in self.manifest.splits[hop.name].items():
                path = self.layout.questions_h5(hop.name, name)
                yield SplitPlace(hop, name, str(entry["pool"]), path, self.layout.relative(path))

    @property
    def splits(self) -> tuple[SplitPlace, ...]:
        """Those whose arrays and scenes can be read, as far as is known."""
        return tuple(
            split
            for split in self.all_splits
            if self.is_readable(split.h5)
            and not any(file.startswith(f"scenes/{split.pool}/") for file in self.left_out)
        )

    def leave_out(self, file: str) -> bool:
        """Takes a file that cannot be read out of what checks look at, and what has no meaning without it.

        False where checks cannot do without it, or do so already.
        """
        folders = ("hops/", "scenes/", "images/", "passes/")
        known = file.startswith(folders) and file.endswith((".h5", ".json"))
        if not known or file in self.left_out:
            return False
        self.left_out.append(file)
        return True

    def is_readable(self, path: Path) -> bool:
        """Whether a file is among those to be looked at."""
        return self.layout.relative(path) not in self.left_out

    def seen(self, hop: Hop) -> frozenset[tuple[str, ...]] | None:
        """The combinations of a pair's types that were seen, in its order; None for all but the pair.

        Raises:
            DatasetError: the manifest has no palette for the pair, or one of other types.
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
    def pools(self) -> tuple[str, ...]:
        """The pools that splits use."""
        return tuple(dict.fromkeys(split.pool for split in self.splits))

    def scene_files(self, pool: str) -> list[Path]:
        """A pool's scene files.

        Raises:
            DatasetError: there is none.
        """
        files = self.layout.scene_files(pool)
        if not files:
            raise DatasetError(f"{self.layout.scenes(pool)}: no scene files, but splits use the pool")
        return files

    @contextmanager
    def open(self, split: SplitPlace) -> Iterator[SplitArrays]:
        """A split's arrays.

        Raises:
            DatasetError: no whole HDF5 file, on opening or later.
        """
        n = int(self.manifest.splits[split.hop.name][split.name]["questions"])
        with closing(SplitArrays(split.h5, max_rows=n)) as arrays:
            yield arrays

    def used(self, split: SplitPlace) -> npt.NDArray[np.int32]:
        """Indices of the scenes that a split asks about, each once, sorted.

        Raises:
            DatasetError: as `open`.
        """
        with self.open(split) as arrays:
            return arrays.used

    @cached_property
    def world(self) -> World:
        """The world that scenes are of.

        Raises:
            DatasetError: the folder was made with other properties or another look than those at hand.
        """
        world = read_world(properties=self.properties, constraints=self.manifest.world.get("constraints", {}))
        if world.fingerprint != self.manifest.world.get("fingerprint"):
            name = self.manifest.config.get("properties", "properties.json")
            raise DatasetError(
                f"{self.layout.manifest}: made in another world than that of "
                f"{self.properties or 'the package'}; name the folder's {name} with --properties"
            )
        return world

    @cached_property
    def templates(self) -> "TemplateFiles":
        """The templates that questions are of.

        Raises:
            DatasetError: the folder was made with other templates than those at hand.
        """
        folder = self._templates or assets.question_templates()
        read: Templates = read_templates(self.world, folder)
        if read.fingerprint != self.manifest.templates.get("fingerprint"):
            name = self.manifest.config.get("templates", "question_templates")
            raise DatasetError(
                f"{self.layout.manifest}: made with other templates than those in {folder}; "
                f"name the folder's {name} with --templates"
            )
        return TemplateFiles(folder, [str(name) for name in self.manifest.templates["files"]])

    def decode(self, tokens: Sequence[int]) -> str:
        """A row of words as text, without its marks."""
        names = self._words
        return " ".join(names.get(token, "?") for token in tokens if token > 2)

    @cached_property
    def _words(self) -> Mapping[int, str]:
        return {number: word for word, number in self.vocab.words.items()}


@dataclass(frozen=True)
class TemplateFiles:
    """A folder of templates, and its files in the order in which families are numbered."""

    folder: Path
    names: Sequence[str]

    def files(self) -> list[tuple[str, bytes]]:
        """Name without suffix, and content, of each."""
        return [(Path(name).stem, read_bytes(self.folder / name, "templates")) for name in self.names]

    @property
    def synonyms(self) -> bytes:
        """The words for values, as JSON."""
        return read_bytes(synonyms_path(self.folder), "synonyms")

    @property
    def words(self) -> Mapping[str, Sequence[str]]:
        """The words for values."""
        words: Mapping[str, Sequence[str]] = parse_json(self.synonyms, synonyms_path(self.folder))
        check_form(words, MapOf(ListOf(TEXT)), synonyms_path(self.folder))
        return words
