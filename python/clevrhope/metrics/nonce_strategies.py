"""Strategies for episodes with nonce words: what each is right about shows what the test can tell apart."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.dataset.question_kinds import ABSENT
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ProgramError
from clevrhope.metrics.episodes import Episodes
from clevrhope.metrics.text_tables import Line
from clevrhope.programs import Scene, answer_text, execute
from clevrhope.splits.hops import NONE
from clevrhope.splits.nonce.draws import Draws
from clevrhope.splits.nonce.episodes import COMPLEX, FORMS, N_A
from clevrhope.splits.nonce.kinds import NONCE_SPLITS

Object = tuple[int, ...]
"""An object's value of each attribute type, as numbers."""

Answers = Sequence[str]
"""The answers between which a strategy chooses by chance."""

Asked = Callable[[int, int | None], Answers]
"""The answer of a complex question if its words mean these values of A and B; None leaves the second out."""


@dataclass(frozen=True)
class View:
    """What a strategy sees of an episode in one condition: values and words, but not what words mean."""

    asks: str
    options: Answers
    kinds: tuple[int, int]
    """The types A and B."""
    asked: int | None
    """The type that a query asks for."""
    support: tuple[Object, ...]
    said: tuple[tuple[int, int], ...]
    """The words of each statement: 0 and 3 are those of the question."""
    scene: tuple[Object, ...]
    values: tuple[str, ...]
    """Names of the values of the type that is asked for."""
    draws: Draws
    program: Asked | None = None
    """What a complex question asks."""

    def answers(self, objects: Iterable[Object]) -> Answers:
        """The answer if these objects of the scene are asked about."""
        found = [*objects]
        if self.asks in ("exist", COMPLEX):
            return ["yes" if found else "no"]
        if self.asks == "count":
            return [str(min(len(found), 2))]
        return self.most([self.values[each[self.asked]] for each in found if self.asked is not None])

    def most(self, votes: Sequence[str]) -> Answers:
        """The most frequent votes; all options without votes."""
        counts = Counter(vote for vote in votes if vote in self.options)
        return [each for each in self.options if counts[each] == max(counts.values(), default=0)]

    def kind(self, each: Object) -> tuple[int, int]:
        """The values of A and B of an object."""
        return each[self.kinds[0]], each[self.kinds[1]]

    def images_of(self, word: int) -> list[Object]:
        """The support's objects of which a word is said."""
        return [each for each, said in zip(self.support, self.said, strict=True) if word in said]

    def meaning(self, word: int) -> int:
        """The value of a word's type that all of its images share."""
        kind = self.kinds[word >= N_A]
        (value,) = {each[kind] for each in self.images_of(word)}
        return value

    def composed(self, a: int, b: int) -> Answers:
        """The answer for objects with these values of A and B."""
        if self.program is not None:
            return self.program(a, b)
        return self.answers(each for each in self.scene if self.kind(each) == (a, b))


A0, B0 = 0, N_A


def complex_question(
    functions: Sequence[str], pair: Sequence[tuple[str, Sequence[str], str]], scene: Scene, options: Answers
) -> Asked:
    """A complex question on a scene, whose words may mean other values than they do.

    Args:
        functions: its program in prefix order, such as `filter_color[red]`.
        pair: of A and of B the attribute type, its values, and the value that the question's word has.
        scene: what is asked about.
        options: the answers if the program has none.
    """

    @cache
    def answer(a: int, b: int | None) -> Answers:
        meant = {
            f"filter_{kind}[{real}]": None if value is None else f"filter_{kind}[{values[value]}]"
            for (kind, values, real), value in zip(pair, (a, b), strict=True)
        }
        said = [each for name in functions if (each := meant.get(name, name)) is not None]
        try:
            return [answer_text(execute(said, scene))]
        except ProgramError:
            return options

    return answer


def _copying(view: View) -> Answers:
    """Takes the answer from the last image and its statement."""
    if view.asks == "query" and view.asked is not None:
        return view.most([view.values[view.support[-1][view.asked]]])
    n_words = len({A0, B0} & {*view.said[-1]})
    return [str(n_words)] if view.asks == "count" else ["yes" if n_words else "no"]


def _word_order(view: View) -> Answers:
    first = [next(k for k, said in enumerate(view.said) if word in said) for word in (A0, B0)]
    return [view.options[0 if first[0] < first[1] else -1]]


