"""The tables of results: each number that a page prints is computed again from the table of its runs."""

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import fmean

import pytest

pytest.importorskip("scipy", reason="scipy is not installed: pip install clevrhope[plots]")

from benchmarks import diversity_tables, instructions, noise, partners
from clevrhope.metrics.slopes import mean_slope
from clevrhope.splits.kinds import IID, OOD

DOCS = Path(__file__).parents[2] / "docs"

PRINTED: dict[str, Callable[[Path], Sequence[str]]] = {
    "results/hour.csv": lambda path: [
        diversity_tables.printed(path, "cyan_cylinder"),
        noise.tables(noise.read_components(path)),
    ],
    "results/partners.csv": lambda path: [partners.cells_table(path), partners.effects_table(path)],
    "results/hour-pairs.csv": lambda path: [
        diversity_tables.printed(path, pair) for pair in ("rubber_cylinder", "small_cyan")
    ],
    "results_instructions.csv": lambda path: [instructions.printed(path)],
}
"""Table of runs -> the tables that its section of results.md has, line for line."""

TRANSFORMER, ENGINE, FLOOR = "object_transformer", "tensor_nmn, true programs", "question_only"
PRIMARY = "complex_ood of the palette's 4 combinations, %"


@dataclass(frozen=True)
class Table:
    """A table with a row for each number of combinations.

    Attributes:
        page: below docs.
        head: the beginning of its first line.
        file: the runs.
        model: whose results the first rows are; further rows, of other models, are not checked.
    """

    page: str
    head: str
    file: str
    model: str


HOUR = "| combinations | palettes | complex_iid"
TABLES = (
    Table("results.md", HOUR, "results_hour.csv", TRANSFORMER),
    Table("lab/hour.md", HOUR, "results_hour.csv", TRANSFORMER),
    Table("lab/hour_pixels.md", "| | combinations | complex_iid", "results_hour_pixels.csv", ENGINE),
    Table("lab/hour_gpu.md", "| combinations | complex_iid", "results_hour_gpu.csv", ENGINE),
    *(
        Table("baselines.md", f"| {name} | combinations |", f"results_{file}.csv", model)
        for name, file, model in (
            ("object transformer", "hour", TRANSFORMER),
            ("engine, CPU", "hour_pixels", ENGINE),
            ("engine, GPU", "hour_gpu", ENGINE),
        )
    ),
)
"""The printed tables that have a table of runs."""

SLOPES = (
    ("lab/hour.md", "results_hour.csv", TRANSFORMER),
    ("lab/hour_pixels.md", "results_hour_pixels.csv", ENGINE),
    ("lab/hour_gpu.md", "results_hour_gpu.csv", ENGINE),
)


def runs(file: str) -> list[dict[str, str]]:
    """The rows of a results.csv about weights at the end of a run."""
    with (DOCS / file).open(newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["checkpoint"] == "last"]


def mean(rows: Sequence[Mapping[str, str]], model: str, metric: str, split: str, k: int) -> float:
    """The mean over all runs with K combinations, on their own test sets."""
    return fmean(
        float(row["mean_percent"])
        for row in rows
        if (row["model"], row["metric"], row["split"]) == (model, metric, split)
        and (row["diversity"], row["trained_on"]) == (str(k), "")
    )


def measures(rows: Sequence[Mapping[str, str]], model: str, k: int) -> dict[str, float]:
    """The values of a table's columns."""
    iid, ood = (mean(rows, model, "accuracy", f"complex_{each}", k) for each in ("iid", "ood"))
    blind_iid, blind_ood = (mean(rows, FLOOR, "accuracy", f"complex_{each}", k) for each in ("iid", "ood"))
    return {
        "complex_iid, %": iid,
        "complex_ood, %": ood,
        "gap, points": mean(rows, model, "gap", "complex", k),
        "matched gap": mean(rows, model, "matched_gap", "complex", k),
        "normalised transfer": (ood - blind_ood) / (iid - blind_iid),
        "if always right": (100 - blind_ood) / (100 - blind_iid),
        "question alone: IID": blind_iid,
        "question alone: OOD": blind_ood,
    }


def table(page: str, head: str) -> list[list[str]]:
    """The cells of a table, its head first."""
    lines = (DOCS / page).read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(head))
    found = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return [found[0], *found[2:]]


