"""The names of the official files: which pair and which split a file is of."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.errors import DatasetError
from clevrhope.sources.source import Columns, Numbering, SourceSplit
from clevrhope.splits.hops import OFFICIAL_NUMBERS, paper_hops

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

_ATOM = "hdf5_atom_ho_exist_CLEVR_val_v1.0/val_v1.0_ques_dir/val_atom_ho_exist_"
_WHOLE = "hdf5_held_out_CLEVR/no_text_no_vis_{values}_v1.0_ques/"

QUESTIONS = {
    "train": _WHOLE + "train_CLEVR_ho_train_{values}_no_text_no_vis_questions.h5",
    "complex_iid": _WHOLE + "val_CLEVR_ho_val_iid_{values}_no_text_no_vis_questions.h5",
    "complex_ood": _WHOLE + "test_CLEVR_held_out_questions_test_{values}.h5",
    "minimal_ood": _ATOM + "match_ho{number}.h5",
    "minimal_iid": _ATOM + "mismatch_ho{number}_filtered.h5",
}
"""Split -> its question file in HDF5, below the folder of a run."""

IMAGES = {
    "train": "hdf5_held_out_CLEVR_ims/train_v1.0_img/train_ims.h5",
    "complex_iid": "hdf5_held_out_CLEVR_ims/val_iid_v1.0_img/val_ims.h5",
    "complex_ood": "hdf5_held_out_CLEVR_ims/test_v1.0_img/test_ims.h5",
    **dict.fromkeys(("minimal_iid", "minimal_ood"), "hdf5_atom_CLEVR_val_v1.0/val_v1.0_img_dir/val_ims.h5"),
}
"""Split -> the file of its images, below the folder of a run."""

PLAIN = {"train": (567_000, 700_000), "complex_iid": (121_500, 150_000)}
"""Split -> questions of the published set, and of the files of pairs 00 to 05, in which others follow it."""

BEGINS = {"train": ("train",), "complex_iid": ("val_iid", "val"), "complex_ood": ("test",)}
"""Split of whole scenes -> how the names of files about its images, or of their folders, begin."""

RENAMED = "the official {name} is the in-distribution test set, complex_iid here; val_iid here is another set"

_VALUES = r"(?P<values>\((?:None|'\w+')(?:, ?(?:None|'\w+')){3}\))"
_PARQUET = (
    r"(?P<name>train|val_iid|test_(?:complex|minimal)_(?:iid|ood))(?:-\d+-of-\d+(?:-[0-9a-f]+)?)?\.parquet"
)

_NAMES = {
    rf"HOP(?P<number>\d+)/{_PARQUET}": "",
    rf".*no_text_no_vis.*{_VALUES}.*/(?P<name>train|val|test)_.*\.h5": "",
    rf".*/CLEVR_ho_(?P<name>train|val_iid)_{_VALUES}.*no_text_no_vis.*\.json": "",
    rf".*/CLEVR_held_out_questions_(?P<name>test)_{_VALUES}.*\.json": "",
    r".*/val_atom_ho_exist_match_ho(?P<number>\d+)(_filtered)?(_questions)?\.(h5|json)": "test_minimal_ood",
    r".*/val_atom_ho_exist_mismatch_ho(?P<number>\d+)_filtered(_questions)?\.(h5|json)": "test_minimal_iid",
}
"""Folder and name of a question file, with its pair's number or values -> its split there, unless it says it.

The mismatch set before it was filtered must not be used.
"""


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
    def hop(self) -> str:
        """The pair's name here."""
        return PAIRS[self.number]

    @property
    def run(self) -> str:
        """What tells the pools of the two runs apart."""
        return "official_00" if self.number in FIRST_RUN else "official_06"

    def plain(self, images: Sequence[int]) -> tuple[int, list[str]]:
        """How many of the file's questions belong to the published set, and a note if not all do.

        In the first run, paired questions follow the plain ones, and begin again with the first images. Files
        that were made otherwise are not in the order of images, or have each image in one place.

        Args:
            images: (n,) the index of each question's image.
        """
        n = len(images)
        most, all_of_them = PLAIN.get(self.split, (n, n))
        if self.number not in FIRST_RUN or self.split not in PLAIN:
            return n, []
        how, least = "", min(n, most)
        if n != all_of_them:
            falls = np.flatnonzero(np.diff(np.asarray(images, dtype=np.int64)) < 0) + 1
            if 0 < len(falls) <= 2 and images[falls[0]] in images[: falls[0]]:
                how, least = ", by the order of images", min(int(falls[0]), most)
        return least, [f"the first {least:,} of {n:,} questions{how}; paired ones follow"] * (least < n)

    def split_source(
        self,
        n_questions: int,
        blocks: Callable[[Numbering], Iterator[Columns]],
        notes: list[str],
        **others: Any,
    ) -> SourceSplit:
        """The split as a source; by default, the pairs of a run share its pools."""
        if self.name in ("val", "val_iid"):
            notes.insert(0, RENAMED.format(name=self.name))
        pool = others.pop("pool", f"{POOLS.get(self.split, 'minimal')}_{self.run}")
        place = (self.hop, self.split, pool, n_questions, self.path)
        return SourceSplit(*place, blocks, notes=notes, **others)


def official_file(path: Path) -> OfficialFile | None:
    """What an official question file holds, by its path; None for another file.

    Raises:
        DatasetError: the path names a pair that the official data do not have.
    """
    for pattern, name in _NAMES.items():
        if found := re.fullmatch(pattern, f"{path.parent.name}/{path.name}"):
            of_path = found.groupdict()
            values = {*re.findall(r"\w+", of_path.get("values", ""))} - {"None"}
            for hop, number in OFFICIAL_NUMBERS.items():
                if number == int(of_path.get("number", -1)) or {*hop.split("_")} == values:
                    split = name or of_path["name"]
                    return OfficialFile(number, SPLITS[split], split, path)
            pair = of_path.get("values") or int(of_path["number"])
            raise DatasetError(
                f"{path}: its path names pair {pair}; the official data have 0 to 28, of two values"
            )
    return None


def about(file: OfficialFile, paths: Iterable[Path], *, one_run: bool) -> Path | None:
    """The first file or folder that is about the images of a split, by its name or its folder's.

    With `one_run`, all pairs are of one run, so that no folder need say which.
    """
    for path in paths:
        is_minimal = "atom" in "/".join(path.parts[-3:]).lower()
        is_of_run = one_run or (SECOND_RUN in path.parts) == (file.number not in FIRST_RUN)
        if is_minimal == (file.split in POOLS) or not is_of_run:
            continue
        for name in BEGINS.get(file.split, ("val", "atom")):
            if any(re.search(rf"(?:^|_){name}(?:[_.]|$)", each) for each in (path.name, path.parent.name)):
                return path
    return None


def places_of(hop: str) -> int:
    """Number of places that the minimal images of a pair show, by the number of combinations of its types."""
    diversity = next(each.diversity for each in paper_hops() if each.name == hop)
    return {4: 40, 6: 40, 16: 35, 24: 28}[diversity]