def _last_mention(view: View) -> Answers:
    """Takes the answer from the last statement with one of the question's words."""
    last = [said for said in view.said if A0 in said or B0 in said][-1]
    return [view.options[0 if A0 in last else -1]]


def _one_word(view: View) -> Answers:
    value = view.meaning(A0)
    if view.program is not None:
        return view.program(value, None)
    return view.answers(each for each in view.scene if each[view.kinds[0]] == value)


def _both_unbound(view: View) -> Answers:
    of_a, of_b = (
        [each for each in view.scene if each[kind] == view.meaning(word)]
        for kind, word in zip(view.kinds, (A0, B0), strict=True)
    )
    found = of_a + of_b if view.asks == "query" else min(of_a, of_b, key=len)
    return view.answers(found)


def _novel(view: View) -> Answers:
    shown = {*map(view.kind, view.support)}
    return view.answers(each for each in view.scene if view.kind(each) not in shown)


def _familiar(view: View) -> Answers:
    shown = {*map(view.kind, view.support)}
    objects = [each for each in view.scene if view.kind(each) in shown]
    if view.asks == "query":
        return view.answers(objects)
    return [view.options[len(objects) % len(view.options)]]


def _nearest_support(view: View) -> Answers:
    def names(each: Object) -> bool:
        likeness = [sum(x == y for x, y in zip(each, other, strict=True)) for other in view.support]
        return {A0, B0} == {*view.said[likeness.index(max(likeness))]}

    return view.answers(each for each in view.scene if names(each))


def _whole_phrases(view: View) -> Answers:
    for each, said in zip(view.support, view.said, strict=True):
        if {A0, B0} == {*said}:
            return view.composed(*view.kind(each))
    return view.options


def _noisy_words(view: View) -> Answers:
    are_known = [view.draws.below(10) < 8 for _ in (A0, B0)]
    return view.composed(view.meaning(A0), view.meaning(B0)) if all(are_known) else view.options


def _noisy_images(view: View) -> Answers:
    """Composes, but one misperceived image of either word is enough to lose the words."""
    n_images = sum(A0 in said or B0 in said for said in view.said)
    are_seen = [view.draws.below(10) > 0 for _ in range(n_images)]
    return view.composed(view.meaning(A0), view.meaning(B0)) if all(are_seen) else view.options


def _symbolic_learner(view: View) -> Answers:
    """Finds the only meanings of all words that make every statement true; types need not be told."""
    words = sorted({word for said in view.said for word in said})
    shared = [
        sorted(set.intersection(*({*enumerate(each)} for each in view.images_of(word)))) for word in words
    ]
    fits = [each for each in product(*shared) if len({*each}) == len(each)]
    if len(fits) > 1:
        fits = [
            each
            for each in fits
            if all(view.kinds[word >= N_A] == kind for word, (kind, _) in zip(words, each, strict=True))
        ]
    (meanings,) = fits
    asked = dict(meanings[words.index(word)] for word in (A0, B0))
    return view.composed(*(asked[kind] for kind in view.kinds))


class Strategy(NamedTuple):
    """A way to answer; `answer` gives the answers between which it chooses by chance."""

    title: str
    answer: Callable[[View], Answers]


STRATEGIES: Mapping[str, Strategy] = {
    "constant": Strategy("always the same answer", lambda view: view.options[-1:]),
    "copying": Strategy("copying the last image", _copying),
    "word_order": Strategy("order of the two words", _word_order),
    "last_mention": Strategy("last mention", _last_mention),
    "one_word": Strategy("one word", _one_word),
    "both_unbound": Strategy("both words, unbound", _both_unbound),
    "novel": Strategy("novel objects", _novel),
    "familiar": Strategy("familiar objects", _familiar),
    "nearest_support": Strategy("words of the most similar image", _nearest_support),
    "whole_phrases": Strategy("whole phrases only", _whole_phrases),
    "noisy_words": Strategy("each word known with p = 0.8, composed", _noisy_words),
    "noisy_images": Strategy("composed, each image misperceived with p = 0.1", _noisy_images),
    "symbolic_learner": Strategy("symbolic learner", _symbolic_learner),
}
"""Kind of baseline -> its strategy."""

ALL = "strategies"
"""The kind of baseline that has all strategies."""


Given = tuple[dict[str, Any], str, float]
"""A row of predictions, its episode's form, and the share of right ones among the answers to draw from."""


