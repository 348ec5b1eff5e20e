"""Scores of episodes with nonce words: both conditions on the same episodes, their gap, and all controls."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from clevrhope.dataset.question_kinds import Numbers
from clevrhope.dataset.vocab import NO_ANSWER
from clevrhope.metrics.collector import NOT_AN_ANSWER, NOT_GIVEN, AnswerNumbers, collect, runs_of
from clevrhope.metrics.episodes import N_PROBES, Episodes
from clevrhope.metrics.measures import NONCE
from clevrhope.metrics.results import Condition, Model, Part, Results, SplitScores
from clevrhope.metrics.rows import Target
from clevrhope.metrics.scoring import (
    DEFAULT_BOOTSTRAP,
    answers_of_runs,
    check_draws,
    conditions_of,
    files_of,
    notes_of,
)
from clevrhope.metrics.shares import Flags, score_flags
from clevrhope.runtime.progress import Progress
from clevrhope.splits.hops import NONE
from clevrhope.splits.nonce.kinds import CONTROLS, NONCE_SPLITS, TEST, control_split
from clevrhope.splits.nonce.supports import CONDITIONS

SPLIT = "nonce"
"""The name under which results have both conditions."""

_BREAKDOWNS = {"form": "question_families", "grid": "grids"}
_SIXTHS = 6
"""Chances of 1/2 and 1/3 are whole numbers of sixths; a form has as many answers as a group has scenes."""


def score_nonce(
    folder: Path | str,
    predictions: Path | str | Sequence[Path | str],
    *,
    seed: int,
    bootstrap: int = DEFAULT_BOOTSTRAP,
    partial: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Compares predictions about episodes with the right answers, in both conditions and in controls.

    Measures are of the episodes that were answered in both conditions. The bootstrap draws groups of matched
    scenes, each with all of its episodes in both conditions. Controls may be about some of the episodes.

    Args:
        folder: a dataset that `build --nonce` wrote.
        predictions: one or more files.
        seed: seed of the bootstrap.
        bootstrap: number of bootstrap samples; 0 for no intervals.
        partial: whether to score incomplete predictions and count the missing ones.
        progress: shows the progress of the scoring.

    Raises:
        PredictionsError: predictions cannot be read, are missing or repeated, or are about unknown questions.
        DatasetError: the folder is not a dataset with episodes, or a file in it is incomplete.
    """
    check_draws(bootstrap, seed)
    key, files = Episodes(folder), files_of(predictions)
    collector = collect(files, key, partial=partial, progress=progress)
    given = collector.given
    parts = {
        "": {0: Part()},
        **{
            field.name: {
                number: Part(field.name, str(field.value(key.table, number)))
                for number in np.unique(getattr(key.table, field.column)).tolist()
                if field.value is not None
            }
            for field in key.kind.fields
            if field.name in _BREAKDOWNS
        },
    }
    groups = {"": np.zeros(len(key.table), dtype=np.int32)}
    groups |= {by: getattr(key.table, column) for by, column in _BREAKDOWNS.items()}

    def condition(hop: str, size: int | None) -> Condition:
        model = Model(hop, size)
        flags = episode_flags(key, given, model)
        draws = {"bootstrap": bootstrap, "seed": (seed, *SPLIT.encode())}
        counts = {"n_episodes": flags["episodes"]}
        found = score_flags(flags, NONCE, groups, key.groups, counts=counts, **draws)
        scored = {
            parts[by][number]: figures.scored() for by, of in found.items() for number, figures in of.items()
        }
        answers = {split: answers_of_runs(key, given, model, split) for split in NONCE_SPLITS}
        missing = {split: int(np.count_nonzero(rows == NOT_GIVEN)) for split, rows in answers.items()}
        return Condition(
            hop,
            size,
            runs=tuple(runs_of(given, hop, size)),
            splits={SPLIT: SplitScores(scored, len(key.table), sum(missing.values()))},
            missing={split: n for split, n in missing.items() if n},
            breakdowns={by: tuple(parts[by].values()) for by in _BREAKDOWNS},
        )

    return Results(
        folder=key.folder,
        bootstrap=bootstrap,
        seed=seed,
        conditions=tuple(conditions_of(key, collector, [NONE], condition, progress)),
        n_predictions=collector.n_predictions,
        n_left_aside=collector.n_left_aside,
        n_of_suites=collector.n_of_suites,
        notes=notes_of(files),
        kind=key.kind.name,
    )


def below_chance(scores: SplitScores) -> list[Part]:
    """The groups whose accuracy in `unseen`, or its interval, is below chance; unread replies are guesses."""
    found = []
    for part, scored in scores.parts.items():
        unseen, chance = scored.mean["unseen"], scored.mean["chance"].value
        most = unseen.interval.high if unseen.interval else unseen.value
        share_unread = (scored.mean["unread_unseen"].value or 0) / 100
        if most is not None and chance is not None and most + share_unread * chance < chance - 1e-9:
            found.append(part)
    return found


