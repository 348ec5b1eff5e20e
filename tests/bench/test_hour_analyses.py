"""The analyses of hour and partners, on made-up results whose components and effects are known."""

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("scipy", reason="scipy is not installed: pip install clevrhope[plots]")

from click.testing import CliRunner
from scipy import stats

from benchmarks import diversity_tables, noise, partners, slopes_by_cluster
from benchmarks.noise import Runs, components, runs_for
from benchmarks.palette_files import SECOND_DRAWS, nested_palettes, palette_files, partner_palettes
from benchmarks.shared_questions import Score
from clevrhope.experiments.noise import detectable, in_words
from clevrhope.experiments.plan import make_plan
from clevrhope.experiments.reading import find_file, read_experiment
from clevrhope.runtime import assets

SEEDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 19)
"""Of the palettes of experiments/hour.toml."""


def write_results(
    path: Path, scores: Iterable[Score], *, asked: str, model: str = "object_transformer"
) -> Path:
    """Adds rows to a results.csv as a report writes them, as far as the analyses read it."""
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            names = ["model", "metric", "split", "hop", "run", "checkpoint", "mean_percent", "dataset"]
            writer.writerow([*names, "trained_on", "low", "high"])
        for each in scores:
            reach = 1.96 * each.of_images**0.5
            own = "" if each.trained_on == asked else each.trained_on
            writer.writerow(
                [
                    *(model, "accuracy", "complex_ood", asked, each.run, "last", each.percent),
                    *(each.dataset, own, each.percent - reach, each.percent + reach),
                ]
            )
    return path


def simulated(rng: np.random.Generator, n: int, sds: tuple[float, float, float, float]) -> Runs:
    """Runs on n sets of combinations, each with two draws of data and, on the first, two seeds."""
    of_combinations, of_data, of_seed, of_images = sds

    def data() -> float:
        return rng.normal(0, of_data) + rng.normal(0, of_images)

    draws, seeds = [], []
    for _ in range(n):
        level, first = 80 + rng.normal(0, of_combinations), data()
        one, two = (level + first + rng.normal(0, of_seed) for _ in range(2))
        draws.append([one, level + data() + rng.normal(0, of_seed)])
        seeds.append((one, two))
    return Runs(draws, seeds, of_images**2)


def test_components_of_noise_are_found() -> None:
    found = components(simulated(np.random.default_rng(3), 4000, (6.0, 3.0, 2.0, 1.0)))
    assert found["combinations"].sd == pytest.approx(6, rel=0.05)
    assert found["data"].sd == pytest.approx(3, rel=0.06)
    assert found["seed"].sd == pytest.approx(2, rel=0.05)
    assert (found["images"].sd, found["images"].df) == (1, np.inf)
    assert found["all"].sd == pytest.approx(50**0.5, rel=0.05)
    nothing = components(simulated(np.random.default_rng(5), 400, (0.0, 0.0, 2.0, 0.0)))
    assert nothing["data"].sd < 0.7


