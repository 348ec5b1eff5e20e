"""The names of the official files: which pair and which split a file is of."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.dataset.source_images import ImageRecord
from clevrhope.errors import DatasetError
from clevrhope.sources.source import Columns, Numbering, SourceSplit
from clevrhope.splits.hops import OFFICIAL_NUMBERS

PAIRS = {number: hop for hop, number in OFFICIAL_NUMBERS.items()}
"""Number of a pair in the official data -> its name here."""

FIRST_RUN = range(6)
"""The pairs of the official generator's first run; the others come from a second one, with other images."""

SECOND_RUN = "held_out_CLEVR_add"
"""The folder of the second run's files."""

SPLITS = {
    "train": "train",
    "val": "complex_iid",
    "val_iid": "complex_iid",
    "test": "complex_ood",
    "test_complex_iid": "complex_iid",
    "test_complex_ood": "complex_ood",
    "test_minimal_iid": "minimal_iid",
    "test_minimal_ood": "minimal_ood",
}
"""Name of a split in official files -> its name here. Their val_iid is the in-distribution test set."""

POOLS = {"train": "train", "complex_iid": "test_iid", "complex_ood": "test_ood"}
"""Split -> the begin of the names of its pools; those of minimal splits begin with the split's name."""

PARQUET = {here: there for there, here in SPLITS.items() if there not in ("val", "val_iid", "test")}
"""Split -> its name in Parquet."""

HDF5 = {
    "train": ("train", "CLEVR_ho_train_{}_no_text_no_vis_questions", "train_v1.0_img"),
    "complex_iid": ("val", "CLEVR_ho_val_iid_{}_no_text_no_vis_questions", "val_iid_v1.0_img"),
    "complex_ood": ("test", "CLEVR_held_out_questions_test_{}", "test_v1.0_img"),
}
"""Split of whole scenes -> how the names of its HDF5 files begin, the name of its question file in JSON (with
the values), and the folder of its images."""

PLAIN = {"train": (567_000, 700_000), "complex_iid": (121_500, 150_000)}
"""Split -> questions of the published set, and of the files of pairs 00 to 05, in which others follow it."""

BEGINS = {"train": ("train",), "complex_iid": ("val_iid", "val"), "complex_ood": ("test",)}
"""Split of whole scenes -> how the names of files about its images, or of their folders, begin."""

RENAMED = "the official {name} is the in-distribution test set, complex_iid here; val_iid here is another set"

_TUPLE = re.compile(r"\((?:None|'\w+')(?:, ?(?:None|'\w+')){3}\)")
_PARQUET = re.compile(
    r"(train|val_iid|test_(?:complex|minimal)_(?:iid|ood))"
    r"(?:-(?P<number>\d+)-of-(?P<shards>\d+)(?:-[0-9a-f]+)?)?\.parquet"
)
_MINIMAL = re.compile(r"val_atom_ho_exist_(mis)?match_ho(\d+)(_filtered)?(?:_questions)?\.(?:h5|json)")
_JSON = re.compile(r"CLEVR_(?:ho_(train|val_iid)|held_out_questions_(test))_\(.*\.json")


@dataclass(frozen=True, order=True)
class OfficialFile:
    """A question file of the official data, by its path.

    Attributes:
        number: the pair's number.
        split: the split's name here.
        name: the split's name there.
        path: the file.
    """

    number: int
    split: str
    name: str
    path: Path

    @property
    def shard(self) -> tuple[int, int]:
        """Its number among the files of the split, and how many there are; (0, 1) if its name says none."""
        found = _PARQUET.fullmatch(self.path.name)
        return (int(found["number"]), int(found["shards"])) if found and found["number"] else (0, 1)

    @property
    def hop(self) -> str:
        """The pair's name here."""
        return PAIRS[self.number]

    @property
    def run(self) -> str:
        """What tells the pools of the two runs apart."""
        return "official_00" if self.number in FIRST_RUN else "official_06"

    def split_source(
        self,
        n_questions: int,
        blocks: Callable[[Numbering], Iterator[Columns]],
        images: Callable[[], ImageRecord | None],
        *,
        pool: str | None = None,
        note: str = "",
        **others: Any,
    ) -> SourceSplit:
        """The split as a source; by default, the pairs of a run share its pools."""
        renamed = RENAMED.format(name=self.name) if self.name in ("val", "val_iid") else ""
        notes = "; ".join(each for each in (renamed, note) if each)
        pool = pool or f"{POOLS.get(self.split, 'minimal')}_{self.run}"
        return SourceSplit(
            self.hop, self.split, pool, n_questions, self.path, blocks, images, note=notes, **others
        )


def official_file(path: Path) -> OfficialFile | None:
    """What an official question file holds, by its path; None for another file.

    Raises:
        DatasetError: the path names a pair that the official data do not have.
    """
    if path.suffix == ".parquet":
        found, folder = _PARQUET.fullmatch(path.name), re.fullmatch(r"HOP(\d+)", path.parent.name)
        if found and folder:
            return _file(path, _pair(path, int(folder[1])), found[1])
    elif found := _MINIMAL.fullmatch(path.name):
        if found[1] and not found[3]:
            return None  # the set before it was filtered, which must not be used
        return _file(path, _pair(path, int(found[2])), f"test_minimal_{'iid' if found[1] else 'ood'}")
    elif path.suffix == ".h5" and "no_text_no_vis" in path.parent.name:
        name = path.name.partition("_")[0]
        if name in SPLITS and (values := _TUPLE.search(path.parent.name)):
            return _file(path, _of_values(path, values[0]), name)
    elif (
        (found := _JSON.fullmatch(path.name))
        and (values := _TUPLE.search(path.name))
        and (found[2] or "no_text_no_vis" in path.name)
    ):
        return _file(path, _of_values(path, values[0]), found[1] or found[2])
    return None


def about(file: OfficialFile, paths: Iterable[Path], *, one_run: bool) -> Path | None:
    """The first file that is about the images of a split, by its name or its folder's; None if none is.

    With `one_run`, all pairs are of one run, so that no folder need say which.
    """
    for path in paths:
        is_minimal = "atom" in "/".join(path.parts[-3:]).lower()
        is_of_run = one_run or (SECOND_RUN in path.parts) == (file.number not in FIRST_RUN)
        if is_minimal == (file.split in POOLS) or not is_of_run:
            continue
        for name in BEGINS.get(file.split, ("val", "atom")):
            if any(re.search(rf"(?:^|_){name}[_.]", each) for each in (path.name, path.parent.name)):
                return path
    return None


def _file(path: Path, number: int, name: str) -> OfficialFile:
    return OfficialFile(number, SPLITS[name], name, path)


def _pair(path: Path, number: int) -> int:
    if number not in PAIRS:
        raise DatasetError(f"{path}: its path names pair {number}; the official data have 0 to 28")
    return number


def _of_values(path: Path, text: str) -> int:
    """The number of the pair with the values of a tuple of size, color, shape and material."""
    size, color, shape, material = ast.literal_eval(text)
    values = {value for value in (size, color, shape, material) if value}
    number = next((n for hop, n in OFFICIAL_NUMBERS.items() if set(hop.split("_")) == values), None)
    if number is None:
        raise DatasetError(
            f"{path}: its path names the values {text}, which no pair of the official data has"
        )
    return number


def places_of(hop_diversity: int) -> int:
    """Number of places that the minimal images of a pair show, by the number of combinations of its types."""
    return {4: 40, 6: 40, 16: 35, 24: 28}[hop_diversity]
