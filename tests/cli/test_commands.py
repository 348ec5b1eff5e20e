"""The commands as a script sees them: JSON on standard output, seeds, summaries."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from building import Cli

from clevrhope.dataset.question_table import read_table
from clevrhope.pipeline.images import PoolWork
from clevrhope.sources.official.names import official_file
from clevrhope.splits.hops import HOP_GROUPS, paper_hops
from wording import check_words

QUICK = ["--hop", "rubber_cylinder", "--no-render"]


def test_hops_lists_the_29_with_types_and_diversity(cli: Cli) -> None:
    out, _ = cli("hops", "--json")
    rows = json.loads(out)
    assert [row["hop"] for row in rows] == [hop.name for hop in paper_hops()]
    check_words(json.dumps(rows[4]))
    assert sorted(row["official_number"] for row in rows) == list(range(29))
    assert {row["hop"] for row in rows if row["official_number"] < 6} == set(HOP_GROUPS["first6"])
    words, _ = cli("hops")
    assert len(words.splitlines()) == 30
    assert re.search(r"^small_purple .* HOP28  \('small', 'purple', None, None\)$", words, re.MULTILINE)
    for row in rows:  # the reader of official files knows each by its name
        path = Path(f"no_text_no_vis_{row['official_values']}_v1.0_ques/test_questions.h5")
        file = official_file(path)
        assert file is not None
        assert (file.hop, file.number) == (row["hop"], row["official_number"])


def test_build_prints_one_json_object_and_nothing_else(tmp_path: Path, cli: Cli) -> None:
    out, err = cli("build", *QUICK, "--out", tmp_path / "a", "--seed", 3, "--json", "--quiet")
    summary = json.loads(out)
    assert err == ""
    assert summary["seed"] == 3
    assert summary["splits"]["rubber_cylinder"]["train"]["questions"] == 162
    assert summary["splits"]["rubber_cylinder"]["complex_ood"]["images"] == 12
    assert Path(summary["contact_sheet"]).is_file()


@pytest.mark.parametrize(
    ("words", "stages"),
    [
        ("plan --no-render --hop rubber_cylinder --out {0}", "Looking at scenes, Timing this machine"),
        (
            "build --no-render --hop rubber_cylinder --out {0}",
            "Generating rubber_cylinder train, Measuring splits, Writing pages",
        ),
        ("baseline {0} --kind majority --out {1}/answers.jsonl", "Answering"),
    ],
    ids=["plan", "build", "baseline"],
)
def test_the_stages_are_shown_in_order_unless_quiet(
    words: str, stages: str, tmp_path: Path, cli: Cli
) -> None:
    folder = tmp_path / "data"
    asked = words.format(folder, tmp_path).split()
    if asked[0] == "baseline":
        cli("build", *QUICK, "--out", folder, "--quiet")
    shown = cli(*asked).err
    places = [shown.find(f"{stage}: ") for stage in stages.split(", ")]
    assert -1 not in places, shown
    assert places == sorted(places)
    assert cli(*asked, "--quiet").err == ""


def test_the_summary_says_where_to_look(tmp_path: Path, cli: Cli) -> None:
    out = cli("build", *QUICK, "--out", tmp_path / "a", "--seed", 3).out
    assert str(tmp_path / "a" / "index.html") in out
    assert "DATASHEET.md" in out


def test_a_seed_is_drawn_printed_recorded_and_kept(tmp_path: Path, cli: Cli) -> None:
    refused = cli("build", *QUICK, "--out", tmp_path / "a", "--splits", "trian", code=2)
    assert "seed" not in "".join(refused)
    out, _ = cli("build", *QUICK, "--out", tmp_path / "a", "--splits", "complex_ood")
    seed = json.loads((tmp_path / "a" / "manifest.json").read_text())["seed"]
    assert f"--seed {seed}" in out
    out, _ = cli("build", *QUICK, "--out", tmp_path / "a", "--json")
    assert json.loads(out)["seed"] == seed


def test_the_summary_tells_what_is_kept_and_lists_the_pairs_asked_for(tmp_path: Path, cli: Cli) -> None:
    cli("build", *QUICK, "--hop", "red_cube,large_metal", "--out", tmp_path / "a", "--seed", 3)
    less = [*QUICK, "--train-questions", 9]
    out, _ = cli("build", *less, "--out", tmp_path / "a")
    assert "rubber_cylinder train: the 162 existing questions are kept, more than the 9 asked for" in out
    assert out.count("DATASHEET.md") == 1
    assert "hops/rubber_cylinder/DATASHEET.md" in out
    assert "no images yet" in out


def test_a_plan_renders_nothing_where_nothing_is_missing(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "clevrhope.pipeline.forecast.missing_images",
        lambda used, layout: [PoolWork(pool, indices, indices[:0]) for pool, indices in used.items()],
    )
    monkeypatch.setattr("clevrhope.pipeline.forecast.open_renderer", None)
    cli("build", *QUICK, "--out", tmp_path / "a", "--seed", 3)
    asked = [word for word in QUICK if word != "--no-render"]
    out, _ = cli("plan", *asked, "--out", tmp_path / "a", "--json")
    assert json.loads(out)["images_to_render"] == 0
    assert json.loads(out)["seconds"] is not None
    assert json.loads(out)["seconds_per_image"] is None


def test_the_number_of_questions_can_be_chosen(tmp_path: Path, cli: Cli) -> None:
    few = ["--train-questions", 25, "--test-questions", 20, "--splits", "train,complex_iid"]
    out = cli("build", *QUICK, *few, "--splits", "complex_ood", "--out", tmp_path / "a", "--json").out
    splits = json.loads(out)["splits"]["rubber_cylinder"]
    numbers = {name: entry["questions"] for name, entry in splits.items()}
    assert numbers == {"train": 25, "complex_iid": 20, "complex_ood": 20}


def test_plan_counts_what_build_makes_and_writes_nothing(tmp_path: Path, cli: Cli) -> None:
    choices = [*QUICK, "--hop", "cyan_cylinder", "--out", tmp_path / "a", "--seed", 3, "--json"]
    planned = json.loads(cli("plan", *choices)[0])
    assert not (tmp_path / "a").exists()
    made = json.loads(cli("build", *choices)[0])
    assert (planned["questions"], planned["scenes"]) == (made["questions"], made["scenes"])
    for split in planned["splits"]:
        entry = made["splits"][split["hop"]][split["split"]]
        assert (split["questions"], split["images"]) == (entry["questions"], entry["images"])
    assert planned["exact"]
    assert 0.5 < planned["bytes"] / made["bytes"] < 2


@pytest.mark.slow
def test_a_plan_that_drew_its_seed_says_how_a_build_gets_the_same(tmp_path: Path, cli: Cli) -> None:
    out, _ = cli("plan", *QUICK, "--out", tmp_path / "a")
    (seed,) = re.findall(r"to build this dataset: clevrhope build .* --seed (\d+)$", out, re.MULTILINE)
    planned = json.loads(cli("plan", *QUICK, "--out", tmp_path / "a", "--seed", seed, "--json")[0])
    made = json.loads(cli("build", *QUICK, "--out", tmp_path / "a", "--seed", seed, "--json")[0])
    assert planned["seed"] == made["seed"] == int(seed)
    assert planned["scenes"] == made["scenes"]
    assert f", {made['scenes']} scenes" in out or f"on {made['scenes']} scenes" in out
    for given in (["--out", tmp_path / "a"], ["--out", tmp_path / "b", "--seed", 1]):
        assert "was drawn" not in cli("plan", *QUICK, *given)[0], "the folder's, or the one given"


@pytest.mark.slow
def test_a_plan_counts_the_images_that_pairs_share(tmp_path: Path, cli: Cli) -> None:
    both = ["--hop", "cyan_cylinder,large_rubber", "--no-render", "--out", tmp_path / "a"]
    planned, _ = cli("plan", *both, "--seed", 3, "--json")
    plan = json.loads(planned)
    cli("build", *both, "--seed", 3)
    used = {
        hop: {
            (table.pool, int(index))
            for table in map(read_table, (tmp_path / "a" / "hops" / hop).glob("*.h5"))
            for index in table.scenes
        }
        for hop in ("cyan_cylinder", "large_rubber")
    }
    assert plan["hops"] == {hop: len(each) for hop, each in used.items()}
    shared = len(set.union(*used.values()))
    assert plan["scenes"] == shared
    assert plan["pairs_an_image"] == pytest.approx(sum(map(len, used.values())) / shared, abs=1e-3)
    words, _ = cli("plan", *both, "--seed", 3)
    assert "if pairs shared none" in words


@pytest.mark.slow
def test_a_plan_of_the_paper_agrees_with_its_numbers(tmp_path: Path, cli: Cli) -> None:
    """All 29 pairs: 319,000 train images, 68,400, 63,600, and 20,928 of one object, as a simulation gives."""
    pairs = [word for hop in paper_hops() for word in ("--hop", hop.name)]
    out, _ = cli("plan", *pairs, "--preset", "paper", "--no-render", "--seed", 1, "--json", "--out", tmp_path)
    planned = json.loads(out)
    pools = planned["pools"]
    assert pools["train"] == pytest.approx(319_000, rel=0.01)
    assert pools["test_iid"] == pytest.approx(68_400, rel=0.01)
    assert pools["test_ood"] == pytest.approx(63_600, rel=0.01)
    assert sum(n for pool, n in pools.items() if pool.startswith("minimal")) == 20_928
    questions = {
        split["split"]: split["questions"] for split in planned["splits"] if split["hop"] == "gray_cube"
    }
    assert questions == {
        "train": 560_000, "val_iid": 15_000, "complex_iid": 120_000, "complex_ood": 15_000,
        "minimal_iid": 9_968, "minimal_ood": 448,
    }  # fmt: skip


def test_without_arguments_the_help_is_printed_alone(cli: Cli) -> None:
    help_text = cli("--help").out
    assert help_text.startswith("Usage: clevrhope [OPTIONS] COMMAND")
    assert cli(code=2) == ("", help_text)


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    script = (
        "import sys\nfrom clevrhope.__main__ import run_command\ncode = run_command(['build', '--help'])\n"
        "heavy = {'numpy', 'h5py', 'rich', 'PIL', 'clevrhope._core'} & set(sys.modules)\n"
        "sys.exit(code or len(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--hop" in done.stdout
