"""What the package's strategies score on episodes that are in no file."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from clevrhope._core import ProgramTokens
from clevrhope.metrics import nonce_strategies
from clevrhope.metrics.nonce_strategies import A0, B0, Answers, Asked, View, complex_question
from clevrhope.pipeline.nonce import NonceEngine
from clevrhope.programs import Scene
from clevrhope.splits.nonce.draws import Draws
from clevrhope.splits.nonce.episodes import COMPLEX, FORMS, Episode, Group, Objects
from clevrhope.splits.nonce.kinds import SCENES

__all__ = ["STRATEGIES", "View", "accuracies", "views"]


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
    **{each.title: each.answer for each in nonce_strategies.STRATEGIES.values()},
    "resembles an image of either word": resembling,
    "resembles no image of the first word, so yes": not_resembling,
    "rarer value among objects with either word": rarer,
}
"""Those of the package, and those that no scenes can balance."""


@dataclass(frozen=True)
class ComplexEpisode:
    """An episode with a complex question, on a scene whose objects have their places."""

    group: Group
    scene: Objects
    answer: str
    complex: Asked


def complex_episodes(made: NonceEngine, n: int) -> Iterator[ComplexEpisode]:
    """The first n episodes with complex questions."""
    form = next(form for form in FORMS if form.asks == COMPLEX)
    made.episodes = [*made.stream.of_form(form, n)]
    world, table = made.world, made.table("nonce_seen")
    rows = (row for batch in made.scene_rows(SCENES, np.arange(n, dtype=np.int32)) for row in batch)
    tokens, types = ProgramTokens(world.vocabulary, made.vocab.programs()), made.stream.types
    for episode, row, program in zip(made.episodes, rows, table.programs, strict=True):
        objects = json.loads(row)["objects"]
        scene = np.asarray([[values.index(each[kind]) for kind, values in types] for each in objects])
        names = [tokens.names[token] for token in program if token]
        pair = [
            (types[kind][0], types[kind][1], types[kind][1][value])
            for kind, value in (episode.group.named[number] for number in (A0, B0))
        ]
        answer = complex_question(
            names, pair, Scene(json.loads(row), vocabulary=world.vocabulary), episode.group.answers
        )
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
                    episode.complex if isinstance(episode, ComplexEpisode) else None,
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
