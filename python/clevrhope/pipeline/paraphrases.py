"""Makes a suite of paraphrases from elsewhere: `clevrhope suite NAME DIR --texts FILE`.

People, another model or a translation there and back may have written them. A file has JSON lines or, if its
name ends in `.csv`, a table with a header: `id`, the question's as `clevrhope ask` gives it, `text`, and
optionally `source`, who or what wrote the text, which names the test that the pair belongs to. Each text is
the partner of its question, about the same image and with the same program and answer.
"""

import csv
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import number_texts
from clevrhope.dataset.clevr_json import read_row_lines
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.manifest import write_manifest
from clevrhope.dataset.mentions import mentions
from clevrhope.dataset.question_kinds import PAIRS, RELATIONS, SET_PAIRS, kind_of
from clevrhope.dataset.question_table import QuestionTable, padded, read_table
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_files import without_suites
from clevrhope.dataset.suite_pools import VISUAL
from clevrhope.dataset.vocab import SPECIAL_TOKENS, bare_text, read_vocab
from clevrhope.describe.suites import CELLS
from clevrhope.errors import ConfigError, DatasetError, shown
from clevrhope.metrics.request_files import REQUEST
from clevrhope.pipeline.engine import Encoder
from clevrhope.pipeline.suite_maker import SuiteSplit, TestCounts
from clevrhope.pipeline.suite_writer import SuiteWriter
from clevrhope.pipeline.suites import locked_dataset, with_datasheet
from clevrhope.questions.suites import OF_SETS, suite_names
from clevrhope.runtime.atomic import record, sweep
from clevrhope.runtime.forms import ANY, NAME, TEXT, Fields, Nullable, check_form
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.paths import NO_NAME, is_name
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.reading import numbered_lines, open_text, reading
from clevrhope.sources.source import MOST_CHARACTERS
from clevrhope.splits.covr.kinds import COVR_SPLITS, COVR_TRAIN
from clevrhope.splits.kinds import SPLITS

TEST, TIER = "paraphrase", "beyond"
"""The test of texts without a source, and the tier of all: their words may be new."""

MOST_WORDS = 1 << 16
"""The numbers of words stay below this."""

_OF_REQUESTS = {*REQUEST.needed, *REQUEST.optional} - {"id"}
"""Keys of a request of `clevrhope ask`, to which a text may have been added; they are not read."""

_FORM = Fields(
    {"id": TEXT, "text": TEXT},
    {"source": Nullable(NAME), **dict.fromkeys(sorted(_OF_REQUESTS), ANY)},
    is_closed=True,
)
_ID = re.compile(r"([^/@]+)/([^/@]+)/(\d{1,9})(?:@(\w+))?")
_REMEDY = 'expected {"id": ..., "text": ...}'
_BUILD_AGAIN = "restore it, or run the dataset's build again"


@dataclass(frozen=True)
class Paraphrase:
    """A question in other words."""

    row: int
    """The question's row in its split."""
    text: str
    test: str


Texts = Mapping[tuple[str, str], Sequence[Paraphrase]]
"""The paraphrases of each sub-dataset and split, in the order of the files."""


@dataclass(frozen=True)
class ParaphraseSplit(SuiteSplit):
    """The pairs on one split."""

    n_same: int
    """Number of texts that have the letters and digits of their question's own, and are left out."""
    n_again: int
    """Number of texts that a test has twice for a question, of which one is left out."""


