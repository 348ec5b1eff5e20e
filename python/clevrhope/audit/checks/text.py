"""The checks of texts, in one pass over all questions: their meaning, duplicates and balance.

The native parser, which shares no code with the generator of texts, parses each text back through the
templates. Its readings are compared with the program, family and answer.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from clevrhope._core import TextReader, find_windows
from clevrhope.audit.checks.columns import ColumnCheck
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.question_files import SplitFile
from clevrhope.audit.report import Lines
from clevrhope.dataset.native_reader import Ints, vocabulary_of
from clevrhope.dataset.question_kinds import SINGLE
from clevrhope.dataset.scene_files import PoolScenes
from clevrhope.dataset.split_files import SplitArrays, Vocab
from clevrhope.dataset.vocab import by_number
from clevrhope.runtime.progress import Advance

ROWS_A_BATCH = 50_000

PROBLEMS: Mapping[int, str] = {
    TextReader.UNREAD: "no template gives this text",
    TextReader.OTHER_PROGRAM: "its words do not mean its program",
    TextReader.OTHER_FAMILY: "its words are those of another family",
    TextReader.OTHER_ANSWER: "the answer to what its words mean is another one",
}

UNSEEN = 50
"""Maximum number of scenes of a window that gave no question, and so are in no file."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
Digests = npt.NDArray[np.uint64]


def check_text(folder: AuditFolder, lines: Lines, advance: Advance) -> None:
    """Reads every question of every split.

    Raises:
        DatasetError: a file is missing or cannot be read, or the templates are not the folder's.
    """
    _Pass(folder, lines).run(advance)


def text_reader(vocab: Vocab, templates: Sequence[tuple[str, bytes]], synonyms: bytes) -> TextReader:
    """The native parser for texts of a vocabulary; `templates` are named files in the order of families."""
    return TextReader(
        vocabulary_of(vocab),
        question_tokens=by_number(vocab.words),
        program_tokens=by_number(vocab.functions),
        answers=by_number(vocab.answers),
        templates=templates,
        synonyms=synonyms,
    )


class _Pass:
    """One pass over all questions."""

    def __init__(self, folder: AuditFolder, lines: Lines) -> None:
        self._folder, self._lines = folder, lines
        vocab, templates = folder.vocab, folder.templates
        self._reader = text_reader(vocab, templates.files(), templates.synonyms)
        self._answers_by_family = self._reader.answers_by_family
        self._n_several = self._n_ambiguous = 0
        self._columns = ColumnCheck(vocab)

    def run(self, advance: Advance) -> None:
        for split in (*self._folder.splits, *self._folder.others):
            with split.open() as arrays:
                self._split(split, arrays, self._folder.scenes[arrays.pool], advance)
        if self._n_several:
            self._lines["text"].notes.append(
                f"{self._n_several:,} texts have several readings; for {self._n_ambiguous:,} of them the "
                "readings have different answers"
            )
        else:
            self._lines["text"].notes.append("no text has more than one reading")
        if not self._lines["balance"].n_checked:
            self._lines["balance"].skip("no split is balanced over windows")

    def _split(self, split: SplitFile, arrays: SplitArrays, pool: PoolScenes, advance: Advance) -> None:
        lines = self._lines
        lines["arrays"].add(split.file, self._columns.of_file(split, arrays))
        digests = np.zeros(len(arrays), np.uint64)
        families, answers, image_idxs = (
            np.ascontiguousarray(arrays.columns[name], dtype=np.int32)
            for name in ("question_families", "answers", "image_idxs")
        )
        for first in range(0, len(arrays), ROWS_A_BATCH):
            batch = slice(first, first + ROWS_A_BATCH)
            wide = {
                name: np.ascontiguousarray(arrays.tokens(name, first, ROWS_A_BATCH))
                for name in ("questions", "programs")
            }
            # A row without a scene is read without answers; another check reports the missing scene.
            scenes = pool.rows(image_idxs[batch])
            flags, digests[batch] = self._reader.read(
                wide["questions"], wide["programs"], families[batch], answers[batch], pool.native, scenes
            )
            self._check_agreement(split, first, wide["questions"], flags)
            lines["arrays"].n_checked += len(flags)
            lines["arrays"].add(split.file, self._columns.of_rows(arrays, first, wide, pool, scenes))
            advance(len(flags))
        self._check_duplicates(split, arrays, digests)
        if split.kind is SINGLE and not split.is_grouped:
            self._check_balance(split, families, answers, image_idxs)

    def _check_agreement(
        self, split: SplitFile, first: int, questions: Ints, flags: npt.NDArray[np.uint8]
    ) -> None:
        self._lines["text"].n_checked += len(flags)
        self._n_several += int(np.count_nonzero(flags & TextReader.SEVERAL))
        self._n_ambiguous += int(np.count_nonzero(flags & TextReader.AMBIGUOUS))
        for flag, problem in PROBLEMS.items():
            for k in np.flatnonzero(flags & flag).tolist():
                text = self._folder.vocab.text(questions[k].tolist())
                self._lines["text"].fault(split.file, first + k, problem, text)

    def _check_duplicates(self, split: SplitFile, arrays: SplitArrays, digests: Digests) -> None:
        check = self._lines["duplicates"]
        check.n_checked += len(arrays)
        images = arrays.columns["image_idxs"].astype(np.uint64)
        for k in _seen_before(digests ^ (images * _MIX)):
            text = self._folder.vocab.text(arrays.tokens("questions", k, 1)[0].tolist())
            check.fault(split.file, k, f"the same text again on image {images[k]}", text)
        if split.is_grouped or split.kind is not SINGLE:
            return
        families = arrays.columns["question_families"].astype(np.uint64)
        for k in _seen_before((families << np.uint64(40)) ^ images):
            check.fault(split.file, k, f"a second question of its family on image {images[k]}", families[k])
        begins = np.flatnonzero(np.diff(images, prepend=~images[:1]) != 0)
        for place in _seen_before(images[begins]):
            k = int(begins[place])
            check.fault(split.file, k, "an image's questions are not consecutive", images[k])

    def _check_balance(self, split: SplitFile, families: Ints, answers: Ints, image_idxs: Ints) -> None:
        check = self._lines["balance"]
        check.n_checked += len(answers)
        _, broken = find_windows(
            families,
            answers,
            image_idxs,
            self._answers_by_family,
            window=int(self._folder.manifest.questions["window"]),
            unseen=UNSEEN,
        )
        if broken is not None:
            family, answer = int(families[broken]), int(answers[broken])
            problem = f"family {family} has this answer too often, however its split is divided into windows"
            check.fault(split.file, broken, problem, self._folder.vocab.answer(answer))


def _seen_before(keys: Digests) -> Iterator[int]:
    """Indices of the keys that also occur earlier, ascending."""
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    yield from np.sort(order[again + 1]).tolist()
