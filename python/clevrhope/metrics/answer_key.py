"""The right answers of a folder's test sets, and the groups of their questions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.binding import difference
from clevrhope.dataset.clevr_json import read_row_lines
from clevrhope.dataset.contents import check_suite, suite_command, suite_splits_in
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.identity import identity
from clevrhope.dataset.layout import SCENES_A_SHARD, Layout
from clevrhope.dataset.mentions import mentions_together
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import QuestionTable, check_numbers, read_table
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import NO_ANSWER, SPECIAL_TOKENS, Vocab, read_vocab
from clevrhope.describe.measure import SceneCounts, read_scene_counts
from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import record
from clevrhope.splits.kinds import SPLITS

BREAKDOWNS = ("family", "answer", "objects")
"""The breakdowns by which questions can be grouped."""

_FAMILY = re.compile(rb'"question_family_index": ?(\d+)')
_FILE = re.compile(rb'"template_filename": ?"([^"]+)"')
_PLACE = re.compile(rb'"template_index": ?(\d+)')


@dataclass(frozen=True)
class TestSet:
    """The N questions of a split, in the order of its file."""

    hop: str
    split: str
    pool: str
    answers: Ints
    """(N,) the right answers' numbers in vocab.json."""
    images: Ints
    """(N,) the images' indices in the pool."""
    families: Ints
    """(N,) the families' global indices."""

    @property
    def drawn_together(self) -> int:
        """The number of consecutive images of the pool that the bootstrap draws together.

        The images of a preliminary set differ in one value, and their answers cover all values. A model that
        ignores the image is thus right about exactly one of them, so the bootstrap draws whole sets.
        """
        return max(1, SPLITS[self.split].group)

    __test__ = False  # pytest would collect a class with this name as tests

    def __len__(self) -> int:
        return len(self.answers)


def _in_words(file: str, place: int) -> str:
    """A family's name as `clevrhope families` lists it: its file and its index there, such as one_hop 3."""
    return f"{file.removesuffix('.json')} {place}"


def answer_numbers(vocab: Vocab) -> dict[str, int]:
    """The number of each answer, including `NO_ANSWER`."""
    numbers = vocab.answer_token_to_idx
    return {text: n for text, n in numbers.items() if text == NO_ANSWER or text not in SPECIAL_TOKENS}


