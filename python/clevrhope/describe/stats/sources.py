"""The folders whose splits can be measured: datasets of clevrhope, and folders laid out like CLEVR.

Both are measured only from their files. A dataset has a group of splits for each HOP; a CLEVR folder has one
group.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clevrhope.dataset.clevr_folder import FAMILIES, clevr_splits
from clevrhope.dataset.clevr_json import read_rows
from clevrhope.dataset.contents import check_whole, no_hop
from clevrhope.dataset.folder_check import no_dataset
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest, read_manifest
from clevrhope.dataset.questions_h5 import read_question_blocks
from clevrhope.dataset.vocab import read_vocab
from clevrhope.describe.clevr import measure_clevr_split
from clevrhope.describe.covr import CovrStats, measure_covr
from clevrhope.describe.measure import QuestionTally, SceneCounts, SplitStats, Value, read_scene_counts
from clevrhope.describe.suites import SuiteStats, measure_suites
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.forms import INDEX, TEXT, Fields, check_form
from clevrhope.splits.hops import parse_hop

CLEVR = "CLEVR"
"""Name of the only group of a CLEVR folder."""

_ROWS_A_BLOCK = 16_384

FamilyNames = Mapping[int, tuple[str, int]]
"""`question_family_index` -> template file and index in it."""


@dataclass(frozen=True)
class Measured:
    """A measured split."""

    group: str
    stats: SplitStats
    families: FamilyNames
    """Names of the families that occur, as far as a file gives them."""


@dataclass(frozen=True)
class ClevrSource:
    """CLEVR, or a folder laid out like it."""

    root: Path
    splits: Sequence[str]

    name = CLEVR
    """Name of the folder in tables."""

    @property
    def groups(self) -> Mapping[str, Sequence[str]]:
        """Group -> its splits."""
        return {CLEVR: self.splits}

    def group(self, name: str) -> str:
        """The group with this name, which must be CLEVR; raises a ConfigError for another."""
        if name != CLEVR:
            raise ConfigError(
                f'{self.root}: a CLEVR folder has no sub-datasets, so no "{name}"; leave out --hop'
            )
        return name

    def held_out(self, group: str) -> Sequence[Value]:
        """The values that a group never shows together; CLEVR has none."""
        return ()

    def measure(self, group: str, split: str) -> Measured:
        """Measures a split; raises a DatasetError if its files are broken."""
        stats = measure_clevr_split(self.root, split)
        return Measured(group, stats, dict(enumerate(FAMILIES)))

    def suites(self, group: str, splits: Sequence[str]) -> Iterator[SuiteStats]:
        """The suites of paired tests; CLEVR has none."""
        return iter(())

    def covr_splits(self, group: str) -> Sequence[str]:
        """The splits of questions over several images; CLEVR has none."""
        return ()

    def covr(self, group: str, splits: Sequence[str]) -> Iterator[CovrStats]:
        """The measurements of splits of questions over several images; CLEVR has none."""
        return iter(())


@dataclass(frozen=True)
class DatasetSource:
    """A dataset of clevrhope. Scenes of a pool are counted once for all splits that use it."""

    root: Path
    manifest: Manifest
    _scenes: dict[str, SceneCounts] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.root.resolve().name

    @property
    def groups(self) -> Mapping[str, Sequence[str]]:
        """HOP -> its splits."""
        return {hop: list(splits) for hop, splits in self.manifest.splits.items()}

    def group(self, name: str) -> str:
        """The HOP with this name, whose values may be in any order; raises a ConfigError if there is none."""
        if name in self.manifest.splits:
            return name
        known = parse_hop(name, self._attributes()).name
        if known not in self.manifest.splits:
            raise no_hop(self.root, known, list(self.manifest.splits))
        return known

    def held_out(self, group: str) -> Sequence[Value]:
        """The values of a HOP: two, or more if a wider conjunction is held out."""
        return tuple(sorted(parse_hop(group, self._attributes()).pair or ()))

    def measure(self, group: str, split: str) -> Measured:
        """Measures a split; raises a DatasetError if its files are broken."""
        layout = Layout(self.root)
        vocab = read_vocab(layout.vocab)
        pool = str(self.manifest.splits[group][split]["pool"])
        tally = QuestionTally()
        path = layout.questions_h5(group, split)
        for rows in read_question_blocks(path, n_rows=_ROWS_A_BLOCK):
            try:
                tally.add_arrays(rows, vocab)
            except (IndexError, ValueError) as error:  # a number is too large or negative
                raise DatasetError(f"{path}: numbers that are not in {layout.vocab} ({error})") from error
        scenes = self._scenes_of(pool)
        try:
            stats = tally.stats(split, pool, scenes)
        except DatasetError as error:
            raise DatasetError(f"{layout.scenes(pool)}: {error}") from error
        return Measured(group, stats, self._families(group, split, stats))

    def suites(self, group: str, splits: Sequence[str]) -> Iterator[SuiteStats]:
        """Measures the pairs of all suites on these splits; raises a DatasetError for a broken file."""
        return measure_suites(Layout(self.root), self.manifest, group, splits)

    def covr_splits(self, group: str) -> Sequence[str]:
        """The splits of a HOP whose questions are over several images."""
        return list(self.manifest.covr.get(group, {}))

    def covr(self, group: str, splits: Sequence[str]) -> Iterator[CovrStats]:
        """Measures splits of questions over several images; raises a DatasetError for a broken file."""
        return measure_covr(Layout(self.root), self.manifest, group, splits)

    def _attributes(self) -> list[tuple[str, list[str]]]:
        return [(kind, list(values)) for kind, values in self.manifest.world["attributes"].items()]

    def _scenes_of(self, pool: str) -> SceneCounts:
        if pool not in self._scenes:
            shards = Layout(self.root).scene_files(pool)
            self._scenes[pool] = read_scene_counts(shards, dict(self._attributes()))
        return self._scenes[pool]

    def _families(self, group: str, split: str, stats: SplitStats) -> FamilyNames:
        """Names of the split's families, from the first question of each in the JSON file.

        Without that file, they are CLEVR's if the template files have the names of CLEVR's.
        """
        path = Layout(self.root).questions_json(group, split)
        if not path.is_file():
            files = list(dict.fromkeys(file for file, _ in FAMILIES))
            return dict(enumerate(FAMILIES)) if self.manifest.templates.get("files") == files else {}
        names: dict[int, tuple[str, int]] = {}
        missing = set(stats.families)
        for row in read_rows(path):
            check_form(row, _FAMILY, path)
            index = row["question_family_index"]
            if index in missing:
                names[index] = (row["template_filename"], row["template_index"])
                missing.remove(index)
            if not missing:
                break
        return names


_FAMILY = Fields({"question_family_index": INDEX, "template_filename": TEXT, "template_index": INDEX})


Source = ClevrSource | DatasetSource
"""A folder whose splits can be measured."""


def open_source(root: Path) -> Source:
    """The dataset in a folder.

    Raises:
        WrongFolderError: there is no dataset.
        DatasetError: the folder has only a part of a dataset, or its manifest is broken.
    """
    manifest = read_manifest(Layout(root).manifest)
    if manifest is not None:
        check_whole(Layout(root))
        if not manifest.splits:
            raise DatasetError(
                f"{root}: the dataset has no finished split; run the dataset's build again to continue"
            )
        return DatasetSource(root, manifest)
    splits = clevr_splits(root)
    if splits:
        return ClevrSource(root, splits)
    raise no_dataset(root, clevr=True)
