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
from clevrhope.splits.kinds import PAIR_SPLITS
from wording import check_words

Show = Callable[..., tuple[int, str, str]]
Fails = Callable[..., int]


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
def copy(demo: Path, tmp_path: Path) -> Path:
    """A copy of it that may be written to."""
    return Path(shutil.copytree(demo, tmp_path / "copy"))


@pytest.fixture
def clevr(test_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real files that there are, laid out as CLEVR_v1.0 is."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "CLEVR_v1.0"
    for kind in ("questions", "scenes"):
        (root / kind).mkdir(parents=True)
        for split in ("train", "val"):
            name = f"CLEVR_{split}_{kind}.json"
            (root / kind / name).symlink_to(test_data / "real_clevr" / name)
    return root


def numbers(show: Show, *arguments: str | Path) -> dict[str, Any]:
    code, out, err = show(*arguments, "--json")
    assert code == 0
    assert not err or "published files, imported once" in err
    found: dict[str, Any] = json.loads(out)
    return found


def compared(hop: dict[str, Any]) -> list[str]:
    return [f"{each['a']} / {each['b']}" for each in hop["distances"]]


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
    check_words("\n".join(compared(hop)))


def test_a_split_is_no_distance_from_itself(demo: Path, copy: Path, show: Show) -> None:
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
    splits = numbers(show, clevr)["hops"]["none"]["splits"]
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
    assert list(hop["against"]) == ["CLEVR_v1.0 none train", "CLEVR_v1.0 none val"]
    check_words("\n".join(compared(hop)))
    assert hop["against"]["CLEVR_v1.0 none val"]["questions"] == 9


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
    from clevrhope.describe.stats.plots import KINDS

    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        assert show(demo, "--hop", "rubber_cylinder", "--against", demo, "--plots", folder)[0] == 0
    names = sorted(path.relative_to(folders[0]).as_posix() for path in folders[0].rglob("*.png"))
    assert names == [f"rubber_cylinder/{kind}.png" for kind in sorted(KINDS)]
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
    assert "7 plots in" in out


@pytest.mark.slow
def test_a_value_alone_can_be_drawn(tmp_path: Path, show: Show) -> None:
    out = tmp_path / "values"
    asked = ["--prelim", "cyan", "--prelim-sets", "4", "--no-render", "--seed", "1", "--quiet"]
    assert run_command(["build", *asked, "--out", str(out)]) == 0
    assert show(out, "--plots", tmp_path / "p")[0] == 0
    assert len([*(tmp_path / "p" / "prelim_cyan").iterdir()]) == 7


@pytest.mark.slow
def test_a_clevr_folder_alone_can_be_drawn(clevr: Path, tmp_path: Path, show: Show) -> None:
    assert show(clevr, "--plots", tmp_path / "p")[0] == 0
    assert (tmp_path / "p" / "none" / "answers.png").stat().st_size > 10_000


@pytest.fixture
def fails(show: Show) -> Fails:
    """Checks that a command fails with the sentence of the snapshot; gives its exit code."""

    def run(*arguments: str | Path) -> int:
        code, out, err = show(*arguments, "--json")
        problems = [line for line in err.splitlines() if line.startswith("clevrhope: ")]
        assert (out, len(problems)) == ("", 1)
        check_words(problems[0])
        return code

    return run


NOT_THERE = (
    ("nothing", ""),
    ("empty", ""),
    ("demo", "--hop cyan_cylinder"),
    ("demo", "--hop rubber_cylindr"),
    ("demo", "--splits trian"),
    ("demo", "--hop rubber_cylinder --splits minimal_iid,minimal_ood --against {clevr}"),
    ("clevr", "--hop rubber_cylinder"),
    ("demo", "--plots {demo}/plots"),
)
"""Folder, and arguments for which there are no statistics."""


@pytest.mark.parametrize(("folder", "arguments"), NOT_THERE)
def test_what_is_not_there_is_a_sentence(
    demo: Path, clevr: Path, tmp_path: Path, fails: Fails, folder: str, arguments: str
) -> None:
    folders = {"demo": demo, "clevr": clevr, "empty": tmp_path, "nothing": tmp_path / "nothing"}
    assert fails(folders[folder], *arguments.format_map(folders).split()) == 2
    assert not (demo / "plots").exists()


@pytest.mark.parametrize("keep", [None, 3000])
def test_measurements_that_were_lost_or_cut_off(copy: Path, fails: Fails, keep: int | None) -> None:
    path = copy / "hops" / "rubber_cylinder" / "measured.json"
    content = path.read_bytes()
    path.unlink()
    if keep is not None:
        path.write_bytes(content[:keep])
    assert fails(copy) == 1


def test_plots_without_matplotlib_name_the_extra(
    demo: Path, tmp_path: Path, fails: Fails, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert fails(demo, "--plots", tmp_path / "p") == 2
    assert not (tmp_path / "p").exists()


def test_a_file_where_the_plots_should_go(demo: Path, tmp_path: Path, fails: Fails) -> None:
    (tmp_path / "p").write_text("")
    assert fails(demo, "--plots", tmp_path / "p") == 1


@pytest.mark.parametrize(
    ("name", "drawn"), [("红色", r"\u7ea2\u8272"), ("🎲", r"\U0001f3b2"), ("é", "é"), (r"$\foo$", r"$\foo$")]
)
def test_letters_that_the_font_does_not_have_are_drawn_as_escapes(name: str, drawn: str) -> None:
    """Without matplotlib's warnings, and without its notation for formulas."""
    charts = pytest.importorskip(
        "clevrhope.describe.stats.charts", reason="needs matplotlib: pip install 'clevrhope[plots]'"
    )

    def chart(text: str) -> bytes:
        with charts.figure(text, width_in=4, height_in=3) as figure:
            axes = figure.subplots()
            axes.plot([0, 1], label=text)
            axes.legend()
            axes.set_xticks([0, 1], [text, "b"])
            return bytes(charts.png(figure))

    assert chart(name) == chart(drawn) != chart("?")


@pytest.mark.slow
def test_plots_are_drawn_through_no_link(demo: Path, tmp_path: Path, fails: Fails) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "p").mkdir()
    (tmp_path / "p/rubber_cylinder").symlink_to(tmp_path / "elsewhere")
    assert fails(demo, "--hop", "rubber_cylinder", "--plots", tmp_path / "p") == 1
    assert not any((tmp_path / "elsewhere").iterdir())


def test_values_held_out_together_are_shown_pair_by_pair(tmp_path: Path, show: Show) -> None:
    code, out, _ = show(build(tmp_path / "wide", "metal_red_cube", 2))
    assert code == 0
    table = out[out.index("Pairs among the values held out together") :]
    rows = [line.split() for line in table.splitlines() if "%" in line]
    assert {tuple(row[:2]) for row in rows} == {("red", "metal"), ("red", "cube"), ("metal", "cube")}
