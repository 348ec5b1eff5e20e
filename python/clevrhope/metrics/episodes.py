"""Episodes with nonce words as questions: what each asks, in the test and its controls, and what is right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.manifest import digest_of
from clevrhope.dataset.nonce_text import in_real_words, meanings_of, statements_of, types_sentence
from clevrhope.dataset.question_kinds import NONCE, Numbers
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import PredictionsError, shown
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
    control_split,
)

N_PROBES = 4
"""The probes of an episode in a condition: for either word that is asked about, one yes and one no."""


@dataclass(frozen=True)
class EpisodeQuestion:
    """What is asked about an episode.

    Attributes:
        text: the question.
        context: what comes before it: for each sentence, its support image by index, or None.
        image: pool and index of the image that the question is about; None without images.
        program: the functions that give the answer, in prefix order; those of a probe are ("exist",).
        answer: the right answer.
    """

    text: str
    context: tuple[tuple[int | None, str], ...]
    image: tuple[str, int] | None
    program: Sequence[str]
    answer: str


class Episodes(AnswerKey):
    """The right answers of a folder's episodes in either condition and in all controls, and their texts.

    Question k of a split is row k of its condition. Of the control `words`, questions 4 k to 4 k + 3 are the
    probes of row k.
    """

    def __init__(self, folder: Path | str) -> None:
        """Reads both conditions.

        Raises:
            DatasetError: the folder is not a dataset, has no episodes, or a file is missing or incomplete.
        """
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

    @property
    def asked_of(self) -> str:
        """Digits that stand for the dataset and for how types of words are known."""
        return digest_of([self._manifest.digest, self.types])

    @cached_property
    def groups(self) -> Ints:
        """(N,) the number of each episode's group of matched scenes, whose rows are consecutive."""
        rows = np.arange(1, len(self.table))
        return np.cumsum([0, *(self.table.partners[:-1] != rows)]).astype(np.int32)

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
        context = [] if control == "bare" else [*zip(images, said, strict=False)]
        if control == TOLD or (self.types == TOLD and not is_real):
            context = [(None, self._types(row)), *context]
        if control == "words":
            image, word, answer = self.probe(condition, row, index % N_PROBES)
            noun = "" if self._is_noun(table.pairs[row, index % N_PROBES // 2]) else " thing"
            text = f"Is this a {word}{noun}?"
            return EpisodeQuestion(text, tuple(context), (OBJECTS, image), ("exist",), answer)
        return EpisodeQuestion(
            self._spoken.question(question).capitalize() if is_real else table.sentence(row, question),
            tuple(context),
            None if control == "text" else (table.pool, int(table.image_idxs[row])),
            self._spoken.program(table.programs[row]),
            table.answer_names[table.answers[row]],
        )

    def meanings(self, row: int) -> Mapping[str, str]:
        """Nonce word -> real value, plurals included, of an episode."""
        return meanings_of(self.table.words[row], self.table.value_names, self._vocab)

    def in_real_words(self, request: Mapping[str, Any], text: str) -> str:
        """A question or reply of a request with real values in place of its episode's nonce words."""
        _, control = condition_and_control(request["split"])
        row = request["question_index"] // (N_PROBES if control == "words" else 1)
        return in_real_words(text, self.meanings(row))

    def check(self, request: Mapping[str, Any], file: Path) -> None:
        """Checks that a request asks what the folder's episode asks.

        Raises:
            PredictionsError: it does not, so its words may have other meanings.
        """
        split, index = request["split"], request["question_index"]
        name = shown(str(request["id"]))
        if split not in self.splits[NONE] or index >= len(self.test_set(NONE, split)):
            raise PredictionsError(
                f"{file}: {name} is about {split} {index}, which {self.folder} does not have; give --dataset "
                "the folder that these requests were made of"
            )
        made = self.question(split, index)
        asked = [*(each["text"] for each in request.get("context", ())), request["question"]]
        here = [*(text for _, text in made.context), made.text]
        if asked != here or request.get("asked_of", self.asked_of) != self.asked_of:
            differing = (pair for pair in zip(asked, here, strict=False) if pair[0] != pair[1])
            one, other = next(differing, (f"{len(asked)} sentences", f"{len(here)}"))
            raise PredictionsError(
                f"{file}: {name} says {shown(one)}, and the episode of {self.folder} {shown(other)}, so its "
                "words may have other meanings; give --dataset the folder that these requests were made of"
            )

    def answer(self, request: Mapping[str, Any]) -> str:
        """The right answer to a request."""
        table = self.test_set(NONE, request["split"])
        return table.answer_names[table.answers[request["question_index"]]]

    def n_mentioning(self, split: str) -> Ints:
        """(N,) the number of support images whose statements have a word that is asked about."""
        table, numbers = self.conditions[split], self._vocab.question_token_to_idx
        tokens = np.asarray([numbers[value] for value in table.value_names])[table.pairs]  # (N, 2)
        has = (table.statements[..., np.newaxis] == tokens[:, np.newaxis, np.newaxis]).any(axis=(2, 3))
        return has.sum(axis=1).astype(np.int32)

    def _types(self, row: int) -> str:
        """The sentence that tells the types of an episode's words."""
        names, words = self._vocab.questions(), iter(self.table.words[row].tolist())
        of = {kind: [names[word] for _ in values if (word := next(words))] for kind, values in self._kinds}
        return types_sentence({kind: known for kind, known in of.items() if known})

    @property
    def _kinds(self) -> list[tuple[str, Sequence[str]]]:
        return [*self.attributes.items()]

    def _is_noun(self, value: int) -> bool:
        return self.table.value_names[value] in self.attributes["shape"]

    def probe(self, condition: str, row: int, number: int) -> tuple[int, str, str]:
        """A probe of a word: the support image that it asks about, the word, and the right answer.

        The object is of a kind that the support shows in both conditions. On 3 x 2 there is none with a value
        of A that is asked about; it is then of a kind of this condition. The episode's own images are taken
        only where the folder has no other of the kind.
        """
        side, is_no = divmod(number, 2)
        word = self._vocab.questions()[self.table.words[row, self.table.pairs[row, side]]]
        pair = [self._place[value] for value in self.table.pairs[row].tolist()]
        columns = [kind for kind, _ in pair]
        supports = [table.support_idxs[row] for table in self.conditions.values()]
        own = self.conditions[condition].support_idxs[row]
        kinds = [{*map(tuple, self._values(each[each >= 0])[:, columns].tolist())} for each in supports]
        here = {*map(tuple, self._values(own[own >= 0])[:, columns].tolist())}
        wanted = [
            sorted(kind for kind in among if (kind[side] == pair[side][1]) != bool(is_no))
            for among in (kinds[0] & kinds[1], here)
        ]
        values = self._shown[:, columns]
        draws = Draws(0, "nonce probes", N_PROBES * row + number)
        of_kind = self._images[(values == draws.choice(wanted[0] or wanted[1])).all(axis=1)]
        others = of_kind[~np.isin(of_kind, np.concatenate(supports))]
        image: int = draws.choice((others if len(others) else of_kind).tolist())
        return image, word, "no" if is_no else "yes"

    @cached_property
    def _place(self) -> list[tuple[int, int]]:
        """For each value, the number of its type and its number in it."""
        return [(kind, value) for kind, (_, of) in enumerate(self._kinds) for value in range(len(of))]

    @cached_property
    def _images(self) -> Ints:
        """The support images of all episodes, which are the ones that the folder has."""
        every = [table.support_idxs.ravel() for table in self.conditions.values()]
        return np.setdiff1d(np.concatenate(every), [-1]).astype(np.int32)

    @cached_property
    def _shown(self) -> npt.NDArray[np.int64]:
        """(M, T) the values of the objects that `_images` show."""
        return self._values(self._images)

    def _values(self, images: Numbers) -> npt.NDArray[np.int64]:
        """(M, T) the values of the objects that support images show, which their indices say."""
        radix = [len(values) for _, values in self._kinds]
        return np.stack(np.unravel_index(images % prod(radix), radix), axis=-1)
