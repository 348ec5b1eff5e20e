"""Is the half-width of a gap between conditions right? `python -m benchmarks.nonce_intervals`.

A simulated model misperceives a quarter of the images, which episodes share, and guesses where it has lost a
word. The formula's half-width of its gap is compared with the spread over redrawn replies, and with
bootstraps. docs/nonce.md has the numbers.
"""

from collections.abc import Iterator
from typing import NamedTuple

import click
import numpy as np
import numpy.typing as npt

from clevrhope.dataset.question_kinds import Numbers
from clevrhope.metrics.measures import NONCE
from clevrhope.metrics.nonce import paired_flags
from clevrhope.metrics.shares import score_flags
from clevrhope.pipeline.nonce import PLACES
from clevrhope.scenes.vocabulary import default_vocabulary
from clevrhope.splits.nonce.episodes import N_A, EpisodeStream

LOST = 0.25
"""The share of images that are misperceived."""

TYPES = default_vocabulary().attribute_types
N_VALUES = [len(values) for _, values in TYPES]

Bools = npt.NDArray[np.bool_]


class Simulation(NamedTuple):
    """Episodes, by what a model needs to answer them.

    Attributes:
        needs: (2, N, I) whether an episode needs each of I images, those of its two words, in `unseen` and
            `seen`.
        chances: (N,) how often a guess is right.
        groups: (N,) the group of each episode.
    """

    needs: npt.NDArray[np.float32]
    chances: npt.NDArray[np.float64]
    groups: Numbers

    def replies(self, rng: np.random.Generator) -> Bools:
        """(2, N) whether the model is right, if other images are misperceived and other answers guessed."""
        is_lost = self.needs @ (rng.random(self.needs.shape[2]) < LOST) > 0
        right: Bools = ~is_lost | (rng.random(is_lost.shape) < self.chances)
        return right


def simulation(n: int, rng: np.random.Generator) -> Simulation:
    """The first n episodes of a stream; images are at places that are drawn for each group."""
    n_kinds = int(np.prod(N_VALUES))
    needs = np.zeros((2, n, PLACES * n_kinds), np.float32)
    episodes = EpisodeStream(TYPES, seed=2).episodes(0, n)
    for row, episode in enumerate(episodes):
        group = episode.group
        if episode.member == 0:
            places = rng.permutation(PLACES)[: len(group.slots)]
        kinds = np.ravel_multi_index(tuple(np.moveaxis(group.support.astype(int), -1, 0)), N_VALUES)
        for condition, said in enumerate(group.mentions):
            is_needed = [0 in words or N_A in words for words in said]
            needs[condition, row, (places * n_kinds + kinds[condition])[is_needed]] = 1
    chances = np.asarray([1 / each.group.form.n_scenes for each in episodes])
    return Simulation(needs, chances, np.cumsum([each.member == 0 for each in episodes]) - 1)


def half_widths(n: int, n_draws: int, *, seed: int) -> Iterator[tuple[str, float]]:
    """What each way gives as the half-width of the gap on n episodes, in points, of the same replies."""
    rng = np.random.default_rng(seed)
    made = simulation(n, rng)
    unseen, seen = made.replies(rng)[:, np.newaxis]
    gap, half_width = gap_and_half_width(unseen, seen, made.groups, n_draws)
    yield "formula", half_width
    yield "bootstrap over groups", gap
    redrawn = [np.subtract(*made.replies(rng).astype(int)).mean() for _ in range(n_draws)]
    yield "redrawn replies", 196 * float(np.std(redrawn))

    def drawn(size: int) -> Numbers:
        """(size,) how often each of so many is drawn."""
        return np.bincount(rng.integers(size, size=size), minlength=size)

    differing = np.abs(made.needs[0] - made.needs[1])
    shares = differing / differing.sum(axis=1, keepdims=True)
    n_groups, difference = int(made.groups.max()) + 1, (unseen.astype(int) - seen)[0]
    weights = [drawn(n_groups)[made.groups] * (shares @ drawn(shares.shape[1])) for _ in range(n_draws)]
    spread = np.std([(of * difference).sum() / of.sum() for of in weights])
    yield "bootstrap over groups and images", 196 * float(spread)


def gap_and_half_width(unseen: Bools, seen: Bools, groups: Numbers, n_draws: int) -> tuple[float, float]:
    """Half the bootstrap interval of the gap of (1, N) replies, and its half-width by formula, in points."""
    measures = {name: NONCE[name] for name in ("gap", "half_width")}
    flags = paired_flags(np.ones_like(unseen), unseen, seen, groups)
    whole = {"": np.zeros(len(groups), dtype=np.int32)}
    units = groups.astype(np.int32)
    found = score_flags(flags, measures, whole, units, bootstrap=n_draws, seed=(1,))[""][0].scores()
    interval, half_width = found["gap"].interval, found["half_width"].value
    assert half_width is not None
    return (interval.high - interval.low) / 2 if interval else 0.0, half_width


@click.command(help=__doc__)
@click.option("--episodes", default=600)
@click.option("--draws", default=300)
@click.option("--seed", default=0)
def main(episodes: int, draws: int, seed: int) -> None:
    """Prints what each way gives."""
    for name, points in half_widths(episodes, draws, seed=seed):
        click.echo(f"{name}: {points:.1f} points")


if __name__ == "__main__":
    main()
