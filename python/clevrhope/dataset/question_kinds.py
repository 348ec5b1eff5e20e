"""The kinds of questions, one row each: their files, the columns of these, and what is said of a question.

A question file is the HDF5 file that `preprocess_questions` of the public CLEVR models writes, plus a few
arrays. There are N questions; Q and P are the lengths of the longest question and program that the templates
can produce, so they never change in a folder. All kinds have the columns of `QUESTIONS`; each kind's own are
in its row of `KINDS`. Attributes of every file: `hop`, `split` and `pool`; `prefixes` names smaller train
sets, which are its first rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.hdf5 import Array, Schema
from clevrhope.dataset.layout import Layout
from clevrhope.splits.covr.kinds import COVR_SPLITS
from clevrhope.splits.kinds import SPLITS
from clevrhope.splits.nonce.kinds import NONCE_SPLITS

Numbers = npt.NDArray[np.integer[Any]]

MAX_IMAGES = 5
"""The most images of a question."""

ABSENT = -1
"""Fills a row of scene indices after the last image."""

STRUCTURES = ("single", "edge", "chain", "v")
"""Forms of a subgraph: one object, two, three in a row, and one with relations to two others."""

PAIR_PLACES = ("nowhere", "question", "distractor")
"""Where a held-out pair can occur: nowhere, in the question, or only in distractor images."""

TIERS = ("in", "beyond")
"""Names of tiers by their numbers."""

ROLES = ("original", "partner")
"""Names of roles by their numbers."""

RELATIONS = ("same", "flip", "is", "positive")
"""Names of relations between answers by their numbers."""

PLURALS = {"image": "images", "image_index": "image_indices", "mask": "masks", "scene": "scenes"}
"""What is said of the image of a question -> its name for a question about a set, where it is a list."""

RAW = "raw_"
"""How exports name a column of a question file that they have as it is, by which they can be read back."""

IMAGE, LABEL = "image", "label"
"""Kinds of fields in addition to Arrow's types: PNG files, and numbers that have names."""

MARKS = ("<START>", "<END>")
"""Tokens that every row has; a row's length includes them."""


@dataclass(frozen=True)
class RowFaults:
    """The rows of a column that are wrong, and what should be in a row."""

    is_wrong: npt.NDArray[np.bool_]
    expected: Callable[[int], str]


RowCheck = Callable[[Numbers, Callable[[str], Numbers], Mapping[str, Any]], RowFaults]
"""Takes rows of a column, a function that gives the same rows of another one, and the file's attributes."""


@dataclass(frozen=True)
class Column:
    """A column of a question file: integers from `least` to below `limit`.

    Attributes:
        holds: the meaning of its numbers.
        dtype: as it is written.
        row: the shape of a row; None for a length that the file decides.
        least: the least number.
        limit: the limit that numbers stay below.
        names: the attribute with a list of names; numbers stay below its length.
        vocab: the part of the vocabulary, "questions", "programs" or "answers", that names the numbers.
        check: checks rows in place of the range.
        needed: whether every file has it.
    """

    holds: str
    dtype: str = "int32"
    row: tuple[int | None, ...] = ()
    least: int = 0
    limit: int = 1 << 31
    names: str = ""
    vocab: str = ""
    check: RowCheck | None = None
    needed: bool = True


@dataclass(frozen=True)
class Field:
    """What items of `load` and rows of an exported table say about a question besides text and image.

    Attributes:
        name: its name there.
        column: the column of the question file that it is made from; "" for a field that exports add.
        holds: its content, in Markdown.
        kind: "string" or "int32"; for a field that exports add, also `IMAGE` or `LABEL`.
        value: makes it from the `QuestionTable` and the number in the column; None takes the number itself.
        given: the column that is -1 where the field is null.
        item: its name in items of `load`, if that differs.
        several: whether it is a list.
    """

    name: str
    column: str
    holds: str
    kind: str = "string"
    value: Callable[[Any, int], int | str | None] | None = None
    item: str = ""
    given: str = ""
    several: bool = False


