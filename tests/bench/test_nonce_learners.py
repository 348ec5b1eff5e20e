"""The experiment on learners of nonce words: training batches, validation episodes, and the table."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy", reason="scipy is not installed: pip install clevrhope[plots]")

from click.testing import CliRunner

from benchmarks import nonce_learners
from benchmarks.nonce_learners import (
    FORM,
    N_SUPPORTS,
    SETTINGS,
    TYPES,
    A,
    B,
    Batch,
    Result,
    claim,
    drawn_batch,
    episode_batch,
    main,
    read_results,
    table,
    write_results,
)
from clevrhope.splits.nonce.episodes import EpisodeStream
from wording import REPOSITORY

GROUPS = [EpisodeStream(TYPES, seed=3).group(FORM, number) for number in range(100)]


def executed(batch: Batch) -> tuple[list[int], list[bool]]:
    """The answers by way of the words' meanings, and whether the support shows what is asked about."""
    answers, shown = [], []
    for values, exist, matches, asked in zip(*batch[:4], strict=True):
        meanings = []
        for side, kind in enumerate((A, B)):
            of_word = {int(values[k, kind]) for k in np.flatnonzero(matches[:, side])}
            assert len(of_word) == asked[side]
            meanings += [(kind, value) for value in of_word]
        true_of = [all(each[kind] == value for kind, value in meanings) for each in values]
        answers.append(int(any(true_of[k] and exist[k] for k in range(N_SUPPORTS, len(values)))))
        shown.append(any(true_of[:N_SUPPORTS]))
        assert not matches[N_SUPPORTS:].any()
        assert exist[:N_SUPPORTS].all()
        assert all(matches[k].all() == true_of[k] for k in range(N_SUPPORTS) if asked.all())
    return answers, shown


@pytest.mark.parametrize(("learner", "expected"), [("always", 0.0), ("half", 0.5)])
def test_learners_differ_in_pairs_without_support(learner: str, expected: float) -> None:
    share = SETTINGS["learners"][learner]
    batch = drawn_batch([4], 1200, share_unseen=share, share_words=1 / 3)
    answers, shown = executed(batch)
    assert answers == batch.answers.tolist()
    assert np.mean(answers[:400]) == pytest.approx(0.5, abs=0.1)
    assert np.mean(answers[400:]) == pytest.approx(0.5, abs=0.1)
    assert batch.asked.sum(axis=1).tolist() == [1] * 400 + [2] * 800
    assert 1 - np.mean(shown[400:]) == pytest.approx(expected, abs=0.06 if expected else 0)
    assert all(shown[:400])
    other = drawn_batch([4], 1200, share_unseen=1.0, share_words=1 / 3)
    assert (other.values[:, N_SUPPORTS:] == batch.values[:, N_SUPPORTS:]).all()


def test_drawn_scenes_are_those_of_the_package() -> None:
    """Objects of a scene that have both words, one, or none, with the answer: the same kinds of scenes."""

    def kinds(batch: Batch) -> set[tuple[object, ...]]:
        found = set()
        for values, exist, matches, answer in zip(
            batch.values, batch.exist, batch.matches, batch.answers, strict=True
        ):
            a, b = (values[matches[:, side], kind][0] for side, kind in enumerate((A, B)))
            queried = values[N_SUPPORTS:][exist[N_SUPPORTS:]]
            found.add(
                (int(answer), tuple(sorted(((queried[:, A] == a) + 2 * (queried[:, B] == b)).tolist())))
            )
        return found

    drawn = drawn_batch([5], 2000, share_unseen=0, share_words=0)
    of_package = [EpisodeStream(TYPES, seed=3).group(FORM, number) for number in range(1000)]
    assert kinds(drawn) == kinds(episode_batch(of_package, 1))


@pytest.mark.parametrize("condition", [0, 1])
def test_validation_episodes_and_probes(condition: int) -> None:
    batch = episode_batch(GROUPS, condition)
    answers, shown = executed(batch)
    assert answers == batch.answers.tolist() == [0, 1] * 100
    assert shown == [bool(condition)] * 200


def test_finished_runs_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = {"hidden": 8, "layers": 1, "heads": 2}
    settings = {"updates": 2, "batch": 8, "episodes": 20, "seeds": [1, 2], "model": model}
    monkeypatch.setattr(nonce_learners, "SETTINGS", {**SETTINGS, **settings})

    def run(*options: str) -> str:
        return CliRunner().invoke(main, [str(tmp_path), *options], catch_exceptions=False).output

    assert run("--run", "half-2") == ""
    trained = read_results(tmp_path / "half-2.csv")
    write_results(tmp_path / "half-1.csv", [replace(RUNS[-1], seed=1)])
    assert "Not learned: always 1, always 2, half 2." in run()
    assert read_results(tmp_path / "results.csv")[2:] == [replace(RUNS[-1], seed=1), *trained]
    (tmp_path / "half-2.csv").unlink()
    run("--run", "half-2")
    assert read_results(tmp_path / "half-2.csv") == trained


RUNS = [
    Result(learner, seed, 4000, seen + gap, seen, gap, gap - 1, gap + 1, 99.0)
    for learner, seen, gap in (("always", 95.0, -30.0), ("half", 94.0, -1.0))
    for seed in (1, 2, 3)
]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "The claim holds."),
        ({"seen": 89.9}, "Not learned: always 1. The claim cannot be tested."),
        ({"high": -1.5}, "The claim does not hold."),
        ({"gap": 60.0}, "The claim does not hold."),
        ({"seen": 120.0}, "The claim does not hold."),
    ],
)
def test_claim(changes: dict[str, float], says: str) -> None:
    runs = [replace(RUNS[0], seed=1, **changes), *RUNS[1:]]
    assert [*claim(runs)][-1] == says
    assert ("not learned" in [*table(runs)][2]) == (changes.get("seen", 95) < 90)


def test_results_have_the_table_of_the_runs() -> None:
    runs = read_results(REPOSITORY / "docs" / "results_nonce.csv")
    page = (REPOSITORY / "docs" / "results.md").read_text(encoding="utf-8")
    assert len(runs) == 6
    for line in (*table(runs), *claim(runs)):
        assert line in page
