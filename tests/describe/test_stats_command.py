"""`clevrhope stats` as a user meets it: tables, JSON, plots, two folders side by side, and bad input."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from clevrhope.__main__ import run_command
from clevrhope.describe.stats.drawings import PLOTS
from clevrhope.splits.kinds import PAIR_SPLITS

Show = Callable[..., tuple[int, str, str]]


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Show:
    def run(*arguments: str | Path) -> tuple[int, str, str]:
        code = run_command(["stats", *map(str, arguments)])
        seen = capsys.readouterr()
        return code, seen.out, seen.err

    return run


def build(out: Path, hop: str, seed: int) -> Path:
    arguments = ["--hop", hop, "--no-render", "--seed", str(seed), "--quiet", "--out", str(out)]
    assert run_command(["build", *arguments]) == 0
    return out


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("stats") / "demo"
    build(out, "none", 4)
    return build(out, "rubber_cylinder", 4)


@pytest.fixture
def clevr(test_data: Path, tmp_path: Path) -> Path:
    """The real files that there are, laid out as CLEVR_v1.0 is."""
    root = tmp_path / "CLEVR_v1.0"
    for kind in ("questions", "scenes"):
        (root / kind).mkdir(parents=True)
        for split in ("train", "val"):
            name = f"CLEVR_{split}_{kind}.json"
            (root / kind / name).symlink_to(test_data / "real_clevr" / name)
    return root


def numbers(show: Show, *arguments: str | Path) -> dict[str, Any]:
    code, out, err = show(*arguments, "--json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def test_json_is_one_object_that_adds_up(demo: Path, show: Show) -> None:
    found = numbers(show, demo)
    assert set(found["hops"]) == {"none", "rubber_cylinder"}
    hop = found["hops"]["rubber_cylinder"]
    assert hop["held_out"] == {"material": "rubber", "shape": "cylinder"}
    assert tuple(hop["splits"]) == PAIR_SPLITS
    for split in hop["splits"].values():
        for key in ("answers", "answer_types", "files", "words", "functions", "relations_a_question"):
            assert sum(split[key].values()) == split["questions"], key
        assert sum(each["questions"] for each in split["families"]) == split["questions"]
        assert sum(split["objects_an_image"].values()) == split["images"]
        assert sum(split["values"].values()) == 4 * split["objects"]
        assert sum(each["objects"] for each in split["pairs"]) == 6 * split["objects"]
    assert hop["splits"]["train"]["questions"] == 162
    assert hop["splits"]["minimal_ood"]["baselines"]["most_frequent"] == 0.75
    names = [(each["a"], each["b"]) for each in hop["distances"]]
    assert names == [
        ("complex_ood", "complex_iid"),
        ("val_iid", "train"),
        ("complex_iid", "train"),
        ("minimal_ood", "minimal_iid"),
    ]


def test_a_split_is_no_distance_from_itself(demo: Path, tmp_path: Path, show: Show) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(demo, copy)
    found = numbers(
        show, demo, "--hop", "cylinder_rubber", "--splits", "train,complex_ood", "--against", copy
    )
    hop = found["hops"]["rubber_cylinder"]
    beside = {(each["a"], each["b"]): each["total_variation"] for each in hop["distances"]}
    assert list(beside) == [("train", "copy train"), ("complex_ood", "copy complex_ood")]
    for distances in beside.values():
        assert set(distances.values()) == {0.0}


def test_a_hop_is_set_beside_nothing_held_out_where_the_other_folder_lacks_it(
    demo: Path, tmp_path: Path, show: Show
) -> None:
    other = build(tmp_path / "plain", "none", 9)
    hop = numbers(show, demo, "--hop", "rubber_cylinder", "--against", other)["hops"]["rubber_cylinder"]
    assert list(hop["against"]) == ["plain none train", "plain none test"]


def test_the_distance_is_that_of_the_printed_counts(demo: Path, show: Show) -> None:
    hop = numbers(show, demo, "--hop", "rubber_cylinder")["hops"]["rubber_cylinder"]
    a, b = (hop["splits"][name]["objects_an_image"] for name in ("complex_ood", "complex_iid"))
    n_a, n_b = sum(a.values()), sum(b.values())
    by_hand = sum(abs(a.get(key, 0) / n_a - b.get(key, 0) / n_b) for key in {*a, *b}) / 2
    assert hop["distances"][0]["total_variation"]["objects"] == pytest.approx(by_hand, abs=1e-6)


def test_real_clevr_has_its_known_counts(clevr: Path, show: Show) -> None:
    splits = numbers(show, clevr)["hops"]["CLEVR"]["splits"]
    train, val = splits["train"], splits["val"]
    assert (train["questions"], train["images"], train["objects"]) == (40, 4, 28)
    assert (val["questions"], val["images"], val["objects"]) == (9, 1, 5)
    questions = json.loads((clevr / "questions" / "CLEVR_train_questions.json").read_text())["questions"]
    assert train["answers"]["yes"] == sum(each["answer"] == "yes" for each in questions)
    assert train["objects_an_image"] == {"3": 1, "6": 1, "9": 1, "10": 1}
    first = questions[0]  # "Are there more big green things than large purple shiny cubes?"
    assert first["question_family_index"] in {
        each["question_family_index"] for each in train["families"] if each["file"] == "compare_integer"
    }


def test_a_dataset_beside_real_clevr(demo: Path, clevr: Path, show: Show) -> None:
    hop = numbers(show, demo, "--hop", "rubber_cylinder", "--against", clevr)["hops"]["rubber_cylinder"]
    assert list(hop["against"]) == ["CLEVR train", "CLEVR val"]
    beside = [(each["a"], each["b"]) for each in hop["distances"]][-4:]
    assert beside == [
        ("train", "CLEVR train"),
        ("val_iid", "CLEVR val"),
        ("complex_iid", "CLEVR val"),
        ("complex_ood", "CLEVR val"),
    ]
    assert hop["against"]["CLEVR val"]["questions"] == 9


def test_tables_have_a_line_for_each_comparison_and_lose_no_digit(demo: Path, show: Show) -> None:
    code, out, _ = show(demo, "--hop", "rubber_cylinder", "--full")
    assert code == 0
    assert "…" not in out
    (line,) = [line for line in out.splitlines() if line.lstrip().startswith("complex_ood / complex_iid")]
    assert len(line.split()) == 3 + 10
    for title in ("What is in it", "Accuracy of guessing", "Families:", "Pairs of values:", "The held-out"):
        assert title in out


@pytest.mark.slow
def test_plots_are_there_show_something_and_have_the_same_bytes_again(
    demo: Path, tmp_path: Path, show: Show
) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        assert show(demo, "--hop", "rubber_cylinder", "--against", demo, "--plots", folder)[0] == 0
    names = sorted(path.relative_to(folders[0]).as_posix() for path in folders[0].rglob("*.png"))
    assert names == [f"rubber_cylinder/{kind}.png" for kind in sorted(PLOTS)]
    blue, orange = (0, 0x72, 0xB2), (0xD5, 0x5E, 0)
    for name in names:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
        with Image.open(folders[0] / name) as image:
            pixels = np.asarray(image.convert("RGB")).reshape(-1, 3)
        assert len(pixels) > 400_000
        assert 0.01 < (pixels != 255).any(axis=1).mean() < 0.6
        if "pairs" not in name:  # in- and out-of-distribution have their colours everywhere
            assert (pixels == blue).all(axis=1).sum() > 50
            assert (pixels == orange).all(axis=1).sum() > 50


@pytest.mark.slow
def test_one_object_sets_alone_can_be_drawn(demo: Path, tmp_path: Path, show: Show) -> None:
    code, out, _ = show(
        demo, "--hop", "rubber_cylinder", "--splits", "minimal_iid", "--plots", tmp_path / "p"
    )
    assert code == 0
    assert f"{len(PLOTS) - 1} plots in" in out  # nothing to compare


@pytest.mark.slow
def test_of_a_value_alone_only_plots_that_show_something_are_drawn(tmp_path: Path, show: Show) -> None:
    out = tmp_path / "values"
    asked = ["--prelim", "cyan", "--prelim-sets", "4", "--no-render", "--seed", "1", "--quiet"]
    assert run_command(["build", *asked, "--out", str(out)]) == 0
    assert show(out, "--plots", tmp_path / "p")[0] == 0
    drawn = {path.stem for path in (tmp_path / "p" / "prelim_cyan").iterdir()}
    assert drawn == {"answers", "baselines", "pairs", "values"}
    assert show(out, "--datasheet")[1].startswith("4 plots in 1 datasheet:")
    assert audited(out) == 0


@pytest.mark.slow
def test_a_clevr_folder_alone_can_be_drawn(clevr: Path, tmp_path: Path, show: Show) -> None:
    assert show(clevr, "--plots", tmp_path / "p")[0] == 0
    assert (tmp_path / "p" / "CLEVR" / "answers.png").stat().st_size > 10_000


def fails(show: Show, *arguments: str | Path) -> tuple[int, str]:
    code, out, err = show(*arguments, "--json")
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("clevrhope: ")
    return code, err


NOT_THERE: tuple[tuple[str, str, str], ...] = (
    ("nothing", "", "no such folder"),
    ("nothing", "", "or a CLEVR_v1.0 folder"),
    ("empty", "", "not a dataset of clevrhope or of CLEVR (it has no manifest.json)"),
    (
        "demo",
        "--hop cyan_cylinder",
        'no HOP "cyan_cylinder" (did you mean "rubber_cylinder"?); there are: none, rubber_cylinder',
    ),
    ("demo", "--hop rubber_cylindr", 'did you mean "rubber_cylinder"?'),
    ("demo", "--splits trian", 'no split "trian"; it has train'),
    (
        "demo",
        "--hop rubber_cylinder --splits minimal_iid,minimal_ood --against {clevr}",
        "it has no split to compare with rubber_cylinder",
    ),
    ("clevr", "--hop rubber_cylinder", "a CLEVR folder has no sub-datasets"),
    ("clevr", "--datasheet", "not a dataset of clevrhope (it has no manifest.json)"),
    ("demo", "--plots {demo}/plots", "--datasheet"),
    ("demo", "--datasheet --splits train", "leave out --splits"),
)
"""Folder, arguments, and part of the sentence that says why there are no statistics."""


@pytest.mark.parametrize(("folder", "arguments", "says"), NOT_THERE)
def test_what_is_not_there_is_a_sentence(
    demo: Path, clevr: Path, tmp_path: Path, show: Show, folder: str, arguments: str, says: str
) -> None:
    folders = {"demo": demo, "clevr": clevr, "empty": tmp_path, "nothing": tmp_path / "nothing"}
    code, error = fails(show, folders[folder], *arguments.format_map(folders).split())
    assert code == 2
    assert says in error
    assert not (demo / "plots").exists()


@pytest.mark.parametrize(
    ("kind", "keep", "says"),
    [
        ("questions", 0.5, r"questions[19]: broken JSON"),
        ("questions", -1, r"questions[40]: broken JSON (after the list"),
        ("scenes", 0.3, r"scenes[5]: broken JSON"),
        ("scenes", 0.0, 'no list "scenes" in it'),
    ],
)
def test_files_that_were_cut_off(clevr: Path, show: Show, kind: str, keep: float, says: str) -> None:
    path = clevr / kind / f"CLEVR_train_{kind}.json"
    whole = path.read_text()
    path.unlink()
    path.write_text(whole[:-1] if keep < 0 else whole[: int(keep * len(whole))])
    code, error = fails(show, clevr, "--splits", "train")
    assert code == 1
    assert says in error
    assert str(path) in error


def test_questions_without_answers(clevr: Path, show: Show) -> None:
    path = clevr / "questions" / "CLEVR_val_questions.json"
    content = json.loads(path.read_text())
    del content["questions"][2]["answer"]
    path.unlink()
    path.write_text(json.dumps(content))
    code, error = fails(show, clevr)
    assert code == 1
    assert "questions[2].answer is missing; expected a value; take CLEVR's train or val" in error


@pytest.mark.parametrize("keep", [None, 3000])
def test_measurements_that_were_lost_or_cut_off(
    demo: Path, tmp_path: Path, show: Show, keep: int | None
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(demo, copy)
    path = copy / "hops" / "rubber_cylinder" / "measured.json"
    content = path.read_bytes()
    path.unlink()
    if keep is not None:
        path.write_bytes(content[:keep])
    code, error = fails(show, copy)
    assert (code, str(path) in error) == (1, True)
    assert error.endswith("; run the dataset's build again to measure its files\n")


def test_plots_without_matplotlib_name_the_extra(
    demo: Path, tmp_path: Path, show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, error = fails(show, demo, "--plots", tmp_path / "p")
    assert code == 2
    assert "pip install 'clevrhope[plots]'" in error
    assert not (tmp_path / "p").exists()


def test_a_file_where_the_plots_should_go(demo: Path, tmp_path: Path, show: Show) -> None:
    (tmp_path / "p").write_text("")
    code, error = fails(show, demo, "--plots", tmp_path / "p")
    assert code == 1
    assert "a file is in the way of a folder" in error


def datasheet(root: Path, hop: str) -> Path:
    return root / "hops" / hop / "DATASHEET.md"


def audited(root: Path) -> int:
    return run_command(["audit", str(root), "--quiet"])


@pytest.mark.slow
def test_plots_are_drawn_into_the_datasheet_and_dropped_when_what_they_show_changes(
    demo: Path, tmp_path: Path, show: Show
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(demo, copy)
    sheet, other = datasheet(copy, "rubber_cylinder"), datasheet(copy, "none")
    plain = sheet.read_text()
    assert ".png" not in plain
    code, out, _ = show(copy, "--datasheet")
    assert (code, out.startswith(f"{2 * len(PLOTS)} plots in 2 datasheets")) == (0, True)
    for kind in PLOTS:
        assert f"![{kind}](plots/{kind}.png)" in sheet.read_text()
        assert (sheet.parent / "plots" / f"{kind}.png").is_file()
    drawn = sheet.read_text()
    assert audited(copy) == 0, "every plot is in the manifest"

    build(copy, "metal_cube", 4)
    assert sheet.read_text().count(".png") == len(PLOTS), "what they show is as it was"
    assert ".png" not in datasheet(copy, "metal_cube").read_text()
    grown = [
        "build",
        "--hop",
        "none",
        "--train-questions",
        "400",
        "--no-render",
        "--quiet",
        "--out",
        str(copy),
    ]
    assert run_command(grown) == 0
    assert ".png" not in other.read_text()
    assert not (other.parent / "plots").exists()
    assert sheet.read_text().count(".png") == len(PLOTS)
    assert audited(copy) == 0

    # Drawn again, they are the same; a run that was killed between leaves what the next build mends.
    shutil.rmtree(copy)
    shutil.copytree(demo, copy)
    assert show(copy, "--datasheet", "--hop", "cylinder_rubber")[0] == 0
    assert sheet.read_text() == drawn
    plots = sheet.parent / "plots"
    before = set(plots.iterdir())
    (plots / ".clevrhope-answers.png.partial").write_bytes(b"of a killed run")
    (plots / "mine.png").write_bytes(b"a user's own")
    build(copy, "rubber_cylinder", 4)
    assert set(plots.iterdir()) == {*before, plots / "mine.png"}
    (plots / "mine.png").unlink()
    assert audited(copy) == 0


@pytest.mark.slow
def test_a_killed_drawing_is_mended_by_the_next_build(
    demo: Path, tmp_path: Path, show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(demo, copy)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("clevrhope.describe.stats.plots.write_datasheet", killed)
        assert show(copy, "--datasheet")[0] == 130
    assert not json.loads((copy / "manifest.json").read_text())["complete"], "an audit refuses it"
    code, error = fails(show, copy, "--datasheet")
    assert (code, "not finished yet; run the dataset's build again" in error) == (1, True)
    build(copy, "rubber_cylinder", 4)
    assert audited(copy) == 0
    assert {path.name for path in copy.rglob("*.png")} == set()


def test_values_held_out_together_are_shown_pair_by_pair(tmp_path: Path, show: Show) -> None:
    code, out, _ = show(build(tmp_path / "wide", "metal_red_cube", 2))
    assert code == 0
    table = out[out.index("Pairs among the values held out together") :]
    rows = [line.split() for line in table.splitlines() if "%" in line]
    assert {tuple(row[:2]) for row in rows} == {("red", "metal"), ("red", "cube"), ("metal", "cube")}