@dataclass(frozen=True)
class QuestionKind:
    """A kind of questions.

    Attributes:
        name: its key in `KINDS`.
        what: its files, as messages name them.
        columns: the columns of its files by name, in the order in which they are written.
        fields: what is said of a question.
        pair_fields: what is said of the pair that it is part of.
        row_fields: what rows of its JSON file say besides the keys of CLEVR.
        breakdowns: by what scores are broken down; where the value is None, a question is in no group.
        names: attributes with names, besides those of every file.
        lists: attributes with lists, and for each the one that it is as long as; "" for none.
        optional: those of `lists` that a file may lack, and what each entry is then.
        table: the name of its tables in an export, made from the file's attributes.
        prefix: how the names of its splits begin; "" if the name does not tell the kind.
        splits: the names of its splits, in order; none if these are splits of another kind.
        h5: the file of a HOP's split.
        vocab: the vocabulary of its tokens.
        listed: the field of the manifest that lists its splits.
        worded: the columns that exports say in another way, besides those that every kind has.
    """

    name: str
    what: str
    columns: Mapping[str, Column]
    fields: tuple[Field, ...]
    pair_fields: tuple[Field, ...] = ()
    row_fields: tuple[Field, ...] = ()
    breakdowns: tuple[Field, ...] = ()
    names: tuple[str, ...] = ()
    lists: Mapping[str, str] = field(default_factory=dict)
    optional: Mapping[str, str] = field(default_factory=dict)
    table: str = "{hop}"
    prefix: str = ""
    splits: tuple[str, ...] = ()
    h5: Callable[[Layout, str, str], Path] = Layout.questions_h5
    vocab: Callable[[Layout, str], Path] = Layout.vocab_of
    listed: str = "splits"
    worded: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _kind_named, (self.name,)  # its functions have no names by which pickle could find them

    @property
    def schema(self) -> Schema:
        """What the HDF5 file must contain."""
        arrays = {
            name: Array("iu", column.row, needed=column.needed, in_blocks=bool(column.row))
            for name, column in self.columns.items()
        }
        return Schema(self.what, arrays, names=("hop", "split", "pool", *self.names))

    @property
    def of_sets(self) -> bool:
        """Whether a question is about a set of images."""
        return bool(self.columns["image_idxs"].row)

    @property
    def exported(self) -> dict[str, str]:
        """Column -> its name in exports, for the columns that no text, answer or image there tells."""
        plain = {
            field.column: field.name
            for field in (*self.fields, *self.pair_fields)
            if field.value is None and not field.given
        }
        return {
            name: plain.get(name, f"{RAW}{name}")
            for name, column in self.columns.items()
            if name not in (*_OF_TEXTS, *self.worded) and column is not _ORIG_IDXS
        }

    def of_images(self, name: str) -> str:
        """The name of what is said of a question's images: "image", or "images" if there is a set of them."""
        return PLURALS[name] if self.of_sets else name


def kind_of(split: str) -> QuestionKind:
    """The kind of a split's own questions."""
    return next((kind for kind in KINDS.values() if kind.prefix and split.startswith(kind.prefix)), SINGLE)


def _kind_named(name: str) -> QuestionKind:
    return KINDS[name]


def _different_scenes(rows: Numbers, other: Callable[[str], Numbers], of: Mapping[str, Any]) -> RowFaults:
    """Rows (N, 5) hold one to five different scenes, followed by `ABSENT`."""
    is_there, in_order = rows >= 0, np.sort(rows, axis=1)
    is_wrong = (
        ~((rows == ABSENT) | is_there).all(axis=1)
        | ~is_there[:, 0]
        | (is_there[:, 1:] > is_there[:, :-1]).any(axis=1)
        | ((in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0)).any(axis=1)
    )
    return RowFaults(is_wrong, lambda row: f"one to {MAX_IMAGES} different scenes, then {ABSENT}")


def _place_of_an_image(rows: Numbers, other: Callable[[str], Numbers], of: Mapping[str, Any]) -> RowFaults:
    n_images = (other("image_idxs") >= 0).sum(axis=1)
    is_wrong = (rows < 0) | (rows >= n_images)
    return RowFaults(is_wrong, lambda row: f"the place of an image, 0 to {n_images[row] - 1}")


def _bits_of_terms(rows: Numbers, other: Callable[[str], Numbers], of: Mapping[str, Any]) -> RowFaults:
    n_terms = len(of["term_names"])
    is_wrong = (rows >> min(n_terms, 63) != 0) & (n_terms < 64)  # also true for negative numbers
    return RowFaults(is_wrong, lambda row: f"bits of the {n_terms} term_names alone")


_LENGTH = Column("", least=len(MARKS), limit=1 << 16)

QUESTIONS: Mapping[str, Column] = {
    "questions": Column("(Q,) <START>, words, <END>, then 0", row=(None,), limit=1 << 16, vocab="questions"),
    "question_lengths": replace(_LENGTH, holds="tokens of a question, <START> and <END> included"),
    "programs": Column(
        "(P,) <START>, functions in prefix order, <END>, then 0", row=(None,), limit=1 << 16, vocab="programs"
    ),
    "program_lengths": replace(_LENGTH, holds="tokens of a program, <START> and <END> included"),
    "answers": Column("a number of vocab.json", limit=1 << 16, vocab="answers"),
    "image_idxs": Column("the scene's index in its pool: row of images/<pool>.h5"),
    "question_families": Column("global index of the family", limit=1 << 16),
}
"""The columns that all kinds of question files have, in the order in which they are written."""