def make_paraphrases(
    root: Path, name: str, files: Sequence[Path], *, progress: Progress | None = None
) -> tuple[ParaphraseSplit, ...]:
    """Writes a suite whose partners are the texts of files, in place of an earlier suite of such texts.

    Args:
        root: the dataset's folder.
        name: the suite's name.
        files: the files of paraphrases.
        progress: shows how far the work is.

    Raises:
        ConfigError: the name is taken or no name, a line of a file is malformed or about no question of the
            dataset, or a text is empty.
        DatasetError: the folder is not a finished dataset, or a file in it is incomplete.
    """
    with locked_dataset(root) as folder:
        layout, manifest = folder.layout, folder.manifest
        _check_name(name, folder)
        texts = read_paraphrases(files, folder)
        maker, made = _Maker(folder, name, texts, files[0]), list[_Made]()
        stage = (progress or Silent()).stage(f"Making pairs of {name}", total=len(texts), unit="splits")
        with stage as advance:
            for hop, split in texts:
                made.append(maker.make(hop, split))
                advance(1)
        sweep(layout.folders())
        before = {hop: suites[name] for hop, suites in manifest.suites.items() if name in suites}
        for hop in before:
            manifest = without_suites(layout, manifest, hop, suite=name)
        for each, rows, table in made:
            entry = {"pairs": each.n_pairs, "originals": each.n_originals}
            about: dict[str, Any] = {"files": [path.name for path in files], "n_originals": each.n_originals}
            about |= rows.attributes
            manifest = maker.writer.write(manifest, each.hop, each.split, [(rows, table)], entry, **about)
        for hop in dict.fromkeys((*before, *(hop for hop, _ in texts))):
            manifest = with_datasheet(layout, manifest, hop)
        write_manifest(layout.manifest, manifest)
    return tuple(
        replace(each, n_before=before.get(each.hop, {}).get(each.split, {}).get("pairs", 0))
        for each, *_ in made
    )


def _check_name(name: str, folder: Folder) -> None:
    """Checks that a suite of paraphrases may have a name.

    Raises:
        ConfigError: it may not.
    """
    if not is_name(name):
        raise ConfigError(f"{shown(name)} {NO_NAME}")
    if name in (*suite_names(), VISUAL, OF_SETS):
        raise ConfigError(f"{name} is the name of a suite of the package; give the paraphrases another name")
    for hop, suites in folder.manifest.suites.items():
        for split in suites.get(name, {}):
            path = folder.layout.suite_h5(hop, name, split)
            if split not in (*SPLITS, *COVR_SPLITS) or (
                path.is_file() and "texts" not in read_table(path, PAIRS)
            ):
                raise ConfigError(
                    f"{path}: not of paraphrases, but of a suite of templates called {name}; give the "
                    "paraphrases another name"
                )


def read_paraphrases(files: Sequence[Path], folder: Folder) -> Texts:
    """Reads files of paraphrases of a dataset's questions.

    Raises:
        ConfigError: a line is malformed or about no question of the dataset, or a text is empty.
    """
    found: dict[tuple[str, str], list[Paraphrase]] = {}
    known = cache(lambda hop, split: _n_questions(folder, hop, split))
    for path in files:
        for number, row in _rows(path):
            place = f"{path}:{number}"
            check_form(row, _FORM, place, error=ConfigError)
            match = _ID.fullmatch(row["id"])
            if match is None:
                raise ConfigError(
                    f"{place}: id is {shown(row['id'])}; expected HOP/SPLIT/NUMBER, as clevrhope ask "
                    "gives them for a split"
                )
            hop, split, digits, digest = match.groups()
            if digest not in (None, folder.manifest.digest):
                raise ConfigError(
                    f"{place}: {shown(row['id'])} is about another dataset; give the folder "
                    "that the ids are from"
                )
            if int(digits) >= (n := known(hop, split)):
                what = f"{hop}/{split} has questions 0 to {n - 1:,}" if n else _splits_in_words(folder, hop)
                raise ConfigError(f"{place}: there is no question {shown(row['id'])}; {what}")
            text = _text(row["text"], place)
            of_split = found.setdefault((hop, split), [])
            of_split.append(Paraphrase(int(digits), text, row.get("source") or TEST))
    if not found:
        raise ConfigError(f"{files[0]}: no paraphrases; {_REMEDY} on each line, or a .csv file with a header")
    return found


def _n_questions(folder: Folder, hop: str, split: str) -> int:
    """The number of questions in a split that may be paraphrased; 0 if there is no such split."""
    entry = getattr(folder.manifest, kind_of(split).listed).get(hop, {}).get(split)
    return int(entry["questions"]) if entry and split != COVR_TRAIN else 0