def number(cell: str) -> tuple[float, int]:
    """The first number of a cell, without its interval, and its decimals."""
    text = cell.split(" [")[0].replace("\N{MINUS SIGN}", "-").replace("+", "")
    return float(text), len(text.partition(".")[2])


@pytest.mark.parametrize("of", TABLES, ids=lambda of: f"{of.page} {of.file}")
def test_a_printed_table_is_that_of_its_runs(of: Table) -> None:
    rows = runs(of.file)
    names, *lines = table(of.page, of.head)
    column = names.index("combinations")
    n_checked = 0
    for k in sorted({int(row["diversity"]) for row in rows if not row["trained_on"]}):
        line = next(each for each in lines if each[column] == str(k))
        known = measures(rows, of.model, k)
        for name, cell in zip(names, line, strict=True):
            if name == "question alone: IID, OOD":
                pairs = zip(("question alone: IID", "question alone: OOD"), cell.split(", "), strict=True)
            else:
                pairs = iter([(name, cell)] if name in known else [])
            for measure, text in pairs:
                printed, digits = number(text)
                assert printed == pytest.approx(known[measure], abs=0.5001 * 10**-digits), (k, measure)
                n_checked += 1
        if "palettes" in names:
            n_palettes = len(
                {row["dataset"] for row in rows if row["diversity"] == str(k) and not row["trained_on"]}
            )
            assert line[names.index("palettes")] == str(n_palettes)
    assert n_checked >= 6


@pytest.mark.parametrize(("page", "file", "model"), SLOPES)
def test_printed_slopes_are_those_of_their_runs(page: str, file: str, model: str) -> None:
    from clevrhope.metrics.slopes import mean_slope, slope_on_diversity

    def curves(wanted: Callable[[Mapping[str, str]], int | None]) -> list[float]:
        found: dict[str, dict[int, list[float]]] = {}
        for row in runs(file):
            k = wanted(row)
            if k is not None and row["model"] == model and row["metric"] == "accuracy":
                found.setdefault(row["dataset"], {}).setdefault(k, []).append(float(row["mean_percent"]))
        most = max(map(len, found.values()))
        whole = [each for each in found.values() if len(each) == most > 1]
        return [slope_on_diversity({k: fmean(each) for k, each in curve.items()}) for curve in whole]

    def own(split: str) -> Callable[[Mapping[str, str]], int | None]:
        return lambda row: int(row["diversity"]) if row["split"] == split and not row["trained_on"] else None

    def shared(row: Mapping[str, str]) -> int | None:
        trained_on = row["trained_on"] or row["hop"]
        is_of_four = row["hop"].endswith("-d4") and row["split"] == "complex_ood"
        return int(trained_on.rpartition("-d")[2]) if is_of_four else None

    names, *lines = table(page, "| figure | mean slope")
    of_figure = {line[0]: dict(zip(names, line, strict=True)) for line in lines}
    for figure, wanted in (
        (f"**primary:** {PRIMARY}", shared),
        ("own complex_ood, %", own("complex_ood")),
        ("own complex_iid, %", own("complex_iid")),
    ):
        printed, found = of_figure[figure], mean_slope(curves(wanted))
        cell = next(text for name, text in printed.items() if name.startswith("mean slope"))
        numbers = [float(each) for each in re.findall(r"[-+]?\d+\.\d", cell.replace("\N{MINUS SIGN}", "-"))]
        expected = [found.value, found.interval.low, found.interval.high]
        assert numbers == pytest.approx(expected, abs=0.0501), figure
        assert number(printed["detectable"])[0] == pytest.approx(found.detectable, abs=0.0501), figure
        slopes = [number(each)[0] for each in printed["slope of each palette"].split(", ")]
        assert slopes == pytest.approx(sorted(found.slopes), abs=0.0501), figure
        if "p, sign flips" in printed:
            assert number(printed["p, sign flips"])[0] == pytest.approx(found.p_value, abs=5.01e-4), figure