def test_intervals_are_as_wide_as_degrees_of_freedom_make_them() -> None:
    five = components(Runs([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [], 0.0))["all"]
    assert (five.df, five.low / five.sd, five.high / five.sd) == pytest.approx((5, 0.624, 2.453), rel=1e-3)
    rng = np.random.default_rng(1)
    hits = {"seed": 0, "all": 0, "data": 0}
    for _ in range(200):
        found = components(simulated(rng, 8, (6.0, 3.0, 2.0, 1.0)))
        for name, truth in (("seed", 2.0), ("all", 50**0.5), ("data", 3.0)):
            hits[name] += found[name].low <= truth <= found[name].high
    assert min(hits["seed"], hits["all"]) >= 180  # 95% of 200, less three standard deviations
    assert hits["data"] >= 160  # Satterthwaite's interval is approximate


@pytest.mark.parametrize("sd", [0.5, 2.0, 9.2])
def test_a_claim_needs_so_many_runs(sd: float) -> None:
    def power(n: int) -> float:
        df, shift = 2 * n - 2, 3 / (sd * (2 / n) ** 0.5)
        return float(1 - stats.nct.cdf(stats.t.ppf(0.975, df), df, shift))

    n = runs_for(3, sd)
    assert power(n) > 0.78
    assert n == 2 or power(n - 1) < 0.81


def test_noise_reads_seeds_and_second_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds differ by 2 points, second draws by 4, and combinations by 10 for each palette's number."""
    path = tmp_path / "results.csv"
    nested, again = [], []
    for k in (4, 8, 16):
        of_cluster = {seed: slopes_by_cluster.seen_by("cyan_cylinder", seed, k) for seed in SEEDS}
        level = {seed: 10.0 * sorted({*of_cluster.values()}).index(own) for seed, own in of_cluster.items()}
        for seed in SEEDS:
            nested.append(Score(f"hour-{seed}", f"cyan_cylinder-d{k}", seed, level[seed], 0.25))
            if seed <= 8:
                other = Score(f"hour-{seed}", f"cyan_cylinder-d{k}", seed + 1000, level[seed] + 2, 0.25)
                nested.append(other)
        for seed, palette in SECOND_DRAWS.items():
            again.append(Score(f"again-{seed}", f"cyan_cylinder-k{k}", seed, level[palette] + 4, 0.25))
    write_results(path, nested, asked="cyan_cylinder-d4")
    write_results(path, again, asked="cyan_cylinder-k4")
    (tmp_path / "hour").mkdir()
    result = CliRunner().invoke(noise.main, [str(path), "--write", str(tmp_path / "hour/noise.csv")])
    assert result.exit_code == 0, result.output
    cells = [line.split(" | ") for line in result.output.splitlines() if line.startswith("|")]
    rows = {(each[0], each[1]): each[2:] for each in cells if len(each) == 5}
    for k in ("4", "8", "16"):
        sd, _, df = rows[f"| {k}", "seed"]
        assert (sd, df) == ("1.4", "8.0 |")  # 2 / sqrt(2)
        assert rows[f"| {k}", "images"][0] == "0.5"
    # At K = 4 two pairs of palettes show the same combinations, and do not differ here: 16 / 4, not 16 / 2.
    assert rows["| 8", "data"][0] == f"{(8 - 2 - 0.25) ** 0.5:.1f}"
    assert rows["| 4", "data"][0] == f"{(4 - 2 - 0.25) ** 0.5:.1f}"
    assert rows["| 4", "all"][2] == "9.0 |"
    assert rows["| 8", "all"][2] == "11.0 |"
    # What plans say comes from the same components.
    plans = [make_plan(read_experiment(find_file(Path(each)), out=tmp_path)) for each in ("hour", "partners")]
    monkeypatch.setattr(assets, "experiments", lambda: tmp_path)
    found = {each.combinations: each for each in detectable(plans[0])}
    whole = noise.read_components(path)
    assert {k: each.runs for k, each in found.items()} == {4: 12, 8: 12, 16: 12}
    for k, each in found.items():
        for points, sd in ((each.points, whole[k]["all"].sd), (each.at_most, whole[k]["all"].high)):
            shift = points / (sd * (2 / 12) ** 0.5)
            power = 1 - stats.nct.cdf(stats.t.ppf(0.975, 22), 22, shift)
            assert power == pytest.approx(0.8, abs=0.02)
    assert in_words([found[4]]).endswith(
        f"{found[4].points:.1f} to {found[4].at_most:.1f} at K = 4 (12 runs each)"
    )
    assert detectable(plans[1]) == [], "its palettes are files"
    (tmp_path / "hour/noise.csv").unlink()
    assert detectable(plans[0]) == []


def test_slopes_are_averaged_within_clusters(tmp_path: Path) -> None:
    """Palettes 2 and 7 show the same four combinations, and so do 3 and 6."""
    scores = []
    for seed in SEEDS:
        slope = {2: 1.0, 7: 5.0}.get(seed, 3.0)
        for level, k in enumerate((4, 8, 16)):
            scores.append(Score(f"hour-{seed}", f"cyan_cylinder-d{k}", seed, 70 + slope * level, 1.0))
            scores.append(
                Score(f"hour-{seed}", f"cyan_cylinder-d{k}", seed + 1000, 0.0, 1.0)
            )  # not its own seed
    clusters = slopes_by_cluster.by_cluster(slopes_by_cluster.slopes_of(scores), "cyan_cylinder")
    assert sorted(map(len, clusters.values())) == [1] * 8 + [2] * 2
    mean = slopes_by_cluster.over_clusters(clusters)
    assert mean.slopes == pytest.approx([3.0] * 10)
    assert mean.p_value == pytest.approx(2 / 2**10)
    path = write_results(tmp_path / "results.csv", scores, asked="cyan_cylinder-d4")
    printed = CliRunner().invoke(slopes_by_cluster.main, [str(path)]).output
    assert "+3.0 points with each doubling" in printed
    assert "over 10 clusters: p = 0.002" in printed


def test_effects_of_combinations_and_partners(tmp_path: Path) -> None:
    def scores(interaction: float) -> list[Score]:
        base = {"k8_one": 60.0, "k8_five": 70.0, "k16_one": 64.0, "k16_five": 74.0 + interaction}
        return [
            Score(f"partners-{draw}", f"cyan_cylinder-{cell}", draw, percent + draw, 1.0)
            for draw in range(1, 9)
            for cell, percent in base.items()
        ]

    found = partners.effects(scores(6.0))
    assert [each.value for each in found.values()] == pytest.approx([7, 13, 6])
    assert found["interaction"].p_value == pytest.approx(2 / 2**8)
    with pytest.raises(ValueError, match="draw 8: only k8_one, k8_five, k16_one of"):
        partners.effects(scores(0.0)[:-1])
    with pytest.raises(ValueError, match="two runs of k8_one"):
        partners.effects([*scores(0.0), scores(0.0)[0]])
    path = tmp_path / "results.csv"
    for model in ("object_transformer", "question_only"):
        write_results(path, scores(0.0), asked="cyan_cylinder-base", model=model)
    printed = CliRunner().invoke(partners.main, [str(path)]).output
    assert "| object_transformer | partners, 5 colors minus 1 | +10.0 [+10.0, +10.0] | 0.008 |" in printed
    # Draws 1 to 8 add their number to 60: 64.5 with a standard deviation of 2.449, and t(7) is 2.365.
    assert "| 8 | one | 8 | 64.5 [62.5, 66.5] | 64.5 |" in printed
    image = tmp_path / "partners.svg"
    CliRunner().invoke(partners.main, [str(path), "--figure", str(image)], catch_exceptions=False)
    texts = [each.text for each in ElementTree.parse(image).iter("{http://www.w3.org/2000/svg}text")]
    assert {"8 combinations", "16 combinations", "colors of cylinders seen"} <= set(texts)


def made_up_runs() -> list[dict[str, object]]:
    """Rows of three palettes with K = 4, 8 and 16, of one with 24, and of runs that no table may take.

    The accuracy about the pair is 60 + 10 for each doubling on the palette's own questions, and 3 less on
    those of 4 combinations; palettes add 0, 1 and 2. Palettes 2 and 7 show the same four combinations.
    """
    rows: list[dict[str, object]] = []

    def add(model: str, metric: str, split: str, k: int, percent: float, **more: object) -> None:
        usual = {"dataset": "hour-2", "run": 2, "checkpoint": "last", "trained_on": ""}
        of = {"model": model, "metric": metric, "split": split, "hop": f"cyan_cylinder-d{k}", "diversity": k}
        rows.append({**of, **usual, "mean_percent": percent, "low": percent - 1, "high": percent + 1, **more})

    for shift, seed in enumerate((2, 7, 1)):
        for level, k in enumerate((4, 8, 16)):
            mine = {"dataset": f"hour-{seed}", "run": seed}
            for model, iid, ood in (("object_transformer", 95, 60 + 10 * level), ("question_only", 55, 40)):
                add(model, "accuracy", "complex_iid", k, iid, **mine)
                add(model, "accuracy", "complex_ood", k, ood + shift, **mine)
                add(model, "gap", "complex", k, ood + shift - iid, **mine)
                add(model, "matched_gap", "complex", k, ood - iid, **mine)
            more = {"trained_on": f"cyan_cylinder-d{k}"} if k > 4 else {}
            if k > 4:
                add(
                    "object_transformer",
                    "accuracy",
                    "complex_ood",
                    4,
                    57 + 10 * level + shift,
                    **mine,
                    **more,
                )
            if seed != 7:  # which never reached 90%
                for change in (-1, 1):
                    reached = {**mine, **more, "checkpoint": f"train-{change}"}
                    add(
                        "object_transformer", "accuracy", "complex_ood", 4, 50 + 2 * level + change, **reached
                    )
            add("object_transformer", "accuracy", "complex_ood", k, 0, **{**mine, "run": seed + 1000})
    for model, iid, ood in (("object_transformer", 96, 90), ("question_only", 56, 30)):
        for metric, split, value in (
            ("accuracy", "complex_iid", iid),
            ("accuracy", "complex_ood", ood),
            ("gap", "complex", ood - iid),
            ("matched_gap", "complex", 0),
        ):
            add(model, metric, split, 24, value, dataset="all", run=1)
    add(
        "object_transformer",
        "accuracy",
        "complex_ood",
        4,
        0,
        dataset="again-101",
        run=101,
        hop="cyan_cylinder-k4",
    )
    return rows


def test_tables_over_diversity_are_of_own_seeds(tmp_path: Path) -> None:
    path, rows = tmp_path / "results.csv", made_up_runs()
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    printed = CliRunner().invoke(diversity_tables.main, [str(path)], catch_exceptions=False).output
    lines = printed.replace("\N{MINUS SIGN}", "-").splitlines()
    # t(2) is 4.303, and the standard error of 60, 61 and 62 is 0.577; (61 - 41) / (95 - 55) is a half.
    assert lines[2] == (
        "| 4 | 3 | 95.0 [95.0, 95.0] | 61.0 [58.5, 63.5] | -34.0 [-36.5, -31.5] | -35.0 [-35.0, -35.0] | "
        "55.0 | 41.0 | 0.50 [0.50, 0.50] | 1.31 |"
    )
    assert lines[5] == (
        "| 24 | 1 | 96.0 [95.0, 97.0] | 90.0 [89.0, 91.0] | -6.0 [-7.0, -5.0] | +0.0 [-1.0, +1.0] | "
        "56.0 | 30.0 | 1.50 | 1.59 |"
    )
    slopes = {line.split(" | ")[0]: line.split(" | ")[1:] for line in lines[9:]}
    assert slopes["| own complex_ood, %"][0] == "+10.0 [+10.0, +10.0]"
    primary = slopes["| **primary:** complex_ood of the palette's 4 combinations, %"]
    assert (primary[0], primary[3]) == ("+8.5 [+8.5, +8.5]", "3, 2")  # 60, 67, 77
    reached = slopes["| complex_ood of the palette's 4 combinations, first at 90%, %"]
    assert (reached[0], reached[3]) == ("+2.0 [+2.0, +2.0]", "2, 2")


def test_palette_files_are_those_that_the_script_makes() -> None:
    folder = assets.experiments()
    there = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.glob("*/*/*.json")}
    assert there == palette_files()


def test_partners_differ_in_what_the_experiment_says_alone() -> None:
    bases = set()
    for draw in range(1, 9):
        palettes = partner_palettes(draw)
        bases.add(json.dumps(palettes["base"]))
        for name, seen in palettes.items():
            assert len(set(seen)) == len(seen)
            assert set(palettes["base"]) <= set(seen)
            assert ("cyan", "cylinder") not in seen
            assert sum(color == "cyan" for color, _ in seen) == 1
            k, _, cylinders = name.removeprefix("k").partition("_")
            assert len(seen) == (3 if name == "base" else int(k) - 1)
            assert sum(shape == "cylinder" for _, shape in seen) == (5 if cylinders == "five" else 1)
    assert len(bases) == 8
    for seed in SECOND_DRAWS.values():
        four = slopes_by_cluster.seen_by("cyan_cylinder", seed)
        assert sorted(nested_palettes(seed)["k4"]) == [*four]