def _splits_in_words(folder: Folder, hop: str) -> str:
    """What a message says of ids that name no HOP or split."""
    places = [(of, split) for of, split, _ in folder.manifest.all_splits()]
    if splits := [split for of, split in places if of == hop and _n_questions(folder, of, split)]:
        return f"{hop} has questions to paraphrase in {', '.join(splits)}"
    return f"the dataset has the HOPs {', '.join(dict(places))}"


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file, each with its line number; raises a ConfigError for a file of another form."""
    is_table = path.suffix.lower() == ".csv"
    with (
        reading(path, "a CSV table" if is_table else "JSON lines", error=ConfigError),
        open_text(path, error=ConfigError) as file,
    ):
        if not is_table:
            for number, line in numbered_lines(path, file):
                if not line.isspace():
                    yield number, parse_json(line, path, line=number, error=ConfigError, remedy=_REMEDY)
            return
        table = csv.DictReader(file, strict=True)
        header = list(table.fieldnames or ())
        problems = [f"no {name}" for name in _FORM.needed if name not in header]
        problems += [f"{shown(name)} twice" for name in dict.fromkeys(header) if header.count(name) > 1]
        if problems:
            raise ConfigError(f"{path}:1: the header has {problems[0]}; expected id,text or id,text,source")
        for row in table:
            if None in row:
                raise ConfigError(
                    f"{path}:{table.line_num}: more cells than the header has; put a text with commas in "
                    "quotation marks"
                )
            yield table.line_num, {**row, "source": row.get("source") or None}


def _text(given: str, place: str) -> str:
    """A text with single spaces between words and composed letters.

    Raises:
        ConfigError: it has no words, is too long, or has a character or token that no text can have.
    """
    text = unicodedata.normalize("NFC", " ".join(given.split()))
    wrong = next((letter for letter in text if unicodedata.category(letter) in ("Cc", "Cs")), None)
    token = next((token for token in SPECIAL_TOKENS if token in text), None)
    if not bare_text(text):
        raise ConfigError(
            f"{place}: text is {shown(given)}, without a word; expected the question in other words"
        )
    if len(text) > MOST_CHARACTERS:
        raise ConfigError(
            f"{place}: a text of {len(text):,} characters; expected at most {MOST_CHARACTERS:,}"
        )
    if wrong or token:
        raise ConfigError(f"{place}: text has {shown(wrong or token)}, which no question can have")
    return text


@dataclass(frozen=True)
class _Rows:
    """Both questions of K pairs as rows of a question file."""

    lines: Sequence[bytes]
    """(K,) the rows of the questions in their split's file."""
    texts: Sequence[str]
    attributes: Mapping[str, Any]
    """The attributes of the file in HDF5 that its split's file has, too."""

    def __len__(self) -> int:
        return 2 * len(self.texts)

    def json_rows(self, *, split: str, start_index: int = 0) -> list[bytes]:
        """As `QuestionBatch.json_rows`."""
        rows: list[dict[str, Any]] = []
        for line, text in zip(self.lines, self.texts, strict=True):
            own = json.loads(line)
            rows += (own, {**own, "question": text})
        numbered = ({**row, "question_index": start_index + k} for k, row in enumerate(rows))
        return [json.dumps(row, ensure_ascii=False).encode() for row in numbered]


_Made = tuple[ParaphraseSplit, _Rows, QuestionTable]