_OF_TEXTS = tuple(name for name in QUESTIONS if name != "question_families")
"""The columns that follow from texts, programs, answers and images."""

_OF_ONE_IMAGE: Mapping[str, Column] = {
    **QUESTIONS,
    "relation_needed": Column(
        "(3,) by relation: 1 if the answer needs it, 0 if not, -1 for no relation",
        dtype="int8",
        row=(None,),
        least=-1,
        limit=2,
        needed=False,  # the check for leaks does without it
    ),
}

_ORIG_IDXS = Column("position of the question in the JSON file")

_TEST = Column("the test's number; the attribute `tests` has the names", dtype="int16", names="tests")
_TIER = Column("0 for a test in the dataset's own words and functions, 1 for others", "int8", limit=2)
_RELATION = Column("relation between the answers: a number in `RELATIONS`", "int8", limit=len(RELATIONS))
_VALUE = Column(
    "for `is`: the original's answer for which the partner is yes; else -1",
    least=-1,
    limit=1 << 16,
    vocab="answers",
)
_CLEVR_PROGRAMS = Column(
    "(P,) for a program with functions beyond CLEVR's, an equivalent; or zeros",
    row=(None,),
    limit=1 << 16,
    vocab="programs",
)

SINGLE = QuestionKind(
    name="single",
    what="a question file of clevrhope",
    columns={
        **_OF_ONE_IMAGE,
        "question_families": replace(
            QUESTIONS["question_families"],
            holds="global index of the family; -1 if published files do not say it",
            least=-1,
        ),
        "orig_idxs": _ORIG_IDXS,
    },
    fields=(
        Field(
            "question_family_index",
            "question_families",
            "number of the template, as in CLEVR",
            "int32",
            item="family",
        ),
    ),
    splits=tuple(SPLITS),
)
"""Questions about one image, of a split."""

_OF_SETS = (
    Field(
        "template",
        "question_families",
        "name of the template, such as `verify_count`",
        value=lambda table, number: table.templates[number],
    ),
    Field(
        "structure",
        "structures",
        "form of what is described: `single`, `edge`, `chain` or `v`",
        value=lambda table, number: STRUCTURES[number],
    ),
)
"""What of a question about a set is said and scores are broken down by."""

SETS = QuestionKind(
    name="sets",
    what="a file of questions about sets of images",
    columns={
        **QUESTIONS,
        "image_idxs": Column(
            "(5,) scene indices in the split's pool, -1 after the last image",
            row=(MAX_IMAGES,),
            check=_different_scenes,
        ),
        "question_families": Column("the number of its template", names="templates"),
        "orig_idxs": _ORIG_IDXS,
        "structures": Column(
            "the number of its subgraph's form in `STRUCTURES`", "int8", limit=len(STRUCTURES)
        ),
        "sources": Column(
            "position in the row of the first image that shows what is described",
            "int8",
            check=_place_of_an_image,
        ),
        "cut": Column(
            "1 if the answer changes or is lost without the last leaf, 2 if it stays but each number that it "
            "follows from changes or is lost, 0 if neither; -1 for a question without a leaf",
            "int8",
            least=-1,
            limit=3,
        ),
        "pair_places": Column(
            "where the held-out pair occurs: a number in `PAIR_PLACES`", "int8", limit=len(PAIR_PLACES)
        ),
        "properties": Column(
            "(R,) for each property that splits are made by, whether the question has it",
            "int8",
            row=(None,),
            least=-1,
            limit=2,
        ),
        "terms": Column("one bit for each term, set if the question has it", "int64", check=_bits_of_terms),
    },
    fields=(
        *_OF_SETS,
        Field(
            "source",
            "sources",
            "place in the set of an image that shows what the question describes",
            "int32",
        ),
    ),
    breakdowns=(
        *_OF_SETS,
        Field(
            "place",
            "pair_places",
            "where the held-out pair occurs: in the `question` or in a `distractor`",
            value=lambda table, place: PAIR_PLACES[place] if place else None,
        ),
    ),
    lists={"templates": "", "property_names": "", "term_names": "", "skipped": "templates"},
    table="{hop}.covr",
    prefix="covr_",
    splits=COVR_SPLITS,
    listed="covr",
)
"""Questions about sets of up to five images (COVR, Bogin et al. 2021).

Two questions with the same text and two answers are rows 2k and 2k + 1. `skipped` is the number of pairs of
questions per template that no attempt found on the split's windows of scenes.
"""


