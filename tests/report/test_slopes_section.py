"""Reports of several palettes: slopes on diversity, on the same questions first, and what is left out."""

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("scipy", reason="scipy is not installed: pip install clevrhope[plots]")
pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install clevrhope[plots]")

from building import request
from simulated import text_of, write_predictions, write_run

from clevrhope.errors import DatasetError
from clevrhope.pipeline import Limits, build
from clevrhope.report import Report, Result, find_sources, measure, report
from clevrhope.report.slopes import Curves, curves_of
from wording import check_words, refused

pytestmark = pytest.mark.slow

PAIR = "cyan_cylinder"
N_OOD = 100
SIZES = {"train": 60, "val_iid": 20, "complex_iid": 60, "complex_ood": N_OOD, "minimal_places": 1}
SMALLEST = f"{PAIR}-d4"
SECTION = "## Accuracy over diversity"

SAME = {1: (40, 50, 60), 2: (50, 54, 58), 3: (60, 66, 72)}
"""Accuracy on the smallest diversity's complex_ood in per cent, by palette, at 4, 8 and 16 combinations."""


@pytest.fixture(scope="module")
def palettes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[int, Path]:
    """Three palettes of 4, 8 and 16 combinations; the first has all 24, too."""
    out = tmp_path_factory.mktemp("palettes")
    for seed in SAME:
        levels = (4, 8, 16, 24) if seed == 1 else (4, 8, 16)
        build(
            request(
                out / f"hour-{seed}",
                hops=(PAIR,),
                limits=Limits(diversities=levels, mode="nested"),
                sizes=SIZES,
                seed=seed,
                render=False,
                question_json=False,
            )
        )
    return {seed: out / f"hour-{seed}" for seed in SAME}


def write(
    out: Path,
    dataset: Path,
    k: int,
    *,
    ood: float,
    same: float | None = None,
    files: tuple[str, ...] = ("last",),
) -> Path:
    """Writes a run with K combinations, with its accuracies on its own complex_ood and on the smallest's."""
    hop = f"{PAIR}-d{k}"
    wrong = {"complex_iid": 0.1, "complex_ood": 1 - ood / 100}
    named = tuple(f"{each}.predict" for each in files)
    run = write_run(
        out, dataset, model="film", hop=hop, size=60, seed=1, wrong=wrong, files=named, name=dataset.name
    )
    if same is not None:
        folder = run / "other_hops" / SMALLEST / "predictions"
        folder.mkdir(parents=True)
        for each in named:
            wrong = {"complex_ood": 1 - same / 100}
            write_predictions(folder / f"{each}.jsonl", dataset, SMALLEST, wrong, run=1, train_size=60)
    return run


@pytest.fixture
def runs(palettes: Mapping[int, Path], tmp_path: Path) -> Path:
    """Accuracy on the same questions rises by 10, 4 and 6 points for each doubling, on the own ones by 2."""
    for seed, accuracies in SAME.items():
        for k, same, own in zip((4, 8, 16), accuracies, (accuracies[0], 52, 54), strict=True):
            write(tmp_path / "runs", palettes[seed], k, ood=own, same=None if k == 4 else same)
    write(tmp_path / "runs", palettes[1], 24, ood=90, same=90)
    return tmp_path / "runs"


def results(runs: Path) -> list[Result]:
    found, skipped = measure(find_sources([runs])[0])
    assert not skipped
    return found


def by_name(runs: Path) -> dict[str, Curves]:
    return {each.name: each for each in curves_of(results(runs))}


def section(made: Report) -> str:
    return text_of(made).partition(SECTION)[2].partition("\n## ")[0]


def test_the_primary_slopes_are_of_the_same_questions(runs: Path, tmp_path: Path) -> None:
    first, *_ = curves_of(results(runs))
    assert first.name == "complex_ood of the palette's 4 combinations, %"
    assert sorted(first.palettes, key=lambda curve: curve[4]) == [
        pytest.approx(dict(zip((4, 8, 16), accuracies, strict=True))) for accuracies in SAME.values()
    ]
    made = report([runs], tmp_path / "out")
    # The slopes are 4, 6 and 10; 2 of 8 flips of three signs are as far from 0. The deviation is 3.055; t's
    # 97.5th percentile with two degrees of freedom is 4.303. (4.303 + 1.061) * 3.055 / 3**0.5 is detectable.
    check_words(text_of(made).partition("\n\nfilm, ")[0])
    check_words(section(made))
    assert len([*(tmp_path / "out/figures").glob("slopes_film*.svg")]) == 1


def test_all_combinations_may_be_a_dataset_of_their_own(
    runs: Path, palettes: Mapping[int, Path], tmp_path: Path
) -> None:
    before = curves_of(results(runs))
    (folder,) = runs.glob(f"film-{PAIR}-d24-*")
    shutil.rmtree(folder)
    alone = shutil.copytree(palettes[1], tmp_path / "all")
    write(runs, alone, 24, ood=90)
    assert curves_of(results(runs)) == before


