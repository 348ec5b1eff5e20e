"""Strategies for episodes with nonce words: what each is right about shows what the test can tell apart."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from clevrhope._core import ProgramTokens, SceneGraphs, execute_tokens
from clevrhope.pipeline.nonce import NonceEngine
from clevrhope.splits.nonce.draws import Draws
from clevrhope.splits.nonce.episodes import COMPLEX, FORMS, N_A, Episode, Group
from clevrhope.splits.nonce.kinds import SCENES

Object = tuple[int, ...]
Answers = Sequence[str]
"""The answers between which a strategy chooses by chance."""
Program = Callable[[int, int | None], Answers]
"""The answer of a complex question if its words mean these values of A and B; None leaves the second out."""

ERROR = 0.1
"""How often the learner with noise misperceives an image."""

KNOWN = 0.8
"""How often the learner of noisy words knows a word."""


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
    program: Program | None
    """For a complex question, what it is about if words mean this or that."""

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


def constant(view: View) -> Answers:
    return view.options[-1:]


def copying(view: View) -> Answers:
    """Takes the answer from the last image and its statement."""
    if view.asks == "query" and view.asked is not None:
        return view.most([view.values[view.support[-1][view.asked]]])
    n_words = len({A0, B0} & {*view.said[-1]})
    return [str(n_words)] if view.asks == "count" else ["yes" if n_words else "no"]


def word_order(view: View) -> Answers:
    first = [next(k for k, said in enumerate(view.said) if word in said) for word in (A0, B0)]
    return [view.options[0 if first[0] < first[1] else -1]]


def last_mention(view: View) -> Answers:
    """Takes the answer from the last statement with one of the question's words."""
    last = [said for said in view.said if A0 in said or B0 in said][-1]
    return [view.options[0 if A0 in last else -1]]


def one_word(view: View) -> Answers:
    value = view.meaning(A0)
    if view.program is not None:
        return view.program(value, None)
    return view.answers(each for each in view.scene if each[view.kinds[0]] == value)


def both_unbound(view: View) -> Answers:
    of_a, of_b = (
        [each for each in view.scene if each[kind] == view.meaning(word)]
        for kind, word in zip(view.kinds, (A0, B0), strict=True)
    )
    return view.answers(of_a + of_b if view.asks == "query" else min(of_a, of_b, key=len))


def _are_shown(view: View) -> set[tuple[int, int]]:
    return {*map(view.kind, view.support)}


def novel(view: View) -> Answers:
    shown = _are_shown(view)
    return view.answers(each for each in view.scene if view.kind(each) not in shown)


def familiar(view: View) -> Answers:
    shown = _are_shown(view)
    objects = [each for each in view.scene if view.kind(each) in shown]
    if view.asks == "query":
        return view.answers(objects)
    return [view.options[len(objects) % len(view.options)]]


def nearest_support(view: View) -> Answers:
    def names(each: Object) -> bool:
        likeness = [sum(x == y for x, y in zip(each, other, strict=True)) for other in view.support]
        return {A0, B0} == {*view.said[likeness.index(max(likeness))]}

    return view.answers(each for each in view.scene if names(each))


def whole_phrases(view: View) -> Answers:
    for each, said in zip(view.support, view.said, strict=True):
        if {A0, B0} == {*said}:
            return view.composed(*view.kind(each))
    return view.options


def noisy_words(view: View) -> Answers:
    are_known = [view.draws.below(1000) < 1000 * KNOWN for _ in (A0, B0)]
    return view.composed(view.meaning(A0), view.meaning(B0)) if all(are_known) else view.options


def noisy_images(view: View) -> Answers:
    """Composes, but one misperceived image of either word is enough to lose the words."""
    n_images = sum(A0 in said or B0 in said for said in view.said)
    are_seen = [view.draws.below(1000) >= 1000 * ERROR for _ in range(n_images)]
    return view.composed(view.meaning(A0), view.meaning(B0)) if all(are_seen) else view.options


def symbolic(view: View) -> Answers:
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
    asked = {meanings[words.index(A0)], meanings[words.index(B0)]}
    if view.program is not None:
        return view.composed(*(dict(asked)[kind] for kind in view.kinds))
    return view.answers(each for each in view.scene if asked <= {*enumerate(each)})


def resembling(view: View) -> Answers:
    """Counts what looks like an image of either word."""
    shown = {view.kind(each) for word in (A0, B0) for each in view.images_of(word)}
    return view.answers(each for each in view.scene if view.kind(each) in shown)


def not_resembling(view: View) -> Answers:
    """The opposite: yes if nothing looks like an image of the first word."""
    shown = {*map(view.kind, view.images_of(A0))}
    found = any(view.kind(each) in shown for each in view.scene)
    return ["no" if found else "yes"] if view.asks == "exist" else view.options