class _Maker:
    """Makes pairs of texts; errors as for `make_paraphrases`."""

    def __init__(self, folder: Folder, name: str, texts: Texts, file: Path) -> None:
        self._folder, self._texts = folder, texts
        kinds = {kind_of(split).name: kind_of(split) for _, split in texts}
        self._kind = kinds.popitem()[1]
        if kinds:
            raise ConfigError(
                f"{file}: questions about one image and about sets of images cannot be in one suite; make two"
            )
        every = [each for of_split in texts.values() for each in of_split]
        self._tests = sorted({each.test for each in every})
        self._vocab = read_vocab(folder.layout.vocab_of(next(iter(texts))[1]))
        _, words = number_texts([each.text for each in every], self._vocab.questions())
        encoder = Encoder(folder.vocabulary, self._vocab, (), words=words)
        if len(encoder.words) > MOST_WORDS:
            raise ConfigError(f"{file}: {len(words):,} new words; give fewer texts")
        self.writer = SuiteWriter(folder, name, encoder, [(test, TIER, "") for test in self._tests])

    def make(self, hop: str, split: str) -> _Made:
        """The pairs of a split, by test and row, without those whose text is not new."""
        folder, layout = self._folder, self._folder.layout
        h5, questions = layout.questions_h5(hop, split), layout.questions_json(hop, split)
        for path in (h5, questions):
            if record(path) != folder.manifest.files.get(layout.relative(path)):
                raise DatasetError(f"{path}: not the file that the manifest lists; {_BUILD_AGAIN}")
        own = read_table(h5, self._kind, vocab=self._vocab).load()
        given = sorted(self._texts[hop, split], key=lambda each: (each.test, each.row))
        asked = {each.row for each in given}
        lines = {row: line for row, line in enumerate(read_row_lines(questions)) if row in asked}
        of_rows = {row: bare_text(json.loads(line)["question"]) for row, line in lines.items()}
        new = [each for each in given if bare_text(each.text) != of_rows[each.row]]
        first: dict[tuple[str, int, str], Paraphrase] = {}
        for each in new:
            first.setdefault((each.test, each.row, bare_text(each.text)), each)
        kept = [*first.values()]
        left_out = (len(given) - len(new), len(new) - len(kept))
        (tokens, _), _ = number_texts([each.text for each in kept], self.writer.encoder.words)
        table = self._table(own, kept, tokens)
        about = {"pool": own.pool, **{name: own.attributes[name] for name in self._kind.lists}}
        texts = _Rows([lines[each.row] for each in kept], [each.text for each in kept], about)
        made = ParaphraseSplit(hop, split, len(own), self._counts(table), 0, "questions", *left_out)
        return made, texts, table

    def _table(self, own: QuestionTable, given: Sequence[Paraphrase], tokens: Ints) -> QuestionTable:
        """Both questions of each of K pairs; `tokens` (K, Q) are those of the texts."""
        n, rows = len(given), np.asarray([each.row for each in given], dtype=np.int64)
        columns = own.take(np.repeat(rows, 2)).arrays()
        questions = padded([own.questions[rows], tokens])[np.arange(2 * n).reshape(2, n).T.ravel()]
        written = np.asarray([text for each in given for text in (b"", each.text.encode())], dtype="S")
        texts = written.view(np.uint8).reshape(2 * n, written.itemsize)
        cells, of_sets = np.zeros(n, dtype=np.int8), self._kind.of_sets
        if n and (held_out := self._folder.hop(own.hop).held_out):
            programs, vocabulary = np.ascontiguousarray(own.programs[rows]), self._folder.vocabulary
            cells += 3 * mentions(programs, self._vocab, vocabulary, held_out, of_sets=of_sets)
        columns |= {
            "questions": questions,
            "question_lengths": np.count_nonzero(questions, axis=1).astype(np.int32),
            "texts": texts,
            "clevr_programs": np.zeros_like(columns["programs"]),
            **self.writer.pair_columns(
                0,
                np.asarray([self._tests.index(each.test) for each in given], dtype=np.int16),
                cells=cells,
                touches=np.zeros(n, dtype=np.int8),
                relations=np.full(n, RELATIONS.index("same"), dtype=np.int8),
                values=np.full(n, -1, dtype=np.int32),
                originals=np.stack([rows, np.full(n, -1)], axis=1),
            ),
        }
        return self.writer.table_of(SET_PAIRS if of_sets else PAIRS, columns)

    def _counts(self, table: QuestionTable) -> tuple[TestCounts, ...]:
        """Number of pairs of each test that has some."""
        counts = []
        for k in np.unique(table.test).tolist():
            of_test = np.bincount(table.cell[::2][table.test[::2] == k], minlength=len(CELLS)).tolist()
            cells = {cell: n for cell, n in zip(CELLS, of_test, strict=True) if n}
            counts.append(TestCounts(self._tests[k], TIER, sum(of_test), cells, {}))
        return tuple(counts)