def test_a_palette_with_a_failed_run_has_no_curve_and_the_others_keep_theirs(runs: Path) -> None:
    (folder,) = runs.glob(f"film-{PAIR}-d8-*hour-3")
    shutil.rmtree(folder)
    first, *_ = curves_of(results(runs))
    assert sorted(curve[4] for curve in first.palettes) == pytest.approx([40, 50])
    assert {tuple(sorted(curve)) for curve in first.palettes} == {(4, 8, 16)}


def test_an_answer_elsewhere_is_no_accuracy_on_the_runs_own_questions(runs: Path, tmp_path: Path) -> None:
    own = by_name(runs)["own complex_ood, %"]
    assert sorted(curve[8] for curve in own.palettes) == pytest.approx([52, 52, 52])
    assert sorted(curve[4] for curve in own.palettes) == pytest.approx([40, 50, 60])
    every = text_of(report([runs], tmp_path / "out")).partition("**Every run**")[2].partition("\n**")[0]
    assert len([line for line in every.splitlines() if line.startswith("| film")]) == 10


def test_runs_that_never_reached_an_accuracy_are_counted(
    palettes: Mapping[int, Path], tmp_path: Path
) -> None:
    out = tmp_path / "runs"
    both = ("all-0000010", "all-0000020")
    for seed in SAME:
        for k in (4, 8, 16):
            censored = (seed, k) in ((2, 8), (3, 4))
            files = ("last",) if censored else ("last", *both)
            run = write(out, palettes[seed], k, ood=50, same=None if k == 4 else 60, files=files)
            content = {"percent": 90, "checkpoints": [] if censored else both}
            (run / "reached.json").write_text(json.dumps(content))
    # One of a diversity that the slopes leave out is none of theirs.
    run = write(out, palettes[1], 24, ood=50, same=60)
    (run / "reached.json").write_text(json.dumps({"percent": 90, "checkpoints": []}))
    name = "complex_ood of the palette's 4 combinations, where the tuning set is first at 90%, %"
    reached = by_name(out)[name]
    assert reached.n_censored == 2
    assert reached.palettes == (pytest.approx({4: 50, 8: 60, 16: 60}),)
    check_words(section(report([out], tmp_path / "out")))


def test_runs_that_were_not_asked_the_same_questions_have_an_empty_primary_row(
    palettes: Mapping[int, Path], tmp_path: Path
) -> None:
    for seed in (1, 2):
        for k in (4, 8):
            write(tmp_path / "runs", palettes[seed], k, ood=50 + k * seed)
    made = report([tmp_path / "runs"], tmp_path / "out")
    # Its own questions are not the same ones.
    assert "for each doubling of the combinations" not in text_of(made)
    check_words(section(made))


def test_without_scipy_a_sentence_stands_in(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    text = text_of(report([runs], tmp_path / "out"))
    assert "Without figures and tests of slopes: tests of slopes need scipy, which cannot be imported" in text
    assert "pip install 'clevrhope[plots]'" in text
    assert "Slopes of" not in text


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_there_is_no_section_without_two_palettes_of_two(
    seeds: tuple[int, ...], palettes: Mapping[int, Path], tmp_path: Path
) -> None:
    """One palette of three diversities, or two of one."""
    for seed in seeds:
        for k in (4, 8, 16)[: 3 if len(seeds) == 1 else 1]:
            write(tmp_path / "runs", palettes[seed], k, ood=50, same=None if k == 4 else 60)
    assert SECTION not in report([tmp_path / "runs"], tmp_path / "out").markdown.read_text()


def test_transfer_has_slopes_where_there_are_runs_on_the_question_alone(
    palettes: Mapping[int, Path], tmp_path: Path
) -> None:
    """At 8 combinations the question gives away less, and the model gains as much OOD as IID."""
    out = tmp_path / "runs"
    for seed in (1, 2):
        for k, ood, blind in ((4, 70, 60), (8, 90, 50)):
            write(out, palettes[seed], k, ood=ood)
            wrong = {"complex_iid": 1 - blind / 100, "complex_ood": 1 - blind / 100}
            hop = f"{PAIR}-d{k}"
            more = {"model": "question_only", "hop": hop, "size": 60, "seed": 1, "wrong": wrong}
            write_run(out, palettes[seed], **more, name=palettes[seed].name)
    film = [each for each in results(out) if each.model == "film"]
    transfer = {each.name: each for each in curves_of(film)}["normalised transfer"]
    assert transfer.palettes == (pytest.approx({4: 1 / 3, 8: 1.0}),) * 2
    # The slopes of the model's transfer are 0.67; question_only has none, as it gains nothing over itself.
    check_words(section(report([out], tmp_path / "out")))


def test_a_damaged_reached_json_is_one_sentence(runs: Path, tmp_path: Path) -> None:
    (run,) = runs.glob(f"film-{PAIR}-d8-*hour-2")
    (run / "reached.json").write_text("[1")
    with refused(DatasetError) as error:
        report([runs], tmp_path / "out")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()
