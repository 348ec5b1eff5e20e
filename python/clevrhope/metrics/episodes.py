"""Episodes with nonce words as questions: what each asks, in the test and its controls, and what is right."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.nonce_text import in_real_words, statements_of, types_sentence
from clevrhope.dataset.question_kinds import ABSENT, NONCE
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import PredictionsError, shown, with_article
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.splits.hops import NONE
from clevrhope.splits.nonce.draws import Draws
from clevrhope.splits.nonce.kinds import (
    CONTROLS,
    FOUND,
    NONCE_SPLITS,
    OBJECTS,
    TOLD,
    condition_and_control,
    control_problem,
    control_split,
)

N_PROBES = 4
"""The probes of an episode in a condition: for either word that is asked about, one yes and one no."""


class EpisodeQuestion(NamedTuple):
    """What is asked about an episode."""

    text: str
    context: Sequence[tuple[int | None, str]]
    """What comes before it: for each sentence, its support image by index, or None."""
    image: tuple[str, int] | None
    """Pool and index of the image that the question is about; None without images."""
    program: Sequence[str]
    """The functions that give the answer, in prefix order; of a probe, "exist" alone."""
    answer: str


class Episodes(AnswerKey):
    """The right answers of a folder's episodes in either condition and in all controls, and their texts.

    Question k of a split is row k of its condition. Of the control `words`, questions 4 k to 4 k + 3 are the
    probes of row k.
    """

    def __init__(self, folder: Path | str) -> None:
        """Reads both conditions; raises as `AnswerKey`, and for files that are missing or incomplete."""
        super().__init__(folder, NONCE)
        self.conditions = {
            split: super(Episodes, self).test_set(NONE, split).load() for split in NONCE_SPLITS
        }
        """Split -> the episodes in a condition; rows of both are the same queries."""
        self.table = self.conditions[NONCE_SPLITS[0]]
        self.types = str(self.table.attributes["types"])
        """Whether the types of words are "told" or to be "found"."""
        self.controls = tuple(name for name in CONTROLS if name != TOLD or self.types == FOUND)
        self.splits = {
            NONE: tuple(control_split(split, control) for control in self.controls for split in NONCE_SPLITS)
        }
        self._spoken = Detokenizer(self._vocab)

    @cached_property
    def groups(self) -> Ints:
        """(N,) the number of each episode's group of matched scenes, whose rows are consecutive."""
        rows = np.arange(1, len(self.table))
        return np.asarray(np.cumsum([0, *(self.table.partners[:-1] != rows)]), dtype=np.int32)

    def test_set(self, hop: str, split: str) -> QuestionTable:
        """The questions of a condition, or of one of its controls, with their right answers."""
        condition, control = condition_and_control(split)
        table = self.conditions[condition]
        if control != "words":
            return table
        if (hop, split) not in self._tables:
            of_word = [self.answers["yes"], self.answers["no"]]
            answers = np.tile(np.asarray(of_word, dtype=np.int32), N_PROBES // 2 * len(table))
            about: dict[str, Any] = {"hop": hop, "split": split, "pool": OBJECTS}
            self._tables[hop, split] = QuestionTable(NONCE, {"answers": answers}, vocab=self._vocab, **about)
        return self._tables[hop, split]

    def question(self, split: str, index: int) -> EpisodeQuestion:
        """A question of a condition or of one of its controls."""
        condition, control = condition_and_control(split)
        table = self.conditions[condition]
        row = index // N_PROBES if control == "words" else index
        statements, question = table.statements[row], table.questions[row]
        is_real = control == "real"
        if not is_real:
            statements = table.in_nonce_words(row, statements)
        said = statements_of(statements, self._vocab)
        images = [None] * len(said) if control == "text" else table.support_idxs[row].tolist()
        context: list[tuple[int | None, str]] = []
        if control != "bare":
            context = [*zip(images, said, strict=False)]
        if control == TOLD or (self.types == TOLD and not is_real):
            context = [(None, types_sentence(self._words(row))), *context]
        if control == "words":
            image, value, answer = self.probe(condition, row, index % N_PROBES)
            word = next(word for word, meaning in self.meanings(row).items() if meaning == value)
            noun = with_article(word if value in self.attributes["shape"] else f"{word} thing")
            text = f"Is this {noun}?"
            return EpisodeQuestion(text, context, (OBJECTS, image), ("exist",), answer)
        return EpisodeQuestion(
            self._spoken.question(question).capitalize() if is_real else table.sentence(row, question),
            context,
            None if control == "text" else (table.pool, int(table.image_idxs[row])),
            self._spoken.program(table.programs[row]),
            table.answer_names[table.answers[row]],
        )

    def meanings(self, row: int) -> Mapping[str, str]:
        """Nonce word -> real value of an episode, without plurals."""
        return {word: value for of in self._words(row).values() for word, value in of.items()}

    def _words(self, row: int) -> Mapping[str, Mapping[str, str]]:
        """For each attribute with nonce words, these and the real values that they stand for."""
        names, words = self._vocab.questions(), iter(self.table.words[row].tolist())
        of = {
            kind: {names[word]: value for value in values if (word := next(words))}
            for kind, values in self.attributes.items()
        }
        return {kind: known for kind, known in of.items() if known}

    def in_real_words(self, request: Mapping[str, Any], text: str) -> str:
        """A question or reply of a request with real values in place of its episode's nonce words."""
        _, control = condition_and_control(request["split"])
        row = request["question_index"] // (N_PROBES if control == "words" else 1)
        return in_real_words(text, self.meanings(row))

    def check(self, request: Mapping[str, Any], file: Path) -> None:
        """Raises `PredictionsError` if a request does not ask what the folder's episode asks."""
        split, index = request["split"], request["question_index"]
        if problem := control_problem(split, request.get("control", condition_and_control(split)[1])):
            raise PredictionsError(f"{file}: {shown(str(request['id']))}: {problem}")
        here: list[str] = []
        if split in self.splits[NONE] and index < len(self.test_set(NONE, split)):
            made = self.question(split, index)
            here = [*(text for _, text in made.context), made.text]
        said = [*(each["text"] for each in request.get("context", ())), request["question"]]
        pairs = [*zip_longest(said, here, fillvalue="nothing"), (request.get("asked_of"), self.asked_of)]
        if differing := [(one, other) for one, other in pairs if one not in (None, other)]:
            raise PredictionsError(
                f"{file}: {shown(str(request['id']))} says {shown(differing[0][0])} where {self.folder} has "
                f"{shown(differing[0][1])}, so its words may have other meanings; give --dataset the folder "
                "that these requests are about"
            )

    def answer(self, request: Mapping[str, Any]) -> str:
        """The right answer to a request."""
        table = self.test_set(NONE, request["split"])
        return str(table.answer_names[table.answers[request["question_index"]]])

    def n_mentioning(self, split: str) -> Ints:
        """(N,) the number of support images whose statements have a word that is asked about."""
        table, numbers = self.conditions[split], self._vocab.question_token_to_idx
        tokens = np.asarray([numbers[value] for value in table.value_names])[table.pairs]  # (N, 2)
        has = (table.statements[..., np.newaxis] == tokens[:, np.newaxis, np.newaxis]).any(axis=(2, 3))
        return np.asarray(has.sum(axis=1), dtype=np.int32)

    def probe(self, condition: str, row: int, number: int) -> tuple[int, str, str]:
        """A probe of a word: the support image that it asks about, the word's value, and the right answer.

        The object is of a kind that the support shows in both conditions. On 3 x 2 there is none with the
        value of A that is asked about; it is then of a kind of this condition. The episode's own images are
        taken only where the folder has no other of the kind.
        """
        named = {*self.meanings(row).values()}
        tables = self.conditions.values()
        supports = [[image for image in of.support_idxs[row].tolist() if image != ABSENT] for of in tables]
        kinds = [{self.values_of[image] & named for image in support} for support in supports]
        value = self.table.value_names[self.table.pairs[row, number // 2]]
        answer = ("yes", "no")[number % 2]
        here = kinds[NONCE_SPLITS.index(condition)]
        wanted = [
            [kind for kind in among if (value in kind) == (answer == "yes")]
            for among in (kinds[0] & kinds[1], here)
        ]
        draws = Draws(0, "nonce probes", N_PROBES * row + number)
        kind = draws.choice(sorted(wanted[0] or wanted[1], key=sorted))
        of_kind = [image for image, values in self.values_of.items() if kind <= values]
        return (
            draws.choice([each for each in of_kind if each not in chain(*supports)] or of_kind),
            value,
            answer,
        )

    @cached_property
    def values_of(self) -> Mapping[int, frozenset[str]]:
        """The support images that the folder has, by index, and the values that statements say of each."""
        names, values = self._vocab.questions(), {*self.table.value_names}
        tables = self.conditions.values()
        pairs = [
            table.support_idxs[..., np.newaxis].astype(np.int64) * len(names) + table.statements
            for table in tables
        ]
        said: dict[int, set[str]] = {}
        for image, word in (divmod(each, len(names)) for each in np.unique(pairs).tolist()):
            said.setdefault(image, set()).update({names[word]} & values)
        return {image: frozenset(of) for image, of in said.items() if image != ABSENT}