def play(folder: Path, kind: str) -> Iterator[Given]:
    """What a strategy, or all, answers to episodes; raises a DatasetError if there are none to be read."""
    key = Episodes(folder)
    for split, table in key.conditions.items():
        for k, view in enumerate(views(key, table)):
            right, form = table.answer_names[table.answers[k]], table.forms[table.question_families[k]]
            for name in STRATEGIES if kind == ALL else [kind]:
                own = replace(view, draws=Draws(1, f"{name} {form} {split}", k))
                answers = STRATEGIES[name].answer(own)
                row = {"hop": NONE, "split": split, "question_index": k, "answer": own.draws.choice(answers)}
                yield {**row, "model": name}, form, (right in answers) / len(answers)


def views(key: Episodes, table: QuestionTable) -> Iterator[View]:
    """What is seen of each episode of a condition."""
    types, of_form = [*key.attributes.items()], {form.name: form for form in FORMS}
    vocabulary = vocabulary_with(key.attributes)

    def scenes_in(pool: str, indices: Ints) -> dict[int, dict[str, Any]]:
        return {scene["image_index"]: scene for scene in scenes_of(Layout(key.folder), pool, indices)}

    def objects(scene: Mapping[str, Any]) -> tuple[Object, ...]:
        return tuple(tuple(values.index(each[kind]) for kind, values in types) for each in scene["objects"])

    scenes = scenes_in(table.pool, table.scenes)
    of_support = scenes_in(table.support_pool, np.setdiff1d(table.support_idxs, [ABSENT]).astype(np.int32))
    shown = {index: objects(scene)[0] for index, scene in of_support.items()}
    for row in range(len(table)):
        form, question = of_form[table.forms[table.question_families[row]]], key.question(table.split, row)
        pair = [table.value_names[number] for number in table.pairs[row].tolist()]
        kinds = [next(k for k, (_, values) in enumerate(types) if value in values) for value in pair]
        support = [shown[index] for index in table.support_idxs[row].tolist() if index != ABSENT]
        words = []
        for kind, value in zip(kinds, pair, strict=True):
            asked_first = dict.fromkeys([types[kind][1].index(value), *(each[kind] for each in support)])
            words.append([[*asked_first].index(each[kind]) for each in support])
        scene, draws = scenes[table.images_of(row)[0]], Draws(1, form.name, row)
        options: Answers = form.answers
        values, asked, program = tuple[str, ...](), None, None
        if form.asks == "query":
            asked = [*key.attributes].index(question.program[0].removeprefix("query_"))
            values, partner = tuple(types[asked][1]), int(table.partners[row])
            answers = {table.answer_names[table.answers[each]] for each in (row, partner)}
            options = values if partner < 0 else tuple(sorted(answers, key=values.index))
        elif form.asks == COMPLEX:
            named = [(types[kind][0], types[kind][1], value) for kind, value in zip(kinds, pair, strict=True)]
            known = Scene(scene, vocabulary=vocabulary)
            program = complex_question(question.program, named, known, options)
        said = tuple((a, N_A + b) for a, b in zip(*words, strict=True))
        (a, b), seen = kinds, objects(scene)
        yield View(form.asks, options, (a, b), asked, tuple(support), said, seen, values, draws, program)


def accuracies(given: Iterable[Given]) -> dict[str, dict[str, dict[str, float]]]:
    """Form -> strategy -> its accuracy in `unseen` and in `seen`, and the `gap`, in percent and points.

    A guess counts as its chance of being right.
    """
    shares: dict[str, dict[str, dict[str, list[float]]]] = {}
    for row, form, share in given:
        of_form = shares.setdefault(form, {})
        of_form.setdefault(row["model"], {split: [] for split in NONCE_SPLITS})[row["split"]].append(share)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for form, of_form in shares.items():
        for name, by_split in of_form.items():
            unseen, seen = (100 * sum(each) / len(each) for each in by_split.values())
            found.setdefault(form, {})[name] = {"unseen": unseen, "seen": seen, "gap": unseen - seen}
    return found


def table_of(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Iterator[Line]:
    """What `accuracies` returns as a table."""
    yield ("strategy", "unseen", "seen", "gap")
    for form, of_form in found.items():
        yield form
        for name, each in of_form.items():
            yield (
                STRATEGIES[name].title,
                f"{each['unseen']:.1f}",
                f"{each['seen']:.1f}",
                f"{each['gap']:+.1f}",
            )
