"""What a visitor sees first: README's numbers come from committed files, its links from one setting."""

import csv
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from clevrhope.experiments.reading import shipped_experiments

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
README = (REPOSITORY / "README.md").read_text("utf-8")
TUTORIAL = (DOCS / "tutorial.md").read_text("utf-8")

if str(DOCS) not in sys.path:
    sys.path.append(str(DOCS))

from urls import main, with_links  # noqa: E402

from benchmarks.shared_questions import read_scores  # noqa: E402
from benchmarks.slopes_by_cluster import by_cluster, over_clusters, slopes_of  # noqa: E402

HOUR = DOCS / "results_hour.csv"
"""Every run of the experiment hour, from which the figures and the numbers are."""


def means(model: str, split: str, diversity: int, trained_on: str = "") -> tuple[float, int]:
    """The mean accuracy of the runs of the experiment hour at their end, in per cent, and their number."""
    with HOUR.open() as file:
        found = [
            float(row["mean_percent"])
            for row in csv.DictReader(file)
            if (row["model"], row["metric"], row["split"]) == (model, "accuracy", split)
            and (row["hop"], row["checkpoint"]) == (f"cyan_cylinder-d{diversity}", "last")
            and (row["trained_on"], row["dataset"]) == (trained_on, f"hour-{row['run']}")
        ]
    return float(np.mean(found)), len(found)


def test_the_result_is_that_of_the_committed_file() -> None:
    result = README.partition("## What was found")[2].partition("\n## ")[0]
    said = [float(number) for number in re.findall(r"([\d.]+)%", result)]
    of_pair = [
        means("object_transformer", "complex_ood", 4, on)
        for on in ("", "cyan_cylinder-d8", "cyan_cylinder-d16")
    ]
    first = [
        means("object_transformer", "complex_iid", 4),
        of_pair[0],
        means("question_only", "complex_ood", 4),
    ]
    measured = [*first, *of_pair[1:]]
    assert len({n for _, n in measured}) == 1
    assert measured[0][1] >= 8
    assert [number for number in said if number != 95] == [round(value, 1) for value, _ in measured]
    scores = read_scores(HOUR, model="object_transformer", asked="cyan_cylinder-d4")
    clusters = by_cluster(slopes_of(scores), "cyan_cylinder")
    mean = over_clusters(clusters)
    found = [mean.value, mean.interval.low, mean.interval.high]
    (slope,) = re.findall(
        r"adds ([\d.]+) points \(95% interval ([\d.]+)\s+to ([\d.]+); p = ([\d.]+), the smallest that (\d+)",
        result,
    )
    expected = [*(round(each, 1) for each in found), round(mean.p_value, 3), len(clusters)]
    assert [float(number) for number in slope] == expected
    assert mean.p_value == pytest.approx(2 ** (1 - len(clusters)))


def test_the_first_experiment_is_a_part_of_hour() -> None:
    first, hour = (
        tomllib.loads(shipped_experiments()[name].read_text("utf-8")) for name in ("first", "hour")
    )
    for key in ("templates", "asks", "mentions", "values", "render"):
        assert first["dataset"][0][key] == hour["dataset"][0][key]
    assert first["dataset"][0]["config"]["world"] == hour["dataset"][0]["config"]["world"]
    updates = []
    for mine in first["model"]:
        theirs = next(each for each in hour["model"] if each["name"] == mine["name"])
        warmups = [each["set"].pop("recipe.warmup", 0) * each["updates"] for each in (mine, theirs)]
        assert warmups[0] == pytest.approx(warmups[1])
        assert mine["set"] == theirs["set"]
        assert mine["updates"] < theirs["updates"]
        updates.append(mine["updates"] * mine["set"]["recipe.batch_size"])
    assert updates[0] == updates[1], "both models see as many questions"
    assert updates[0] <= first["dataset"][0]["config"]["sizes"]["train"]


def test_readme_and_tutorial_give_the_same_commands_and_numbers_of_the_first_experiment() -> None:
    parts = [
        README.partition("## First use")[2].partition("\n## ")[0],
        TUTORIAL.partition("## A first result")[2].partition("\n## ")[0],
    ]
    blocks = [re.findall(r"```sh\n(.*?)```", part, re.DOTALL) for part in parts]
    assert len(blocks[0]) == 2
    assert blocks[0] == blocks[1]
    ours, theirs = (
        [re.findall(r"\b(\d\d\.\d)(?:%| \[)", line) for line in part.splitlines() if line.startswith("| ")]
        for part in parts
    )
    assert [row for row in ours if row] == [row[:2] for row in theirs if row]
    with (DOCS / "results" / "first.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "accuracy"]
    found = [
        [(row["mean_percent"], row["low"], row["high"]) for row in rows if row["model"] == model]
        for model in ("object_transformer", "question_only")
    ]
    assert [[f"{float(value):.1f}" for value, _, _ in of] for of in found] == [row for row in ours if row]
    for of_model in found:
        cells = (f"{float(value):.1f} [{float(low):.1f}, {float(high):.1f}]" for value, low, high in of_model)
        assert all(cell in parts[1] for cell in cells)


def test_links_follow_one_setting(tmp_path: Path) -> None:
    """Which is empty until the repository has an address; without one, all is as it was, byte for byte."""
    project = (REPOSITORY / "pyproject.toml").read_text("utf-8")
    bare = re.sub(r'(?m)^url = ".*"$', 'url = ""', project)
    assert bare.count('url = ""') == 1
    (tmp_path / "README.md").write_text(README, "utf-8")
    (tmp_path / "pyproject.toml").write_text(bare, "utf-8")
    main(tmp_path)
    unset = [(tmp_path / name).read_bytes() for name in ("README.md", "pyproject.toml")]
    assert b"[project.urls]" not in unset[1]

    for url in ("https://example.org/first/home/", "https://example.org/a/b"):
        text = (tmp_path / "pyproject.toml").read_text("utf-8")
        (tmp_path / "pyproject.toml").write_text(re.sub(r'(?m)^url = ".*"$', f'url = "{url}"', text), "utf-8")
        main(tmp_path)
    text = (tmp_path / "README.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    assert len(links) > 25
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert "(https://example.org/a/b/raw/main/docs/images/result.png)" in text
    assert "(https://example.org/a/b/blob/main/docs/tutorial.md)" in text
    assert "first/home" not in text
    urls = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    assert urls["Repository"] == "https://example.org/a/b"

    text = (tmp_path / "pyproject.toml").read_text("utf-8")
    (tmp_path / "pyproject.toml").write_text(re.sub(r'(?m)^url = ".*"$', 'url = ""', text), "utf-8")
    main(tmp_path)
    assert [(tmp_path / name).read_bytes() for name in ("README.md", "pyproject.toml")] == unset


def test_the_page_on_versions_lists_those_of_the_changelog() -> None:
    headings = re.findall(
        r"^## (\S+) \((.+)\)$", (REPOSITORY / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    listed = (
        (DOCS / "versions.md").read_text("utf-8").partition("\n## These pages\n")[2].partition("\n## ")[0]
    )
    assert headings
    assert re.findall(r"^\| (\d\S+) \| (\S+) \|", listed, re.MULTILINE) == headings


def test_readme_is_short_and_links_to_pages_that_exist() -> None:
    prose = re.sub(r"^```.*?^```$", "", with_links(README, ""), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\(((?!#|http)[^)#]+)", prose)
    assert len(links) > 20
    assert [link for link in links if not (REPOSITORY / link).exists()] == []
    assert README.count("\n") <= 125
