"""The right answers of a folder's test sets, and the groups of their questions."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.binding import difference
from clevrhope.dataset.contents import check_suite, suite_command, suite_splits_in
from clevrhope.dataset.covr_questions import description_of
from clevrhope.dataset.folder import Folder, identity
from clevrhope.dataset.layout import SCENES_A_SHARD, Layout
from clevrhope.dataset.levels import levels_of
from clevrhope.dataset.measured import read_measured
from clevrhope.dataset.mentions import mentions_together
from clevrhope.dataset.question_kinds import NONCE, PAIRS, SETS, SINGLE, Field, QuestionKind, kind_of
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.questions_h5 import Ints, check_numbers
from clevrhope.dataset.vocab import NO_ANSWER, SPECIAL_TOKENS, read_vocab
from clevrhope.describe.measure import SceneCounts, read_scene_counts
from clevrhope.errors import ConfigError, DatasetError, PredictionsError, shown
from clevrhope.metrics.results import Part
from clevrhope.runtime.atomic import record
from clevrhope.splits.covr.description import Description
from clevrhope.splits.covr.kinds import COVR_KINDS, is_covr
from clevrhope.splits.hops import Hop, parse_hop
from clevrhope.splits.kinds import SHARED_PLACES, SPLITS
from clevrhope.splits.nonce.kinds import NONCE_SPLITS
from clevrhope.splits.palettes import parse_pool_name

BREAKDOWNS = ("family", "answer", "objects")
"""The breakdowns by which questions about one image are grouped."""

ON_REQUEST = "level"
"""The breakdown by which they are only grouped if it is named."""


@dataclass(frozen=True)
class Breakdown:
    """The groups of a breakdown."""

    numbers: Callable[[QuestionTable], Ints]
    """Gives the (N,) group of each question of a test set, numbered from 0."""
    part: Callable[[int], Part | None]
    """Gives the group with a number; None for questions that are in no group."""


def is_trained_on(split: str) -> bool:
    """Whether a split is a train set, which has no right answers to compare predictions with."""
    known = SPLITS.get(split) or COVR_KINDS.get(split)
    return known is not None and known.role == "train"


def has_to_be_answered(split: str) -> bool:
    """Whether a model that leaves out a split is incomplete; that for tuning and controls may be left out."""
    if kind_of(split) is NONCE:
        return split in NONCE_SPLITS
    return split not in SPLITS or SPLITS[split].is_test_set


def drawn_images(questions: QuestionTable) -> Ints:
    """(N,) the image that the bootstrap draws each question with; of a set, the source image."""
    images = questions.image_idxs
    if images.ndim == 1:
        return images
    of_source: Ints = images[np.arange(len(questions)), questions.sources]
    return of_source


def _breakdown_by(field: Field, some: QuestionTable) -> Breakdown:
    """The breakdown by a field; `some` are questions of the sub-dataset, by which groups are named."""

    def part(number: int) -> Part | None:
        name = field.value(some, number) if field.value else number
        return None if name is None else Part(field.name, str(name))

    return Breakdown(lambda questions: getattr(questions, field.column), part)


class AnswerKey:
    """The right answers of a folder's test sets of one kind of questions, each read on first use."""

    def __init__(self, folder: Path | str, kind: QuestionKind = SINGLE) -> None:
        """Reads the manifest and the vocabulary.

        Raises:
            DatasetError: the folder is not a dataset, is only one machine's part of one, or has no questions
                of the kind.
        """
        self.kind = kind
        self._layout = Layout(Path(folder))
        self.folder = self._layout.root
        """The dataset's folder."""
        self._manifest = Folder.open(self.folder, finished=False).manifest
        self.attributes: Mapping[str, Sequence[str]] = self._manifest.world["attributes"]
        """The values of each attribute."""
        self._entries: Mapping[str, Mapping[str, Any]] = getattr(self._manifest, kind.listed)
        if kind is not SINGLE and not self._entries:
            what = kind.what.removeprefix("a file of ")
            raise DatasetError(
                f"{folder}: it has no {what}; the option --{kind.listed} of clevrhope build adds them"
            )
        self._vocab = read_vocab(kind.vocab(self._layout, kind.splits[0]))
        numbers = self._vocab.answer_token_to_idx
        self.answers: Mapping[str, int] = {
            text: n for text, n in numbers.items() if text == NO_ANSWER or text not in SPECIAL_TOKENS
        }
        """Each answer's number, and that of `NO_ANSWER`, which is right for no question."""
        self.splits: Mapping[str, tuple[str, ...]] = {
            hop: tuple(name for name in entries if kind_of(name) is kind and not is_trained_on(name))
            for hop, entries in self._entries.items()
        }
        """HOP -> its splits but train."""
        self._tables: dict[tuple[str, ...], QuestionTable] = {}
        """(HOP, split) -> a test set; (HOP, suite, split) -> pairs."""
        self._record = cache(record)
        self._scenes = cache(self._scene_counts)
        self._measured = cache(self._read_measured)

    def test_set(self, hop: str, split: str) -> QuestionTable:
        """The questions of a split, with their right answers.

        Raises:
            DatasetError: its HDF5 file is missing or incomplete.
        """
        if (hop, split) not in self._tables:
            path, n = self.kind.h5(self._layout, hop, split), int(self._entries[hop][split]["questions"])
            self._tables[hop, split] = read_table(path, self.kind, max_rows=n, vocab=self._vocab)
        return self._tables[hop, split]

    @classmethod
    def of_suite(cls, folder: Path | str, suite: str) -> Self:
        """The key of the splits that a suite is about: of one image, or of sets; raises as the class does."""
        suites = Folder.open(Path(folder), finished=False).manifest.suites.values()
        return cls(
            folder,
            SETS if any(is_covr(split) for each in suites for split in each.get(suite, ())) else SINGLE,
        )

    @property
    def functions(self) -> list[str]:
        """The functions of programs by number."""
        return self._vocab.programs()

    def train_set(self, hop: str, split: str) -> QuestionTable:
        """The questions of a split that models are trained on; raises as `test_set`."""
        return read_table(self.kind.h5(self._layout, hop, split), self.kind)

    def description(self, questions: QuestionTable, *, limit: int | None = None) -> Description:
        """What predicates read of questions about sets of images, or of the first `limit`."""
        return description_of(questions, self._vocab, limit=limit)

    def suite_splits(self, hop: str, suite: str) -> tuple[str, ...]:
        """The splits of a HOP that have pairs of a suite; empty if the suite was not made.

        Raises:
            DatasetError: a file of the suite that the manifest lists is missing.
        """
        check_suite(self._layout, self._manifest, hop, suite)
        made = suite_splits_in(self._layout, hop, suite)
        return tuple(split for split in made if split in self.splits[hop])

    def suite_functions(self, hop: str, suite: str) -> list[str]:
        """The functions of a suite's programs by number; those of the dataset have the same numbers."""
        return read_vocab(self._layout.suite_vocab(hop, suite)).programs()

    def pairs(self, hop: str, suite: str, split: str) -> QuestionTable:
        """The pairs of a suite on a split.

        Raises:
            DatasetError: their file is missing or incomplete, or was made from other questions than those
                now in the split.
        """
        if (hop, suite, split) not in self._tables:
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
            self._tables[hop, suite, split] = pairs
        return self._tables[hop, suite, split]

    @property
    def asked_of(self) -> str:
        """Digits that stand for the dataset, which requests have."""
        return self._manifest.digest

    def check_asked_of(self, file: Path, asked_of: object) -> None:
        """Checks that a file of predictions does not name another dataset.

        Raises:
            PredictionsError: it does.
        """
        if asked_of not in (None, here := self.asked_of):
            raise PredictionsError(
                f"{file}: the answers are to requests about another dataset (asked_of is {shown(asked_of)}, "
                f"and {here} for {self.folder}); give the folder that the requests were made of"
            )

    def suite_sha256(self, hop: str, suite: str, split: str) -> tuple[str, ...]:
        """SHA-256 of the file with a suite's pairs on a split, by which predictions identify the file.

        Of an import, that of the file which was published follows.

        Raises:
            DatasetError: the file is missing or cannot be read.
        """
        entry = self._manifest.suites.get(hop, {}).get(suite, {}).get(split, {})
        own = self._record(self._layout.suite_h5(hop, suite, split)).sha256
        return (own, entry["sha256"]) if "sha256" in entry else (own,)

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
        then, now = ({name: record.get(name) for name in names} for record in (trained_on, here))
        return "" if then == now else difference(then, now, sides=("then", "now"))

    def images_of_a_unit(self, pool: str, split: str) -> int:
        """How many images with consecutive indices the bootstrap draws together.

        The images of a place of a minimal set differ in the values of its types alone, and those of a
        preliminary set in one value. A model that ignores the image is right about the same number of
        questions of each such group, so errors go by group, and both splits of a pool share its places.
        """
        if (source := self._manifest.source) and not source.get("is_placed"):
            return int(self._manifest.pools.get(pool, {}).get("unit", 1))
        kind = SPLITS.get(split)
        if kind is None or kind.drawn != "places":
            return max(1, kind.group) if kind else 1
        if pool == SHARED_PLACES:
            return prod(map(len, self.attributes.values()))
        return kind.group_of(len(parse_pool_name(pool)[0].split("_")[1:]))

    def images_of_a_group(self, hop: str, split: str) -> int:
        """How many images a question of a minimal set is about at each place; 0 for other splits and HOPs."""
        kind = SPLITS.get(split)
        if kind is None or kind.drawn != "places":
            return 0
        source = self._manifest.source
        if source and not source.get("is_placed") and split not in source.get("grouped", ()):
            return 0
        parsed = self.parsed(hop)
        return kind.group_of(len(parsed.held_out or ())) if parsed else 0

    def parsed(self, hop: str) -> Hop | None:
        """What a HOP's name says, by the values of the dataset; None if it is not such a name."""
        with suppress(ConfigError):
            return parse_hop(hop, list(self.attributes.items()))
        return None

    def forget(self, hop: str) -> None:
        """Frees the memory of a HOP's test sets and pairs."""
        self._tables = {place: table for place, table in self._tables.items() if place[0] != hop}

    @property
    def breakdowns(self) -> tuple[str, ...]:
        """The names of the breakdowns that questions of this kind have."""
        names = tuple(field.name for field in self.kind.breakdowns) or BREAKDOWNS
        known = tuple(name for name in names if name not in self.unknown)
        return (*known, ON_REQUEST) if "objects" in known else known

    @cached_property
    def unknown(self) -> Mapping[str, str]:
        """Breakdowns and group scores for which published files lack columns -> what is missing."""
        if not self._manifest.source or self.kind is not SINGLE:
            return {}
        tests = [(hop, split) for hop, splits in self.splits.items() for split in splits]
        found = {}
        if not all(self._layout.scene_files(self._entries[hop][split]["pool"]) for hop, split in tests):
            found["objects"] = "scenes"
        if any((self.test_set(hop, split).question_families < 0).any() for hop, split in tests):
            found["family"] = "families"
        if any(
            SPLITS[split].drawn == "places" and not self.images_of_a_group(hop, split) for hop, split in tests
        ):
            found["group accuracy"] = "places of minimal sets"
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """What scores of an imported dataset lack."""
        named = {"objects": "breakdown by objects or level", "family": "breakdown by family"}
        lacking = [f"{what} (so no {named.get(name, name)})" for name, what in self.unknown.items()]
        return (f"the published files lack {', '.join(lacking)}",) if lacking else ()

    def breakdown(self, by: str, hop: str) -> Breakdown:
        """A breakdown of a HOP's questions; that by objects raises `DatasetError` without scene files."""
        field = next((field for field in self.kind.breakdowns if field.name == by), None)
        if field is not None:
            return _breakdown_by(field, self.test_set(hop, self.splits[hop][0]))
        if by == "family":
            names = self.family_names(hop)
            return Breakdown(
                lambda questions: questions.question_families, lambda n: Part(by, names.get(n, f"family {n}"))
            )
        if by == "answer":
            return Breakdown(
                lambda questions: self._type_of_answer[questions.answers],
                lambda n: Part(by, self._answer_types[n]),
            )
        if by == ON_REQUEST:
            return Breakdown(
                lambda questions: levels_of(questions, self.objects(questions)), lambda n: Part(by, str(n))
            )
        return Breakdown(self.objects, lambda n: Part(by, str(n)))

    def family_names(self, hop: str) -> Mapping[int, str]:
        """The families of a HOP by their global index, such as one_hop 3.

        Empty if the dataset has no measurements.

        Raises:
            DatasetError: the measurements are broken.
        """
        families = self._measured(hop).get("families", ())
        return {each["question_family_index"]: f"{each['file']} {each['place']}" for each in families}

    def measured_tests(self, hop: str, suite: str, split: str) -> Mapping[str, Mapping[str, Any]]:
        """The measurements of a suite's tests on a split; empty if there are none. Raises as above."""
        of_suite: Mapping[str, Any] = self._measured(hop).get("suites", {}).get(suite, {})
        tests: Mapping[str, Mapping[str, Any]] = of_suite.get(split, {}).get("tests", {})
        return tests

    def _read_measured(self, hop: str) -> dict[str, Any]:
        path = self._layout.hop_measured(hop)
        return read_measured(path) if path.is_file() else {}

    def mentions_together(self, hop: str, split: str, types: Sequence[str]) -> npt.NDArray[np.bool_]:
        """(N,) whether each question of a split mentions a value of each of these attributes together.

        Raises:
            DatasetError: a file is missing or invalid, or an attribute is not in the vocabulary.
        """
        path = self._layout.questions_h5(hop, split)
        return mentions_together(path, self._layout.vocab, types)

    def objects(self, questions: QuestionTable) -> Ints:
        """(N,) the number of objects in each question's image.

        Raises:
            DatasetError: the folder's scene files are missing.
        """
        pool = questions.pool
        counts = self._scenes(pool)
        indices, at = np.unique(questions.image_idxs, return_inverse=True)
        is_known = np.isin(indices, counts.indices)
        if not is_known.all():
            index = int(indices[~is_known][0])
            path = self._layout.scene_shard(pool, index // SCENES_A_SHARD)
            raise DatasetError(
                f"{path}: scene {index} is not there, so its objects cannot be counted; restore the file, "
                "or leave objects out of --by"
            )
        n_objects: Ints = counts.n_objects[counts.rows(indices)][at]
        return n_objects

    def _scene_counts(self, pool: str) -> SceneCounts:
        return read_scene_counts(self._layout.scene_files(pool), self.attributes)

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