def _named(fields: Sequence[Field], names: str) -> tuple[Field, ...]:
    """The fields with these names, in their order."""
    by_name = {each.name: each for each in fields}
    return tuple(by_name[name] for name in names.split())


_PAIR_FIELDS: tuple[Field, ...] = (
    Field("suite", "test", "the suite that the pair belongs to", value=lambda table, test: table.suite),
    Field("test", "test", "the test that the pair belongs to", value=lambda table, test: table.tests[test]),
    Field(
        "type",
        "test",
        "the type of question by which scores are grouped; empty for none",
        value=lambda table, test: table.types[test],
    ),
    Field(
        "tier",
        "tier",
        "`in` for the dataset's own words and functions, `beyond` for others",
        value=lambda table, tier: TIERS[tier],
    ),
    Field(
        "cell",
        "cell",
        "what mentions the held-out pair: `00` nothing, `01` the partner, `10` the original, `11` both",
        value=lambda table, cell: f"{cell:02b}",
    ),
    Field("role", "role", "`original` or `partner`", value=lambda table, role: ROLES[role]),
    Field("pair_index", "pair_idxs", "the pair's number", "int32"),
    Field(
        "original_index",
        "orig_idxs",
        "the question's place in the split; null for a question that the suite made",
        "int32",
        given="orig_idxs",
    ),
    Field(
        "relation",
        "relation",
        "of the answers: `same`, `flip`, `is` (yes exactly for `value`), `positive` (yes above 0)",
        value=lambda table, relation: RELATIONS[relation],
    ),
    Field(
        "value",
        "value",
        "of `is`: the original's answer for which the partner is yes; otherwise null",
        value=lambda table, value: table.answer_names[value],
        given="value",
    ),
)
"""What is said of a pair, in the order of exported tables."""

PAIRS = QuestionKind(
    name="pairs",
    what="a file of paired tests",
    columns={
        **_OF_ONE_IMAGE,
        "pair_idxs": Column("the pair's number"),
        "role": Column("0 for the original, 1 for the partner", "int8", limit=len(ROLES)),
        "test": _TEST,
        "tier": _TIER,
        "cell": Column(
            "2 if the original mentions the held-out pair, plus 1 if the partner does", "int8", limit=4
        ),
        "touches": Column(
            "1 if the image shows the held-out pair, plus 2 if the answer completes it; 0 for paraphrases",
            "int8",
            limit=4,
        ),
        "relation": _RELATION,
        "value": _VALUE,
        "orig_idxs": Column("the question's row in the split's own file; -1 if the suite made it", least=-1),
        "clevr_programs": _CLEVR_PROGRAMS,
        "texts": Column(
            "(T,) of a paraphrase, its text in UTF-8, then 0, since tokens lack its marks; of others, zeros",
            "uint8",
            row=(None,),
            limit=256,
            needed=False,
        ),
    },
    fields=SINGLE.fields,
    pair_fields=_PAIR_FIELDS,
    row_fields=_named(_PAIR_FIELDS, "suite pair_index role test tier cell original_index relation value"),
    names=("suite",),
    lists={"tests": "", "types": "tests", "controls": "tests"},
    optional={"controls": ""},
    table="{hop}.{suite}",
    listed="suites",
)
"""Both questions of each pair of a suite on a split: rows 2 k and 2 k + 1 are pair k, the original first.

Attributes, besides those of a split: `suite`, `tests`, `types` (the question type of each test; "" for
none), `controls` (for each test, the one for which its pairs are controls; "" for none), `n_originals`
(questions of the split when the pairs were made), `fingerprint` (SHA-256 of the suite's own files), `origin`
("search" if originals of the dataset's families were also searched for) and `per_cell` (how many pairs the
search should give each cell of a test).
"""

SET_PAIRS = replace(
    PAIRS,
    name="set_pairs",
    what="a file of paraphrases about sets of images",
    columns={
        **SETS.columns,
        **{
            name: column
            for name, column in PAIRS.columns.items()
            if name not in (*_OF_ONE_IMAGE, "touches", "clevr_programs")
        },
    },
    fields=SETS.fields,
    lists={**SETS.lists, **PAIRS.lists},
)
"""The same for paraphrases of questions about sets of images, with the columns and attributes of both."""

