"""The folders whose splits have statistics: datasets of clevrhope, and folders laid out like CLEVR.

The numbers of a dataset are those of its measured.json; a CLEVR folder is measured. A dataset has a group of
splits for each HOP; a CLEVR folder has one group.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from clevrhope.dataset.clevr_folder import FAMILIES, TYPES, clevr_splits, questions_file, scenes_file
from clevrhope.dataset.contents import no_hop
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.folder_check import no_dataset
from clevrhope.dataset.json_rows import read_list
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.measured import read_fitting
from clevrhope.describe.measure import QuestionTally, Value, count_objects
from clevrhope.describe.measured import Measured
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.forms import ANY, INDEX, TEXT, Fields, ListOf, check_form
from clevrhope.runtime.json_text import as_json_values

CLEVR = "CLEVR"
"""Name of the only group of a CLEVR folder."""

NOTHING: Mapping[str, Any] = {"held_out": {}, "suites": {}, "covr": {}}
"""What CLEVR has of the keys of measured.json."""


class StatsFolder:
    """A folder whose splits can be measured; everything is read once."""

    groups: Mapping[str, Sequence[str]]
    """HOP, or CLEVR -> its splits."""
    episodes: Mapping[str, Sequence[str]]
    """HOP -> its splits of episodes with nonce words; a group can have these alone."""
    name: str
    """Name of the folder in tables."""

    def __init__(self, root: Path) -> None:
        """Opens the dataset in a folder, or CLEVR.

        Raises:
            WrongFolderError: there is no dataset.
            DatasetError: the folder has only a part of a dataset, or its manifest is broken.
        """
        self.root = root
        self._dataset: Folder | None = None
        self.episodes = {}
        self.of_group, self.measure = cache(self._of_group), cache(self._measure)
        if Layout(root).manifest.exists():
            self._dataset = Folder.open(root, finished=False)
            self.name = Path(self._dataset.title).resolve().name
            manifest = self._dataset.manifest
            self.episodes = {hop: list(splits) for hop, splits in manifest.nonce.items()}
            of_hops: dict[str, Sequence[str]] = {hop: list(splits) for hop, splits in manifest.splits.items()}
            self.groups = of_hops | {hop: () for hop in self.episodes if hop not in of_hops}
            if not self.groups:
                raise DatasetError(
                    f"{root}: the dataset has no finished split; run the dataset's build again to continue"
                )
            return
        self.name, self.groups = CLEVR, {CLEVR: clevr_splits(root)}
        if not self.groups[CLEVR]:
            raise no_dataset(root, clevr=True)

    def group(self, name: str) -> str:
        """The HOP with this name, whose values may be in any order; raises a ConfigError if there is none."""
        if name in self.groups:
            return name
        if self._dataset is None:
            raise ConfigError(
                f'{self.root}: a CLEVR folder has no sub-datasets, so no "{name}"; leave out --hop'
            )
        known = self._dataset.hop(name).name
        if known not in self.groups:
            raise no_hop(self.root, known, list(self.groups))
        return known

    def splits(self, group: str) -> list[str]:
        """The splits of a group with questions of any kind; raises a DatasetError as `of_group` does."""
        return [*self.groups[group], *self.of_group(group)["covr"], *self.episodes.get(group, ())]

    def _of_group(self, group: str) -> Mapping[str, Any]:
        """The measurements of a group, as in measured.json; CLEVR's lack its splits.

        Raises:
            DatasetError: as for `read_fitting`.
        """
        if self._dataset is None or not self.groups[group]:
            return NOTHING
        return read_fitting(self._dataset.layout, self._dataset.manifest, group)

    def _measure(self, group: str, split: str) -> Measured:
        """The measurements of a split; raises a DatasetError if its files are broken."""
        if self._dataset is None:
            return measure_clevr_split(self.root, split)
        measured: Measured = self.of_group(group)["splits"][split]
        return measured


def measure_clevr_split(folder: Path, split: str) -> dict[str, Any]:
    """The measurements of a split, whose files are read as a stream.

    Raises:
        DatasetError: a file is missing, broken or not in CLEVR's format; the message names the question or
            scene.
    """
    questions = QuestionTally()
    path = questions_file(folder, split)
    for n, row in enumerate(read_list(path, "questions")):
        place = f"questions[{n}]"
        check_form(row, _QUESTION, path, place=place, remedy=_REMEDY)
        for step in row["program"]:
            if not step.get("function", step.get("type")):
                raise DatasetError(f"{path}: {place}.program: a step without a function; {_REMEDY}")
        questions.add(row)
    path = scenes_file(folder, split)
    scenes = count_objects(_scenes(path))
    try:
        measured = questions.measured(split, scenes, dict(enumerate(FAMILIES)))
    except DatasetError as error:
        raise DatasetError(f"{path}: {error}") from error
    found: dict[str, Any] = as_json_values(measured)
    return found


def _scenes(path: Path) -> Iterator[tuple[int, list[list[Value]]]]:
    """The index of each scene in a file, and the attributes and values of its objects."""
    for n, row in enumerate(read_list(path, "scenes")):
        check_form(row, _SCENE, path, place=f"scenes[{n}]")
        yield row["image_index"], [[(kind, thing[kind]) for kind in TYPES] for thing in row["objects"]]


_REMEDY = "take CLEVR's train or val, which have programs and answers"
_STEP = Fields({"value_inputs": ListOf(TEXT)}, {"function": TEXT, "type": TEXT})
_QUESTION = Fields(
    {
        "image_index": INDEX,
        "question": TEXT,
        "answer": ANY,
        "question_family_index": INDEX,
        "program": ListOf(_STEP, least=1),
    }
)
_SCENE = Fields({"image_index": INDEX, "objects": ListOf(Fields(dict.fromkeys(TYPES, TEXT)))})