class AnswerKey:
    """The right answers of a folder's test sets, each read on first use."""

    of_sets = False
    """Whether the questions are about sets of images."""

    def __init__(self, folder: Path | str) -> None:
        """Reads the manifest and the vocabulary.

        Raises:
            DatasetError: the folder is not a dataset, or is only one machine's part of one.
        """
        self._layout = Layout(Path(folder))
        self._manifest = Folder.open(self._layout.root, finished=False).manifest
        self._vocab = read_vocab(self._layout.vocab)
        self.answers: Mapping[str, int] = answer_numbers(self._vocab)
        """Each answer's number, and that of `NO_ANSWER`, which is right for no question."""
        self.splits: Mapping[str, tuple[str, ...]] = {
            hop: tuple(split for split in splits if SPLITS[split].role != "train")
            for hop, splits in self._manifest.splits.items()
        }
        """HOP -> its splits but train."""
        self._test_sets: dict[tuple[str, str], TestSet] = {}
        self._pairs: dict[tuple[str, str, str], QuestionTable] = {}
        self._suite_files: dict[tuple[str, str, str], str] = {}
        self._scenes: dict[str, SceneCounts] = {}
        self._families: dict[int, str] = {}

    def __repr__(self) -> str:
        return f"AnswerKey({str(self.folder)!r})"

    @property
    def folder(self) -> Path:
        """The dataset's folder."""
        return self._layout.root

    def test_set(self, hop: str, split: str) -> TestSet:
        """A split's right answers.

        Raises:
            DatasetError: its HDF5 file is missing or incomplete.
        """
        if (hop, split) not in self._test_sets:
            path = self._layout.questions_h5(hop, split)
            n = int(self._manifest.splits[hop][split]["questions"])
            table = read_table(path, max_rows=n, vocab=self._vocab)
            pool = str(self._manifest.splits[hop][split]["pool"])
            self._test_sets[hop, split] = TestSet(
                hop, split, pool, table.answers, table.image_idxs, table.question_families
            )
        return self._test_sets[hop, split]

    def suite_splits(self, hop: str, suite: str) -> tuple[str, ...]:
        """The splits of a HOP that have pairs of a suite; empty if the suite was not made.

        Raises:
            DatasetError: a file of the suite that the manifest lists is missing.
        """
        check_suite(self._layout, self._manifest, hop, suite)
        found = suite_splits_in(self._layout, hop, suite)
        return tuple(split for split in found if split in self.splits[hop])

    def suite_functions(self, hop: str, suite: str) -> list[str]:
        """The functions of a suite's programs by number; those of the dataset have the same numbers."""
        return read_vocab(self._layout.suite_vocab(hop, suite)).programs()

    def pairs(self, hop: str, suite: str, split: str) -> QuestionTable:
        """The pairs of a suite on a split.

        Raises:
            DatasetError: their file is missing or incomplete, or was made from other questions than those
                now in the split.
        """
        if (hop, suite, split) not in self._pairs:
            path = self._layout.suite_h5(hop, suite, split)
            pairs = read_table(path, PAIRS)
            check_numbers(path, "answers", pairs.check().answers, len(self._vocab.answers()))
            answers, is_own = self.test_set(hop, split).answers, pairs.orig_idxs >= 0
            places = pairs.orig_idxs[is_own]
            fit = len(pairs) % 2 == 0 and places.max(initial=-1) < len(answers)
            if not (fit and np.array_equal(answers[places], pairs.answers[is_own])):
                raise DatasetError(
                    f"{path}: made of other questions than the split has now; make it again: "
                    f"{suite_command(self.folder, suite, hop)}"
                )
            self._pairs[hop, suite, split] = pairs
        return self._pairs[hop, suite, split]

    def suite_sha256(self, hop: str, suite: str, split: str) -> str:
        """SHA-256 of the file with a suite's pairs on a split, by which predictions identify the file.

        Raises:
            DatasetError: the file is missing or cannot be read.
        """
        place = (hop, suite, split)
        if place not in self._suite_files:
            self._suite_files[place] = record(self._layout.suite_h5(hop, suite, split)).sha256
        return self._suite_files[place]

    def difference_from(self, trained_on: Mapping[str, Any], hop: str) -> str:
        """How the folder differs from the dataset that a run was trained on; "" if it does not.

        The rendering of a folder without images is not compared: only its questions matter here.

        Args:
            trained_on: the `identity` of the run's dataset, or the known part of it.
            hop: the sub-dataset that the run was trained on.
        """
        images = trained_on.get("rendering") is not None
        here = identity(self._manifest, self._vocab, hop=hop, images=images)
        names = [name for name in trained_on if name != "rendering" or here[name] is not None]
        then, now = ({name: each.get(name) for name in names} for each in (trained_on, here))
        return "" if then == now else difference(then, now, sides=("then", "now"))

    def forget(self, hop: str) -> None:
        """Frees the memory of a HOP's test sets and pairs."""
        for split in self.splits[hop]:
            self._test_sets.pop((hop, split), None)
        self._pairs = {place: pairs for place, pairs in self._pairs.items() if place[0] != hop}

    def parts(self, by: str, questions: TestSet) -> Ints:
        """(N,) the part of a breakdown that each question belongs to, numbered from 0.

        Raises:
            DatasetError: the folder's scene files are missing.
        """
        if by == "family":
            return questions.families
        if by == "answer":
            return self._type_of_answer[questions.answers]
        return self._objects(questions)

    def part_names(self, by: str, numbers: Sequence[int], hop: str) -> list[str]:
        """The names of the parts of a breakdown with these numbers."""
        if by == "family":
            return [self._family_name(number, hop) for number in numbers]
        if by == "answer":
            return [self._answer_types[number] for number in numbers]
        return [str(number) for number in numbers]

    def mentions_together(self, hop: str, split: str, types: Sequence[str]) -> npt.NDArray[np.bool_]:
        """(N,) whether each question of a split mentions a value of each of these attributes together.

        Raises:
            DatasetError: a file is missing or invalid, or an attribute is not in the vocabulary.
        """
        path = self._layout.questions_h5(hop, split)
        return mentions_together(path, self._layout.vocab, types)

    @cached_property
    def attributes(self) -> Mapping[str, Sequence[str]]:
        """The values of each attribute."""
        attributes: Mapping[str, Sequence[str]] = self._manifest.world["attributes"]
        return attributes

    @cached_property
    def _answer_types(self) -> tuple[str, ...]:
        return ("yes/no", "count", *self.attributes)

    @cached_property
    def _type_of_answer(self) -> Ints:
        """Number of an answer -> number of its type."""
        type_of = {value: kind for kind, values in self.attributes.items() for value in values}
        types = np.zeros(max(self.answers.values(), default=0) + 1, dtype=np.int32)
        for text, number in self.answers.items():
            kind = type_of.get(text) or ("yes/no" if text in ("yes", "no") else "count")
            types[number] = self._answer_types.index(kind)
        return types

    def _objects(self, questions: TestSet) -> Ints:
        pool = questions.pool
        if pool not in self._scenes:
            self._scenes[pool] = read_scene_counts(self._layout.scene_files(pool), self.attributes)
        counts = self._scenes[pool]
        indices, at = np.unique(questions.images, return_inverse=True)
        known = np.isin(indices, counts.indices)
        if not known.all():
            index = int(indices[~known][0])
            path = self._layout.scene_shard(pool, index // SCENES_A_SHARD)
            raise DatasetError(
                f"{path}: scene {index} is not there, so its objects cannot be counted; restore the file, "
                "or leave objects out of --by"
            )
        n_objects: Ints = counts.n_objects[counts.rows(indices)][at]
        return n_objects

    def _family_name(self, family: int, hop: str) -> str:
        if family not in self._families:
            self._families.update(self._families_in_questions(hop) or self._families_of_package)
        return self._families.setdefault(family, f"family {family}")

    def _families_in_questions(self, hop: str) -> dict[int, str]:
        """Names of the families in a HOP's question files, from the first row of each family.

        Empty if the dataset has no question files.
        """
        found: dict[int, str] = {}
        for split in self.splits[hop]:
            path = self._layout.questions_json(hop, split)
            missing = set(np.unique(self.test_set(hop, split).families).tolist()) - set(found)
            if not path.exists() or not missing:
                continue
            for row in read_row_lines(path):
                family = _FAMILY.search(row)
                if family is None or int(family[1]) not in missing:
                    continue
                file, place = _FILE.search(row), _PLACE.search(row)
                if file and place:
                    found[int(family[1])] = _in_words(file[1].decode(), int(place[1]))
                missing.discard(int(family[1]))
                if not missing:
                    break
        return found

    @cached_property
    def _families_of_package(self) -> dict[int, str]:
        """Names of the package's own families if the folder was made with them; else empty."""
        from clevrhope.questions import read_templates
        from clevrhope.scenes import read_world

        templates = read_templates(read_world())
        if templates.fingerprint != self._manifest.templates["fingerprint"]:
            return {}
        return {index: _in_words(file, place) for file, place, index in templates.families}
