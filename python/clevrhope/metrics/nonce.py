"""Scores of episodes with nonce words: both conditions on the same episodes, their gap, and all controls."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.question_kinds import Numbers
from clevrhope.dataset.vocab import NO_ANSWER
from clevrhope.metrics.collector import NOT_AN_ANSWER, NOT_GIVEN, AnswerNumbers, runs_of
from clevrhope.metrics.episodes import Episodes
from clevrhope.metrics.measures import NONCE
from clevrhope.metrics.results import Condition, Model, Part, Results, Scores, SplitScores
from clevrhope.metrics.rows import Target
from clevrhope.metrics.scoring import DEFAULT_BOOTSTRAP, answers_of_runs, scored_by
from clevrhope.metrics.shares import Flags, score_flags
from clevrhope.splits.hops import NONE
from clevrhope.splits.nonce.episodes import FORMS
from clevrhope.splits.nonce.kinds import CONTROLS, NONCE_SPLITS, TEST, control_split
from clevrhope.splits.nonce.supports import CONDITIONS

_SIXTHS = 6
"""Chances of 1/2 and 1/3 are whole numbers of sixths; a form has as many answers as a group has scenes."""


def score_nonce(
    folder: Path | str,
    predictions: Path | str | Sequence[Path | str],
    *,
    seed: int,
    bootstrap: int = DEFAULT_BOOTSTRAP,
    **options: Any,
) -> Results:
    """Compares predictions about episodes with the right answers, in both conditions and in controls.

    Measures are of the episodes that were answered in both conditions. The bootstrap draws groups of matched
    scenes, each with all of its episodes in both conditions. Controls may be about some of the episodes.
    Arguments and errors are those of `score`, for a dataset that `build --nonce` wrote.
    """
    key = Episodes(folder)

    def condition(given: Mapping[Target, AnswerNumbers], model: Model) -> Condition:
        breakdowns = {by: key.breakdown(by, model.hop) for by in key.breakdowns}
        groups = {"": np.zeros(len(key.table), dtype=np.int32)}
        groups |= {by: of.numbers(key.table) for by, of in breakdowns.items()}
        flags = episode_flags(key, given, model)
        counts = {"n_episodes": flags["episodes"], "n_known": flags["known_episodes"]}
        draws: dict[str, Any] = {"bootstrap": bootstrap, "seed": (seed, *key.kind.name.encode())}
        found = score_flags(flags, NONCE, groups, key.groups, counts=counts, **draws)
        parts = {
            by: {number: breakdowns[by].part(number) or Part() if by else Part() for number in of}
            for by, of in found.items()
        }
        scored = {parts[by][number]: each.scored() for by, of in found.items() for number, each in of.items()}
        answers = {split: answers_of_runs(key, given, model, split) for split in NONCE_SPLITS}
        missing = {split: int(np.count_nonzero(rows == NOT_GIVEN)) for split, rows in answers.items()}
        return Condition(
            *(model.hop, model.train_size),
            runs=tuple(runs_of(given, model.hop, model.train_size)),
            splits={key.kind.name: SplitScores(scored, len(key.table), sum(missing.values()))},
            missing={split: n for split, n in missing.items() if n},
            breakdowns={by: tuple(parts[by].values()) for by in breakdowns},
        )

    return scored_by(condition, key, predictions, bootstrap=bootstrap, seed=seed, **options)


def below_chance(scores: SplitScores) -> list[Part]:
    """The forms that ask whether the pair is there and whose accuracy is below chance in `unseen` alone.

    They are so by their intervals; unread replies count as guesses.
    """

    def is_below(mean: Scores, side: str) -> bool:
        interval, chance = mean[side].interval, mean["chance"].value
        guessed = (mean[f"unread_{side}"].value or 0) / 100
        return interval is not None and chance is not None and interval.high < (1 - guessed) * chance - 1e-9

    return [
        part
        for part, scored in scores.parts.items()
        if (part.by, part.name[:5]) == ("form", "exist")
        and is_below(scored.mean, "unseen")
        and not is_below(scored.mean, "seen")
    ]


def episode_flags(key: Episodes, given: Mapping[Target, AnswerNumbers], model: Model) -> dict[str, Flags]:
    """(R, N) what `measures.NONCE` sums of each of a model's R runs and N episodes; "answered" is first."""
    table, yes = key.table, key.answers["yes"]
    is_yes_no = np.isin(table.answers, [yes, key.answers["no"]])
    right: dict[tuple[str, str], Flags] = {}
    there: dict[tuple[str, str], Flags] = {}
    flags: dict[str, Flags] = {}
    probed = known = np.ones(1, dtype=bool)
    for side, split in zip(CONDITIONS, NONCE_SPLITS, strict=True):
        for control in key.controls:
            name = control_split(split, control)
            answers = answers_of_runs(key, given, model, name)
            of_row = (len(answers), len(table), -1)
            there[control, side] = (answers != NOT_GIVEN).reshape(of_row)
            right[control, side] = (answers == key.test_set(NONE, name).answers).reshape(of_row)
            if control == TEST:
                flags |= {f"unread_{side}": answers == key.answers.get(NO_ANSWER, NOT_AN_ANSWER)}
                flags |= {
                    f"unread_{side}_of": answers != NOT_GIVEN,
                    f"yes_{side}": (answers == yes) & is_yes_no,
                }
                flags |= {f"yes_{side}_of": (answers != NOT_GIVEN) & is_yes_no}
        for control in CONTROLS[1:]:
            of = {"": right, "_of": there}
            nothing = np.zeros_like(there[TEST, side])
            flags |= {
                f"{control}_{side}{end}": flag.get((control, side), nothing).sum(axis=2)
                for end, flag in of.items()
            }
        probed = probed & there["words", side].all(axis=2)
        known = known & right["words", side].all(axis=2)
    unseen, seen = (right[TEST, side].all(axis=2) for side in CONDITIONS)
    both = (there[TEST, "unseen"] & there[TEST, "seen"]).all(axis=2)
    n_scenes = {form.name: form.n_scenes for form in FORMS}
    n_answers = np.asarray([n_scenes[name] for name in table.forms])[table.question_families]
    sixths = both * (_SIXTHS // n_answers)
    flags |= {"probed": probed, "known": known, "known_episodes": both & known}
    flags |= {"sixths": sixths, "squared_sixths": sixths**2}
    for side, split in zip(CONDITIONS, NONCE_SPLITS, strict=True):
        flags[f"known_{side}"] = both & known & right[TEST, side].all(axis=2)
        flags[f"images_{side}"] = both * key.n_mentioning(split)
    flags |= paired_flags(both, unseen, seen, key.groups)
    return {"answered": np.logical_or.reduce([of.any(axis=2) for of in there.values()]), **flags}


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
    for side in CONDITIONS:
        for name, of in ((f"group_{side}", side), (f"group_{side}_of", "episodes")):
            flags[name] = (of_groups(flags[of]) == matched) & (matched > 0)
    return flags
