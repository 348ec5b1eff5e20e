"""Does the test with nonce words tell learners apart? `python -m benchmarks.nonce_learners out/nonce`.

Trains small transformers on episodes, as benchmarks/nonce_learners.toml describes, and measures them on
validation episodes. They read the true values of objects; a word enters as a match: whether a support's
statement has the asked word for A, or that for B. Finished runs are skipped; a stopped one begins anew.
"""

import csv
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope.metrics.slopes import mean_slope
from clevrhope.scenes.vocabulary import default_vocabulary
from clevrhope.splits.nonce.episodes import FORMS, N_A, EpisodeStream, Group
from clevrhope.splits.nonce.queries import matched_scenes
from clevrhope.splits.nonce.supports import support_slots

SETTINGS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TYPES = default_vocabulary().attribute_types
N_VALUES = [len(values) for _, values in TYPES]
FORM = FORMS[0]
"""exist_3x3: is there an a_0 b_0?"""
A, B = ([kind for kind, _ in TYPES].index(name) for name in FORM.grids[0])
KINDS = np.asarray([tuple(slot) for slot in support_slots(FORM.n_b, told=True)]).transpose(1, 0, 2)
"""(2, K, 2) the kind (i, j) of each support object in `unseen` and in `seen`."""
N_SUPPORTS, N_QUERIED = KINDS.shape[1], max(FORM.n_objects)

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Batch(NamedTuple):
    """Questions, with the objects of a support and then up to 6 of a query image, K in all.

    Attributes:
        values: (N, K, T) the value of each attribute type of each object.
        exist: (N, K) whether there is such an object.
        matches: (N, K, 2) whether a support's statement has the asked word for A, and that for B.
        asked: (N, 2) whether a word for A is asked about, and one for B.
        answers: (N,) 1 for yes, 0 for no.
    """

    values: Ints
    exist: Bools
    matches: Bools
    asked: Bools
    answers: Ints


@lru_cache(1)
def _scenes() -> tuple[Ints, npt.NDArray[np.float64]]:
    """(M, 2, 6, 2) kinds of matched scenes, no and yes, -1 where no object is; (M,) how often they occur."""
    by_number = [matched_scenes(FORM.asks, N_A, FORM.n_b, n) for n in FORM.n_objects]
    groups = [(group, 1 / len(each) / len(by_number)) for each in by_number for group in each]
    kinds = np.full((len(groups), 2, N_QUERIED, 2), -1)
    for scenes, (group, _) in zip(kinds, groups, strict=True):
        for scene, relabeling in zip(scenes, group.relabelings, strict=True):
            scene[: len(group.cells)] = [(relabeling.a[i], relabeling.b[j]) for i, j in group.cells]
    return kinds, np.asarray([share for _, share in groups])


def drawn_batch(seed: Sequence[int], n: int, *, share_unseen: float, share_words: float) -> Batch:
    """Questions about fresh episodes, drawn at once.

    Args:
        seed: of the draws; batches of one seed differ in nothing but supports whatever `share_unseen` is.
        n: their number.
        share_unseen: the part of the episodes whose support does not show the pair.
        share_words: the part of the questions that ask about one word; they come first.
    """
    rng = np.random.default_rng(seed)
    values = rng.integers(0, N_VALUES, (n, N_SUPPORTS + N_QUERIED, len(TYPES)))
    supports = KINDS[(rng.random(n) >= share_unseen).astype(int)]
    scenes, shares = _scenes()
    answers, asked = rng.integers(0, 2, n), np.ones((n, 2), dtype=np.bool_)
    queried = scenes[rng.choice(len(scenes), n, p=shares), answers]
    n_words = round(n * share_words)
    sides = rng.integers(0, 2, n_words)
    asked[np.arange(n_words), 1 - sides] = False
    queried[:n_words] = _drawn_words(rng, sides, answers[:n_words])
    kinds = np.concatenate([supports, queried], axis=1)  # (N, K, 2)
    for side, kind in enumerate((A, B)):
        named = rng.random((n, N_VALUES[kind])).argsort(axis=1)  # the value of each a_i, or b_j
        values[..., kind] = np.take_along_axis(named, kinds[..., side].clip(0), axis=1)
    matches = (kinds == 0) & asked[:, None]
    matches[:, N_SUPPORTS:] = False
    return Batch(values, kinds[..., 0] >= 0, matches, asked, answers)