ADDED = QuestionKind(
    name="added",
    what="a train set with questions of a suite",
    columns={
        **_OF_ONE_IMAGE,
        "test": replace(_TEST, least=-1),
        "tier": replace(_TIER, least=-1),
        "relation": replace(_RELATION, least=-1),
        "value": _VALUE,
        "source_idxs": Column(
            "the row in train.h5 of the question, or of an added one's original; -1 if that was searched for",
            least=-1,
        ),
        "clevr_programs": _CLEVR_PROGRAMS,
        "orig_idxs": _ORIG_IDXS,
    },
    fields=SINGLE.fields,
    row_fields=(
        _PAIR_FIELDS[0],
        Field(
            "test",
            "test",
            "the test of an added question; null for the train set's own",
            value=lambda table, test: table.tests[test],
            given="test",
        ),
        Field(
            "original_index",
            "source_idxs",
            "the place in the train set of an added one's original; null if that was searched for, and for "
            "the train set's own",
            "int32",
            value=lambda table, source: None if source < 0 else source,
            given="test",
        ),
    ),
    names=("suite", "fingerprint"),
    lists={"tests": "", "types": "tests"},
    listed="suites",
)
"""A train set with added questions of a suite: one after every `EVERY` of its own, in the suite's vocabulary.

`test`, `tier`, `relation` and `value` are -1 for the train set's own questions. Attributes besides those of a
split: `suite`, `tests`, `types`, and `fingerprint`, SHA-256 of the suite's own files.
"""

_OF_EPISODES = (
    Field(
        "form",
        "question_families",
        "form of the question, such as `exist_3x3`",
        value=lambda table, number: table.forms[number],
    ),
    Field(
        "grid",
        "grids",
        "the attributes with nonce words, such as `color_shape`",
        value=lambda table, number: table.grid_names[number],
    ),
)
"""What of an episode is said and scores are broken down by."""

NONCE = QuestionKind(
    name="nonce",
    what="a file of episodes with nonce words",
    columns={
        **QUESTIONS,
        "question_families": Column("the number of its form", names="forms"),
        "orig_idxs": replace(_ORIG_IDXS, holds="number of the row"),
        "support_idxs": Column(
            "(K,) indices of the support's scenes in their pool, -1 after the last", row=(None,), least=ABSENT
        ),
        "statements": Column(
            "(K, S) for each of them <START>, words, <END>, then 0",
            row=(None, None),
            limit=1 << 16,
            vocab="questions",
        ),
        "words": Column(
            "(V,) the nonce word of each value, types in the world's order; 0 for none",
            row=(None,),
            limit=1 << 16,
            vocab="questions",
        ),
        "pairs": Column(
            "(2,) the values of A and B that the question is about, in the order of words", row=(2,)
        ),
        "grids": Column("the number of the types A and B", "int8", names="grid_names"),
        "partners": Column(
            "the next row of the same group, with a matched scene; -1 if there is none", least=-1
        ),
    },
    fields=(
        *_OF_EPISODES,
        Field("partner", "partners", "row with a matched scene; -1 for none", "int32"),
    ),
    breakdowns=_OF_EPISODES,
    names=("support_pool", "types"),
    lists={"forms": "", "grid_names": "", "value_names": ""},
    table="nonce",
    prefix="nonce_",
    splits=NONCE_SPLITS,
    listed="nonce",
    worded=("question_families", "orig_idxs", "support_idxs", "statements", "words", "pairs", "grids"),
)
"""Episodes with nonce words in one condition; row k is the same query in the other one.

Tokens of texts, programs and answers name real values; `words` says which nonce word stands for which value.
Attributes: `support_pool`, the pool of the support's scenes; `types`, "told" or "found"; `forms`,
`grid_names`, and `value_names`, the values in the order of `words`.
"""

OF_EPISODES: tuple[Field, ...] = (
    Field("condition", "", "`unseen` or `seen`: whether an image of the support shows what is asked about"),
    Field("group", "", "number of the group, whose rows share support, words and question", "int32"),
    Field("support_images", "", "the images that teach the words, 8-bit RGB", IMAGE, several=True),
    Field("support_indices", "", "the scenes of these images in their pool", "int32", several=True),
    Field("statements", "", "a true sentence about each of them, in nonce words", several=True),
    Field("real_question", "", "the question in real words, not for a model"),
    Field("real_words", "", "what nonce words mean, such as `zovek: red`; not for a model", several=True),
)
"""What exports say of an episode besides the fields of its kind."""

KINDS: dict[str, QuestionKind] = {kind.name: kind for kind in (SINGLE, SETS, PAIRS, SET_PAIRS, ADDED, NONCE)}
"""The kinds by name. A new kind is a new row."""