def test_tables_are_what_the_scripts_print() -> None:
    """Of each table of runs that is there; that of instructions always is."""
    lines = (DOCS / "results.md").read_text().splitlines()
    there = [name for name in PRINTED if (DOCS / name).exists()]
    assert "results_instructions.csv" in there
    for name in there:
        for text in PRINTED[name](DOCS / name):
            lacking = [line for line in text.splitlines() if line.startswith("|") and line not in lines]
            assert not lacking, (name, lacking)


def test_what_is_said_of_partners_is_what_their_runs_show() -> None:
    path = DOCS / "results/partners.csv"
    of_model = partners.percents(partners.read_cells(path, TRANSFORMER))
    section = (DOCS / "results.md").read_text().partition("## Combinations or partners?")[2]
    said = " ".join(section.split()).replace("\N{MINUS SIGN}", "-")

    def added(better: str, worse: str) -> tuple[list[float], str]:
        """What one cell has more than another in each draw; its mean and interval as on the page."""
        more = [a - b for a, b in zip(of_model[better], of_model[worse], strict=True)]
        found = mean_slope(more)
        return more, f"{found.value:.1f} ({found.interval.low:.1f} to {found.interval.high:.1f})"

    at_16, text = added("k16_five", "k16_one")
    assert f"add {text.replace(' (', ' points (')}, and help in each of the {len(at_16)} draws" in said
    assert min(at_16) > 0
    assert f"they cost {added('k8_one', 'k8_five')[1]}" in said
    assert f"better than 8 ({added('k16_one', 'k8_one')[1].replace(' (', ', from ')}" in said
    assert f"they are {added('k16_five', 'k8_five')[1].replace(' (', ' points better (')}" in said
    main, partner, both = partners.effects(partners.read_cells(path, TRANSFORMER)).values()
    for effect in (main, partner, both):
        interval = f"{effect.interval.low:.1f} to {effect.interval.high:.1f}; p = {effect.p_value:.3f}"
        assert re.search(rf"{effect.value:.1f} (points )?\((95% interval )?{interval}", said)
    assert min(main.p_value, partner.p_value) > 0.025 > both.p_value


def test_differences_between_instructions_are_those_of_their_runs() -> None:
    of = {each: instructions.accuracies(DOCS / "results_instructions.csv", each) for each in (IID, OOD)}
    section = (DOCS / "results.md").read_text().partition("## How far do processors differ?")[2]
    (said,) = re.findall(
        r"by up to ([\d.]+) points in distribution and up to ([\d.]+) about the pair.*?deviation of ([\d.]+) "
        r"points between instructions and of ([\d.]+) between seeds",
        " ".join(section.split()),
    )
    largest = [max(instructions.differences(of[each])) for each in (IID, OOD)]
    assert [float(each) for each in said] == pytest.approx(
        [*largest, *instructions.deviations(of[OOD])], abs=0.0501
    )


def test_a_run_on_the_same_instructions_is_the_same_run() -> None:
    rows = {}
    for name in ("results_instructions.csv", "results/first.csv"):
        with (DOCS / name).open(newline="") as file:
            rows[name] = [
                {key: value for key, value in row.items() if key != "instructions"}
                for row in csv.DictReader(file)
                if row["model"] == TRANSFORMER and row["run"] == "1" and row.get("instructions") != "AVX2"
            ]
    assert rows["results_instructions.csv"] == rows["results/first.csv"] != []


def test_published_results_are_those_of_their_provenance() -> None:
    """Each table of runs that an experiment published is whole, and says what made it."""
    published = sorted((DOCS / "results").glob("*.csv"))
    assert {path.stem for path in published} == {path.stem for path in (DOCS / "results").glob("*.json")}
    for path in published:
        about = json.loads(path.with_suffix(".json").read_text())
        assert about["results_sha256"] == sha256(path.read_bytes()).hexdigest(), path.name
        assert about["experiment"]["file"] == f"{path.stem}.toml"
        assert all({"made_with", "threads"} <= {*each} for each in about["runs"]), path.name
        assert all("manifest_sha256" in each for each in about["datasets"]), path.name


def test_each_section_of_results_names_its_runs() -> None:
    for section in (DOCS / "results.md").read_text().split("\n## ")[1:]:
        files = re.findall(r"\]\((results[\w/-]*\.csv)\)", section)
        assert files, section.splitlines()[0]
        assert all((DOCS / name).is_file() for name in files)