def _drawn_words(rng: np.random.Generator, sides: Ints, answers: Ints) -> Ints:
    """(n, 6, 2) kinds of one to six objects; where the answer is yes, the word is true of one or more."""
    n = len(sides)
    kinds = rng.integers(0, N_A, (n, N_QUERIED, 2))
    has_word = rng.random((n, N_QUERIED)) < 1 / N_A
    has_word[:, 0] = True
    has_word &= answers[:, None] == 1
    kinds[np.arange(n), :, sides] = np.where(has_word, 0, rng.integers(1, N_A, (n, N_QUERIED)))
    kinds[np.arange(N_QUERIED) >= rng.integers(1, N_QUERIED + 1, n)[:, None]] = -1
    return kinds


def episode_batch(groups: Sequence[Group], condition: int) -> Batch:
    """The package's episodes of some groups in a condition: the two scenes of each, one after the other."""
    episodes = [(group, member) for group in groups for member in range(FORM.n_scenes)]
    shape = len(episodes), N_SUPPORTS + N_QUERIED
    values = np.zeros((*shape, len(TYPES)), dtype=np.int64)
    exist, matches = np.zeros(shape, dtype=np.bool_), np.zeros((*shape, 2), dtype=np.bool_)
    for row, (group, member) in enumerate(episodes):
        objects = np.concatenate([group.support[condition], group.scenes[member]])
        values[row, : len(objects)], exist[row, : len(objects)] = objects, True
        matches[row, :N_SUPPORTS] = np.asarray(group.mentions[condition]) == (0, N_A)
    answers = np.asarray([int(group.answers[member] == "yes") for group, member in episodes])
    return Batch(values, exist, matches, np.ones((len(episodes), 2), dtype=np.bool_), answers)


class Learner(nn.Module):
    """A transformer over objects, without places, so the order of a support does not matter to it."""

    def __init__(self, *, hidden: int, layers: int, heads: int) -> None:
        super().__init__()
        self.values = nn.Embedding(sum(N_VALUES), hidden)
        self.first = torch.tensor(N_VALUES).cumsum(0) - torch.tensor(N_VALUES)
        self.roles = nn.Parameter(torch.randn(2, hidden))
        self.matches = nn.Linear(2, hidden, bias=False)
        self.asked = nn.Linear(2, hidden)
        layer = nn.TransformerEncoderLayer(
            hidden, heads, 4 * hidden, 0.0, F.gelu, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, nn.LayerNorm(hidden), enable_nested_tensor=False)
        for name, weight in self.layers.named_parameters():
            if name.endswith("in_proj_weight"):
                # Keys begin as queries do, so that at first objects attend to those that are like them.
                weight.data[hidden : 2 * hidden] = weight.data[:hidden]
        self.out = nn.Linear(hidden, 1)

    def forward(self, batch: Batch) -> Tensor:
        """(N,) the logit of yes: at least one object of the query image is what is asked about."""
        values, exist, matches, asked = (torch.from_numpy(each) for each in batch[:4])
        roles = self.roles.repeat_interleave(torch.tensor([N_SUPPORTS, N_QUERIED]), dim=0)
        objects = self.values(values + self.first).sum(2) + roles + self.matches(matches.float())  # (N, K, D)
        tokens = torch.cat([self.asked(asked.float())[:, None], objects], dim=1)
        states = self.layers(tokens, src_key_padding_mask=F.pad(~exist, (1, 0)))
        logits = self.out(states[:, 1 + N_SUPPORTS :])[..., 0]  # (N, 6)
        return logits.masked_fill(~exist[:, N_SUPPORTS:], -torch.inf).logsumexp(1)  # type: ignore[no-any-return]


def train(name: str, seed: int) -> Learner:
    """A learner trained as the settings say."""
    torch.manual_seed(seed)
    learner, n = Learner(**SETTINGS["model"]), SETTINGS["updates"]
    optimiser = torch.optim.AdamW(learner.parameters(), weight_decay=SETTINGS["decay"])
    for update in range(n):
        left = (n - update) / (n * SETTINGS["cooldown"])
        for group in optimiser.param_groups:
            group["lr"] = SETTINGS["rate"] * min(1.0, (update + 1) / SETTINGS["warmup"], left)
        batch = drawn_batch(
            [seed, update],
            SETTINGS["batch"],
            share_unseen=SETTINGS["learners"][name],
            share_words=SETTINGS["share_words"],
        )
        loss = F.binary_cross_entropy_with_logits(learner(batch), torch.from_numpy(batch.answers).float())
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
        optimiser.step()
        if (update + 1) % 100 == 0:
            click.echo(f"{name}-{seed}: {update + 1} updates, loss {loss.item():.3f}")
    return learner