def rarer(view: View) -> Answers:
    """Takes the rarer value among objects of which either word is true."""
    meanings = dict(zip(view.kinds, map(view.meaning, (A0, B0)), strict=True))
    found = [each for each in view.scene if any(each[kind] == value for kind, value in meanings.items())]
    if view.asks != "query":
        return view.options
    more = view.answers(found)
    return [each for each in view.options if each not in more] or view.options


STRATEGIES: dict[str, Callable[[View], Answers]] = {
    "always the same answer": constant,
    "copying the last image": copying,
    "order of the two words": word_order,
    "last mention": last_mention,
    "one word": one_word,
    "both words, unbound": both_unbound,
    "novel objects": novel,
    "familiar objects": familiar,
    "words of the most similar image": nearest_support,
    "whole phrases only": whole_phrases,
    "each word known with p = 0.8, composed": noisy_words,
    "composed, each image misperceived with p = 0.1": noisy_images,
    "symbolic learner": symbolic,
    "resembles an image of either word": resembling,
    "resembles no image of the first word, so yes": not_resembling,
    "rarer value among objects with either word": rarer,
}


@dataclass(frozen=True)
class ComplexEpisode:
    """An episode with a complex question, on a scene whose objects have their places."""

    group: Group
    scene: np.ndarray
    answer: str
    program: Program


def complex_episodes(made: NonceEngine, n: int) -> Iterator[ComplexEpisode]:
    """The first n episodes with complex questions."""
    form = next(form for form in FORMS if form.asks == COMPLEX)
    made.episodes = [*made.stream.of_form(form, n)]
    world, table = made.world, made.table("nonce_seen")
    rows = (row for batch in made.scene_rows(SCENES, np.arange(n, dtype=np.int32)) for row in batch)
    tokens, types = ProgramTokens(world.vocabulary, made.vocab.programs()), made.stream.types
    for episode, row, program in zip(made.episodes, rows, table.programs, strict=True):
        graphs = SceneGraphs.from_json(world.vocabulary, b'{"scenes": [%s]}' % row, file="scene")
        objects = json.loads(row)["objects"]
        scene = np.asarray([[values.index(each[kind]) for kind, values in types] for each in objects])
        names = [tokens.names[token] for token in program if token]

        @cache
        def answer(a: int, b: int | None, names=names, group=episode.group, graphs=graphs) -> Answers:  # type: ignore[no-untyped-def]
            meant = {}
            for number, value in ((0, a), (N_A, b)):
                kind, real = group.named[number]
                of_type = f"filter_{types[kind][0]}"
                meant[f"{of_type}[{types[kind][1][real]}]"] = (
                    None if value is None else f"{of_type}[{types[kind][1][value]}]"
                )
            said = [each for name in names if (each := meant.get(name, name)) is not None]
            row = np.asarray([[tokens.names.index(each) for each in said]], dtype=np.int32)
            (found,) = execute_tokens(tokens, row, graphs, np.zeros(1, np.uint32))
            return [world.answers[found]] if found >= 0 else group.answers

        yield ComplexEpisode(episode.group, scene, episode.answer, answer)


def views(
    episodes: Iterable[Episode | ComplexEpisode], types: Sequence[tuple[str, Sequence[str]]]
) -> Iterator[tuple[Episode | ComplexEpisode, list[View]]]:
    """Each episode, and what is seen of it in either condition."""
    for number, episode in enumerate(episodes):
        group = episode.group
        values = types[group.asked][1] if group.asked is not None else ()
        yield (
            episode,
            [
                View(
                    group.form.asks,
                    group.answers,
                    (group.a, group.b),
                    group.asked,
                    tuple(map(tuple, group.support[condition].tolist())),
                    group.mentions[condition],
                    tuple(map(tuple, episode.scene.tolist())),
                    tuple(values),
                    Draws(1, f"strategies {group.form.name} {condition}", number),
                    episode.program if isinstance(episode, ComplexEpisode) else None,
                )
                for condition in (0, 1)
            ],
        )


def accuracies(
    episodes: Iterable[Episode | ComplexEpisode],
    types: Sequence[tuple[str, Sequence[str]]],
    names: Iterable[str] = STRATEGIES,
) -> dict[str, tuple[float, float]]:
    """The accuracy of each strategy in `unseen` and in `seen`, in percent."""
    names, n = [*names], 0
    sums = {name: [0.0, 0.0] for name in names}
    for episode, seen in views(episodes, types):
        n += 1
        for condition, view in enumerate(seen):
            for name in names:
                given = STRATEGIES[name](view)
                sums[name][condition] += (episode.answer in given) / len(given)
    return {name: (100 * unseen / n, 100 * seen / n) for name, (unseen, seen) in sums.items()}
