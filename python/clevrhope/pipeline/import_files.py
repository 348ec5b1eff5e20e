"""Writes the files of an imported folder: questions, places of images, scenes, and measurements."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import ProgramTokens, Vocabulary
from clevrhope.dataset.clevr_folder import FAMILIES
from clevrhope.dataset.clevr_json import rows_file, scene_info
from clevrhope.dataset.layout import SCENES_A_SHARD, Layout, image_filename
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.measured import write_measured
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.dataset.question_kinds import PAIRS, SINGLE, kind_of
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.questions_h5 import Ints, QuestionWriter
from clevrhope.dataset.source_images import ImageRecord
from clevrhope.dataset.suite_pools import parse_suite_pool
from clevrhope.dataset.vocab import Vocab, make_vocab, read_vocab, write_vocab
from clevrhope.describe.measure import read_scene_counts
from clevrhope.errors import ConfigError, DatasetError, SceneError, listed
from clevrhope.pipeline.documents import measured_hop
from clevrhope.pipeline.text import indices_by_pool
from clevrhope.runtime.atomic import record
from clevrhope.scenes.forms import read_batch
from clevrhope.scenes.vocabulary import default_vocabulary
from clevrhope.sources.source import Columns, Numbering, Source, SourceSplit, Templates
from clevrhope.splits.hops import parse_hop


def digest_of(parts: Iterable[Columns], numbering: Numbering) -> str:
    """SHA-256 of the words, answers and images of questions, whatever numbers the words have."""
    digest, of_words = hashlib.sha256(), np.zeros(0, dtype=np.uint64)  # (W,) eight bytes for each word
    for part in parts:
        if new := numbering.words[len(of_words) :]:
            digests = (hashlib.blake2b(word.encode(), digest_size=8).digest() for word in new)
            of_words = np.append(of_words, np.frombuffer(b"".join(digests), dtype=np.uint64))
        questions = part["questions"]
        digest.update(of_words[questions[questions != 0]].tobytes())
        digest.update(part["answers"].tobytes() + part["image_idxs"].tobytes())
    return digest.hexdigest()


@dataclass
class ImportedFolder:
    """A folder that published files are imported into.

    Attributes:
        layout: the places of its files.
        manifest: its manifest, which lists the files so far; `import_source` writes it.
        source: the published files.
        n_questions: (table, split) -> number of questions, for the splits of this import.
    """

    layout: Layout
    manifest: Manifest
    source: Source
    n_questions: dict[tuple[str, str], int] = field(default_factory=dict)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The values of scenes and programs: CLEVR's, unless the source says others."""
        if attributes := self.source.about.get("attributes"):
            most = self.source.about["constraints"]["max_objects"]
            return vocabulary_with(attributes, largest_count=most)
        return default_vocabulary()

    @cached_property
    def plain(self) -> Vocab:
        """The numbers of functions and answers, without words."""
        return make_vocab([], ProgramTokens(self.vocabulary).names, self.vocabulary.answers)

    def add(self, path: Path) -> None:
        """Lists a file that was written."""
        self.manifest = self.manifest.with_files({self.layout.relative(path): record(path)})

    def is_listed(self, path: Path) -> bool:
        """Whether an earlier import, or this one, wrote a file."""
        return self.layout.relative(path) in self.manifest.files

    def numbering(self, split: SourceSplit, templates: Templates | None = None) -> Numbering:
        """What numbers a split's words: as the folder has them, as the split's files do, or anew.

        Raises:
            ConfigError: the folder has other numbers than the files.
        """
        path = self._vocab_of(split)
        known = read_vocab(path) if self.is_listed(path) else split.vocab or self.plain
        numbering = Numbering(known, templates)
        if split.vocab is not None and not numbering.has_numbers_of(split.vocab):
            raise ConfigError(
                f"{self.layout.root}: holds questions of another vocabulary than {split.file}; clevrhope "
                "import each of them, by --hop, into an --out of its own"
            )
        return numbering

    def _vocab_of(self, split: SourceSplit) -> Path:
        if split.suite:
            return self.layout.suite_vocab(split.hop, split.suite)
        return split.kind.vocab(self.layout, split.split)

    def tables(self) -> Iterator[QuestionTable]:
        """The questions of all splits, and the pairs of all suites."""
        for hop, split, _ in self.manifest.all_splits(episodes=True):
            kind = kind_of(split)
            yield read_table(kind.h5(self.layout, hop, split), kind)
        for hop, suites in self.manifest.suites.items():
            for suite, splits in suites.items():
                for split in splits:
                    yield read_table(self.layout.suite_h5(hop, suite, split), PAIRS)

    def scenes(self) -> dict[str, Ints]:
        """Pool -> the indices of the scenes that questions are about, sorted."""
        return indices_by_pool((table.pool, table.scenes) for table in self.tables())

    def write_split(self, split: SourceSplit, parts: Sequence[Columns], vocab: Vocab) -> None:
        """Writes a split's questions, its vocabulary, and the record of its images."""
        self.n_questions[split.table, split.split] = split.n_questions
        path = split.kind.h5(self.layout, split.hop, split.split)
        if split.suite:
            path = self.layout.suite_h5(split.hop, split.suite, split.split)
        names = {"hop": split.hop, "split": split.split, "pool": split.pool}
        others = {name: value for name, value in split.attributes.items() if name not in names}
        with QuestionWriter(path, **names, prefixes=others.pop("prefixes", ()), attributes=others) as writer:
            for part in parts:
                columns = {name: part[name] for name in split.kind.columns if name in part}
                for name, least in zip(("questions", "programs"), split.widths, strict=True):
                    width = max([least, *(each[name].shape[1] for each in parts)])
                    columns[name] = np.pad(part[name], ((0, 0), (0, width - part[name].shape[1])))
                writer.append(columns)
        self.add(path)
        write_vocab(self._vocab_of(split), vocab)
        self.add(self._vocab_of(split))
        images = self._write_images(split, split.pool, split.image_form, parts, "image")
        if "support_pool" in split.attributes:
            pool = str(split.attributes["support_pool"])
            self._write_images(split, pool, f"{split.image_form}_support", parts, "support")
        if split.suite:
            originals = split.attributes.get("n_originals", 0)
            n_pairs = sum(len(part["answers"]) for part in parts) // 2
            pairs = {"pairs": n_pairs, "originals": originals, "sha256": split.sha256}
            pairs |= {"images": len(images.indices)} if images and parse_suite_pool(split.pool) else {}
            self.manifest = self.manifest.with_pairs(split.hop, split.suite, split.split, pairs)
        else:
            entry = read_table(path, split.kind).entry
            self.manifest = self.manifest.with_splits({(split.hop, split.split): entry})

    def _write_images(
        self, split: SourceSplit, pool: str, form: str, parts: Sequence[Columns], begin: str
    ) -> ImageRecord | None:
        """Writes the record of a pool's images, whose columns begin so; None if there are none."""
        images, place = None, self.layout.image_record(pool)
        if f"{begin}_places" in parts[0]:
            rows = ((part[f"{begin}_idxs"].ravel(), part[f"{begin}_places"].reshape(-1, 3)) for part in parts)
            images = ImageRecord.of(form, split.image_files, rows, split.image_names)
        if images is not None:
            if self.is_listed(place) and place.is_file():
                images = images.joined(ImageRecord.read(place))
            images.write(place)
            self.add(place)
        if (images is not None or split.unit) and not parse_suite_pool(pool):
            entry: dict[str, Any] = {"images": len(images.indices) if images else 0, "files": []}
            entry |= {"unit": split.unit} if split.unit else {}
            self.manifest = replace(self.manifest, pools={**self.manifest.pools, pool: entry})
        return images

    def write_scenes(self) -> None:
        """Writes the scenes in use of pools whose scenes are published."""
        for pool, wanted in self.scenes().items():
            rows, missing, n_scenes = {}, {*wanted.tolist()}, 0
            of_pool = [each.scenes for each in self.source.splits if each.pool == pool and each.scenes]
            for scene in chain.from_iterable(scenes() for scenes in of_pool if missing):
                n_scenes += 1
                if (index := scene["image_index"]) in missing:
                    missing.remove(index)
                    rows[index] = _scene_row(scene, pool, self.vocabulary, self.source.root)
            if not n_scenes:  # as in an export of an import without scenes
                continue
            if missing:
                raise DatasetError(
                    f"{self.source.root}: the scenes of {pool} lack {len(missing):,} that questions are "
                    f"about: {listed(sorted(missing), most=5)}"
                )
            for shard in np.unique(wanted // SCENES_A_SHARD).tolist():
                path = self.layout.scene_shard(pool, shard)
                with rows_file(path, key="scenes", info=scene_info(pool)) as add:
                    add([rows[index] for index in wanted[wanted // SCENES_A_SHARD == shard].tolist()])
                self.add(path)

    def measure(self) -> None:
        """Checks all questions, and writes the measurements of the sub-datasets."""
        attributes, used = self.manifest.world["attributes"], dict[str, list[Ints]]()
        for table in self.tables():
            table.load()  # which checks it
            if table.kind is SINGLE:
                used.setdefault(table.pool, []).append(table.scenes)
        n_users = {pool: np.bincount(np.concatenate(scenes)) for pool, scenes in used.items()}
        shards = {pool: self.layout.scene_files(pool) for pool in used}
        counts = {
            pool: read_scene_counts(each, attributes) if each else None for pool, each in shards.items()
        }
        for name in self.manifest.splits:
            hop, families = parse_hop(name, list(attributes.items())), dict(enumerate(FAMILIES))
            known: dict[str, Any] = {"from_clevr": {}, "never": ()}
            measured = measured_hop(hop, self.layout, self.manifest, counts, n_users, families, **known)
            path = self.layout.hop_measured(name)
            write_measured(path, measured)
            self.add(path)


def _scene_row(scene: Mapping[str, Any], pool: str, vocabulary: Vocabulary, root: Path) -> bytes:
    """The row of a scene, with the relationships that it may have lost."""
    index = scene["image_index"]
    named = {**scene, "split": pool, "image_filename": image_filename(pool, index)}
    place = f"{root}: the scene of image {index} of {pool}"
    try:
        (row,) = read_batch([named], vocabulary, file=place).json_rows()
    except SceneError as error:
        raise DatasetError(str(error).replace("scenes[0].", "", 1)) from error
    whole = json.loads(row)
    for thing, given in zip(whole["objects"], scene["objects"], strict=True):
        if "pixel_coords" not in given:
            del thing["pixel_coords"]
    return json.dumps(whole).encode()
