"""The question files of a dataset as the audit sees them, each with the row of its kind of questions."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from clevrhope.dataset.folder import Folder
from clevrhope.dataset.question_kinds import PAIRS, QuestionKind
from clevrhope.dataset.split_files import AddedPairs, PairArrays, SetArrays, SplitArrays
from clevrhope.dataset.suite_pools import VISUAL, SuitePool
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS

A = TypeVar("A", bound=SplitArrays)
A_co = TypeVar("A_co", bound=SplitArrays, covariant=True)


@dataclass(frozen=True)
class QuestionFile(Generic[A_co]):
    """Questions of one kind about one split, in an HDF5 file."""

    kind: QuestionKind
    hop: Hop
    name: str
    """The split's name."""
    pool: str
    h5: Path
    file: str
    """Path of the HDF5 file below the folder."""
    vocab: Path
    n_rows: int
    """Number of its questions by the manifest."""
    reader: Callable[..., A_co]
    """Reads the HDF5 file."""

    @property
    def json(self) -> Path:
        """The question file in JSON, which a folder may lack."""
        return self.h5.with_name(f"{self.h5.stem}_questions.json")

    @property
    def is_grouped(self) -> bool:
        """Whether its questions come in groups of images rather than in balanced windows."""
        return self.name in SPLITS and SPLITS[self.name].drawn != "stream"

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
    def own_pool(self) -> str | None:
        """The pool of images that the suite made for the split; None if these are the split's own."""
        pool = SuitePool(self.hop.name, self.suite, self.name)
        return pool.name if self.suite == VISUAL else None


def question_files(
    folder: Folder, kind: QuestionKind, reader: Callable[..., A], hops: Mapping[str, Hop]
) -> Iterator[QuestionFile[A]]:
    """The splits of a kind that the manifest lists; `reader` reads their files, and `hops` are by name."""
    layout = folder.layout
    listed: Mapping[str, Mapping[str, Any]] = getattr(folder.manifest, kind.listed)
    for hop, splits in listed.items():
        for name, entry in splits.items():
            if name in kind.splits:
                h5, vocab = kind.h5(layout, hop, name), kind.vocab(layout, name)
                pool, n, file = str(entry["pool"]), int(entry["questions"]), layout.relative(h5)
                yield QuestionFile(kind, hops[hop], name, pool, h5, file, vocab, n, reader)


def pair_files(folder: Folder, splits: Iterable[SplitFile], *, added: bool) -> Iterator[PairFile]:
    """The pairs of suites on splits that the manifest lists, or the train sets with questions of suites."""
    layout = folder.layout
    for split in splits:
        hop = split.hop.name
        for suite, entries in folder.manifest.suites.get(hop, {}).items():
            name = f"{split.name}_{suite}" if added else split.name
            if name not in entries or (added and SPLITS[split.name].role != "train"):
                continue
            n_pairs, n_originals = (int(entries[name][key]) for key in ("pairs", "originals"))
            n, reader = (n_pairs + n_originals, AddedPairs) if added else (2 * n_pairs, PairArrays)
            h5, vocab = layout.suite_h5(hop, suite, name), layout.suite_vocab(hop, suite)
            of_file = (h5, layout.relative(h5), vocab, n, reader)
            yield PairFile(PAIRS, split.hop, name, split.pool, *of_file, suite, split)