@dataclass(frozen=True)
class Result:
    """A learner on the validation episodes; accuracies are in per cent, chance is 50.

    Attributes:
        learner: its name in the settings.
        seed: of its weights and training episodes.
        episodes: how many it was measured on, in either condition.
        unseen, seen: accuracy in either condition.
        gap, low, high: unseen minus seen in points, with its paired 95% interval over groups of episodes.
        words: accuracy on as many questions about single words.
    """

    learner: str
    seed: int
    episodes: int
    unseen: float
    seen: float
    gap: float
    low: float
    high: float
    words: float

    @property
    def has_learned(self) -> bool:
        """Whether it answers enough questions about pairs that the support shows."""
        return self.seen >= float(SETTINGS["least_seen"])


def measured(learner: Learner, name: str, seed: int) -> Result:
    """The result of a learner."""
    stream = EpisodeStream(TYPES, seed=SETTINGS["validation_seed"], told=True)
    n = SETTINGS["episodes"] // FORM.n_scenes
    groups = [stream.group(FORM, number) for number in range(n)]
    unseen, seen = (are_right(learner, episode_batch(groups, condition)) for condition in (0, 1))
    words = drawn_batch([SETTINGS["validation_seed"]], len(seen), share_unseen=0.5, share_words=1)
    differences = (unseen - seen).reshape(n, -1).mean(axis=1)
    gap, reach = differences.mean(), 1.96 * differences.std() / n**0.5
    shares = [unseen.mean(), seen.mean(), gap, gap - reach, gap + reach, are_right(learner, words).mean()]
    return Result(name, seed, len(seen), *(round(100 * float(each), 2) for each in shares))


def are_right(learner: Learner, batch: Batch) -> npt.NDArray[np.float64]:
    """(N,) 1 where a learner's answer is right, else 0."""
    with torch.no_grad():
        yes = learner(batch) > 0
    return np.asarray(yes.numpy() == batch.answers, dtype=np.float64)


def read_results(path: Path) -> list[Result]:
    """The results in a CSV file, in its order."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Result(*(each.type(row[each.name]) for each in fields(Result)))  # type: ignore[operator]
            for row in csv.DictReader(file)
        ]


def write_results(path: Path, results: Sequence[Result]) -> None:
    """Writes a CSV file."""
    lines = [[each.name for each in fields(Result)], *map(astuple, results)]
    path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines), encoding="utf-8")


def table(results: Sequence[Result]) -> Iterator[str]:
    """The lines of a Markdown table of all runs."""
    yield "| learner | seed | seen, % | unseen, % | gap, points | words, % |"
    yield "|---|---:|---:|---:|---:|---:|"
    for run in results:
        gap = f"{run.gap:+.1f} [{run.low:+.1f}, {run.high:+.1f}]" if run.has_learned else "not learned"
        cells = [run.learner, str(run.seed), f"{run.seen:.1f}", f"{run.unseen:.1f}", gap, f"{run.words:.1f}"]
        yield f"| {' | '.join(cells)} |".replace("-", "\N{MINUS SIGN}")


def claim(results: Sequence[Result]) -> Iterator[str]:
    """The lines of the claim's test, as the settings describe it."""
    if failed := [f"{run.learner} {run.seed}" for run in results if not run.has_learned]:
        yield f"Not learned: {', '.join(failed)}. The claim cannot be tested."
        return
    always, half = ([run for run in results if run.learner == name] for name in SETTINGS["learners"])
    pairs = [*zip(always, half, strict=True)]
    seen = mean_slope([one.seen - other.seen for one, other in pairs])
    gap = mean_slope([one.gap - other.gap for one, other in pairs])
    for name, mean in (("seen", seen), ("gap", gap)):
        interval = f"{mean.interval.low:+.1f}, {mean.interval.high:+.1f}"
        yield f"{name}: {mean.value:+.1f} points [{interval}]".replace("-", "\N{MINUS SIGN}")
    holds = (
        abs(seen.value) <= SETTINGS["alike"]
        and gap.interval.high < 0
        and max(run.high for run in always) < min(run.low for run in half)
    )
    yield f"The claim {'holds' if holds else 'does not hold'}."


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--run", "only", help="Train only this run, such as always-1.")
def main(folder: Path, only: str | None) -> None:
    """Trains and measures all learners, writes FOLDER/results.csv, and prints what they say."""
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for name, seed in product(SETTINGS["learners"], SETTINGS["seeds"]):
        path = folder / f"{name}-{seed}.csv"
        if only in (None, path.stem):
            if not path.exists():
                write_results(path, [measured(train(name, seed), name, seed)])
            results += read_results(path)
    if not only:
        write_results(folder / "results.csv", results)
        click.echo("\n".join([*table(results), "", *claim(results)]))


if __name__ == "__main__":
    main()