def episode_flags(key: Episodes, given: Mapping[Target, AnswerNumbers], model: Model) -> dict[str, Flags]:
    """(R, N) what `measures.NONCE` sums of each of a model's R runs and N episodes; "answered" is first."""
    table, yes, unread = key.table, key.answers["yes"], key.answers.get(NO_ANSWER, NOT_AN_ANSWER)
    is_yes_no = np.isin(table.answers, [yes, key.answers["no"]])
    right: dict[tuple[str, str], Flags] = {}
    there: dict[tuple[str, str], Flags] = {}
    flags: dict[str, Flags] = {}
    for control in key.controls:
        for side, split in zip(CONDITIONS, NONCE_SPLITS, strict=True):
            name = control_split(split, control)
            answers = answers_of_runs(key, given, model, name)
            there[control, side] = answers != NOT_GIVEN
            right[control, side] = answers == key.test_set(NONE, name).answers
            if control == TEST:
                flags |= {
                    f"given_{side}": there[control, side],
                    f"unread_{side}": answers == unread,
                    f"yes_no_{side}": there[control, side] & is_yes_no,
                    f"yes_{side}": (answers == yes) & is_yes_no,
                }
            elif control != "words":
                flags |= {f"{control}_{side}_given": there[control, side]}
                flags |= {f"{control}_{side}": right[control, side]}
    for control in {*CONTROLS} - {*key.controls}:
        for name in (f"{control}_{side}{end}" for side in CONDITIONS for end in ("", "_given")):
            flags[name] = np.zeros_like(there[TEST, CONDITIONS[0]])
    probed, known = np.ones((2, *there[TEST, CONDITIONS[0]].shape), dtype=bool)
    for side in CONDITIONS:
        of_row = (len(known), -1, N_PROBES)
        probes, words = (of["words", side].reshape(of_row) for of in (there, right))
        flags |= {f"probes_{side}": probes.sum(axis=2), f"words_{side}": words.sum(axis=2)}
        probed, known = probed & probes.all(axis=2), known & words.all(axis=2)
    both = there[TEST, "unseen"] & there[TEST, "seen"]
    sizes = np.bincount(key.groups)[key.groups]
    forms = np.unique(table.question_families, return_inverse=True)[1]
    n_answers = np.asarray([max(2, sizes[forms == form].max()) for form in range(forms.max() + 1)])[forms]
    sixths = both * (_SIXTHS // n_answers)
    flags |= {"probed": probed, "known": known, "known_episodes": both & known}
    flags |= {"sixths": sixths, "squared_sixths": sixths**2}
    for side, split in zip(CONDITIONS, NONCE_SPLITS, strict=True):
        flags[f"known_{side}"] = both & known & right[TEST, side]
        flags[f"images_{side}"] = both * key.n_mentioning(split)
    flags |= paired_flags(both, right[TEST, "unseen"], right[TEST, "seen"], key.groups)
    return {"answered": np.logical_or.reduce([*_by_episode(there)]), **flags}


def paired_flags(both: Flags, unseen: Flags, seen: Flags, groups: Numbers) -> dict[str, Flags]:
    """(R, N) what the gap, its half-width and the shares of whole groups sum.

    Args:
        both: (R, N) whether each of R runs answered each of N episodes in both conditions.
        unseen: (R, N) whether its answer in `unseen` is right.
        seen: (R, N) likewise in `seen`.
        groups: (N,) the group of each episode; those of a group follow each other.
    """
    first, sizes = np.unique(groups, return_index=True, return_counts=True)[1:]

    def of_groups(numbers: Flags) -> Flags:
        """The sums over each group's episodes, in the place of its first one."""
        placed = np.zeros(numbers.shape, dtype=np.int64)
        placed[:, first] = np.add.reduceat(numbers.astype(np.int64), first, axis=1)
        return placed

    flags: dict[str, Flags] = {"episodes": both, "unseen": both & unseen, "seen": both & seen}
    n, gaps = of_groups(both), of_groups(flags["unseen"].astype(np.int64) - flags["seen"])
    flags |= {"squares": gaps**2, "products": gaps * n, "squared_sizes": n**2}
    matched = np.zeros(len(groups), dtype=np.int64)
    matched[first] = np.where(sizes > 1, sizes, 0)  # the folder's last group may be cut to one row
    names = {"groups": "episodes", "group_unseen": "unseen", "group_seen": "seen"}
    is_whole = {name: (of_groups(flags[of]) == matched) & (matched > 0) for name, of in names.items()}
    return {**flags, **is_whole}


def _by_episode(there: Mapping[tuple[str, str], Flags]) -> Sequence[Flags]:
    """(R, N) for each control and condition whether something was answered about an episode."""
    n = there[TEST, CONDITIONS[0]].shape[1]
    return [of.reshape(len(of), n, -1).any(axis=2) for of in there.values()]
