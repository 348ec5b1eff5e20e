"""Scores of similarities of images and captions, against slow and obvious code and known numbers."""

import json
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from building import Cli

from clevrhope.dataset.captions import CaptionTable, meaning, write_captions
from clevrhope.errors import PredictionsError
from clevrhope.metrics.matching import score_captions
from clevrhope.metrics.results import Measure

COLORS, SHAPES = ("red", "blue", "green"), ("cube", "sphere", "cylinder")
HOP, G = "red_cube", 60

Floats = npt.NDArray[np.float64]


def matching_captions(n: int, rng: np.random.Generator) -> list[str]:
    """The captions of n groups in which two objects exchange their colors."""
    found = []
    for _ in range(n):
        (a, b), (x, y) = (rng.choice(names, 2, replace=False) for names in (COLORS, SHAPES))
        found += [f"a {a} {x} and a {b} {y}", f"a {b} {x} and a {a} {y}"]
    return found


def write_table(folder: Path, hop: str, split: str, captions: list[str], size: int) -> None:
    """Writes what scores read of a table; `folder` gets it beside those that it has."""
    n = len(captions) // size
    table = CaptionTable(hop, split, [["color", "red"], ["shape", "cube"]], n, size, "0" * 64)
    table.path(folder).parent.mkdir(parents=True, exist_ok=True)
    groups = np.repeat(np.arange(n, dtype=np.int32), size)
    pq.write_table(pa.table({"caption": captions, "group": groups, "place": groups}), table.path(folder))
    there = (
        json.loads((folder / "captions.json").read_text())["tables"]
        if folder.joinpath("captions.json").exists()
        else []
    )
    write_captions(folder, {}, [*(CaptionTable(**row) for row in there), table])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two tables of 60 groups, of which 'matching_ood' comes first."""
    rng = np.random.default_rng(1)
    for split in ("matching_ood", "matching_iid"):
        write_table(tmp_path / "captions", HOP, split, matching_captions(G, rng), 2)
    return tmp_path / "captions"


def captions_of(folder: Path, split: str = "matching_ood") -> list[str]:
    found: list[str] = pq.read_table(folder / HOP / f"{split}.parquet")["caption"].to_pylist()
    return found


def scored(folder: Path, bootstrap: int = 0, **arrays: npt.NDArray[Any]) -> dict[str, dict[str, Measure]]:
    path = folder.parent / "similarities.npz"
    np.savez(path, **arrays)
    found = score_captions(folder, [path], seed=1, bootstrap=bootstrap).scores[HOP]
    return {name: dict(measures) for name, measures in found.items()}


def bags(texts: list[str]) -> Floats:
    """(N, words) how often each text has each word."""
    words = sorted({word for text in texts for word in text.split()})
    return np.array([[text.split().count(word) for word in words] for text in texts], dtype=np.float64)


@pytest.mark.parametrize("blind", ["text", "image", "both"])
def test_bags_of_words_and_of_values_are_right_in_half_of_the_comparisons(folder: Path, blind: str) -> None:
    """Whatever the other side sees; whole numbers, so that equal sums are equal."""
    captions, rng = captions_of(folder), np.random.default_rng(2)
    bag = bags(captions)
    sees = rng.integers(-9, 9, size=(len(captions), bag.shape[1])).astype(np.float64)
    of_images, of_texts = {"text": (sees, bag), "image": (bag, sees), "both": (bag, bag)}[blind]
    for form in (of_images @ of_texts.T, blocks_of(of_images @ of_texts.T, 2)):
        found = scored(folder, matching_ood=form)["matching_ood"]
        assert found["pairwise"].value == 50
        assert found["group"].value == 0


def blocks_of(matrix: Floats, n: int) -> Floats:
    """(G, n, n) the similarities within groups."""
    return np.stack([matrix[k : k + n, k : k + n] for k in range(0, len(matrix), n)])


@pytest.mark.parametrize("n", [2, 4])
def test_scores_are_those_of_slow_and_obvious_code(tmp_path: Path, n: int) -> None:
    rng = np.random.default_rng(3)
    captions = matching_captions(2 * G, rng)[: n * 20]
    split = "matching_ood" if n == 2 else "minimal_ood"
    write_table(tmp_path / "captions", HOP, split, captions, n)
    matrix = rng.integers(0, 6, size=(len(captions), len(captions))).astype(np.float64)  # many ties
    found = scored(tmp_path / "captions", **{split: matrix})[split]
    expected = slow_scores(matrix, captions, n)
    assert {name: measure.value for name, measure in found.items()} == pytest.approx(expected)
    of_groups = scored(tmp_path / "captions", **{split: blocks_of(matrix, n)})[split]
    assert {name: measure.value for name, measure in of_groups.items()} == pytest.approx(
        {name: expected[name] for name in ("pairwise", "text", "image", "group")}
    )


def slow_scores(s: Floats, captions: list[str], n: int) -> dict[str, float]:
    won, text, image, group = [], [], [], []
    for begin in range(0, len(s), n):
        rows = range(begin, begin + n)
        others = [(i, j) for i, j in product(rows, rows) if i != j]
        for i, j in others:
            won += [
                (s[i, i] > s[i, j]) + (s[i, i] == s[i, j]) / 2,
                (s[i, i] > s[j, i]) + (s[i, i] == s[j, i]) / 2,
            ]
        text.append(all(s[i, i] > s[i, j] for i, j in others))
        image.append(all(s[i, i] > s[j, i] for i, j in others))
        group.append(text[-1] and image[-1])
    found = {"pairwise": won, "text": text, "image": image, "group": group}
    for to, matrix in (("text", s), ("image", s.T)):
        for k in (1, 5):
            found[f"{to}_recall_{k}"] = [
                slow_hit(row, [meaning(each) == meaning(captions[i]) for each in captions], k)
                for i, row in enumerate(matrix)
            ]
    return {name: 100 * float(np.mean(values)) for name, values in found.items()}


def slow_hit(row: Floats, is_right: list[bool], k: int) -> float:
    """How often one of the k nearest is right, over 2,000 random orders of what ties."""
    values = sorted(set(row.tolist()), reverse=True)
    left, miss = k, 1.0
    for value in values:
        tied = [is_right[j] for j in np.flatnonzero(row == value)]
        for drawn in range(min(left, len(tied))):
            miss *= max(0, tied.count(False) - drawn) / (len(tied) - drawn)
        left -= min(left, len(tied))
    return 1 - miss


def test_a_recall_among_ties_is_that_of_all_their_orders() -> None:
    row, right = np.array([2.0, 1, 1, 1, 0]), [False, True, False, False, True]
    for k in range(1, 5):
        hits = [
            any(right[j] for j in sorted(order, key=lambda j: -row[j])[:k])
            for order in permutations(range(5))
        ]
        assert slow_hit(row, right, k) == pytest.approx(np.mean(hits))


@pytest.mark.parametrize(("n", "split"), [(2, "matching_ood"), (4, "minimal_ood")])
def test_random_similarities_score_as_by_chance(tmp_path: Path, n: int, split: str) -> None:
    rng, groups = np.random.default_rng(4), 20_000
    write_table(tmp_path / "captions", HOP, split, ["a cube"] * (n * groups), n)
    rows = scored(tmp_path / "captions", **{split: rng.normal(size=(groups, n, n))})
    for name, chance in rows[f"{split} by chance"].items():
        assert chance.value is not None
        assert rows[split][name].value == pytest.approx(chance.value, abs=1)
    if n == 2:
        chances = [rows[f"{split} by chance"][name].value for name in ("text", "image", "group")]
        assert chances == pytest.approx([25, 25, 100 / 6])


def test_gaps_share_the_draws_of_places(folder: Path) -> None:
    rng = np.random.default_rng(5)
    own = rng.normal(size=(G, 2, 2))
    changed = own.copy()
    changed[:4] = own[:4, ::-1]  # the images of four groups are exchanged, so right is wrong there
    found = scored(folder, 500, matching_ood=own, matching_iid=changed)
    gap, alone = (found[name]["pairwise"].interval for name in ("matching", "matching_ood"))
    assert gap is not None
    assert alone is not None
    assert gap.high - gap.low < alone.high - alone.low  # apart, they would be wider by the square root of 2
    found = scored(
        folder, 200, matching_ood=-np.tile(np.eye(2), (G, 1, 1)), matching_iid=np.tile(np.eye(2), (G, 1, 1))
    )
    assert found["matching"]["pairwise"].value == -100
    assert found["matching"]["pairwise"].interval


def test_files_of_all_forms_say_the_same(folder: Path, tmp_path: Path, cli: Cli) -> None:
    own = np.random.default_rng(6).normal(size=(G, 2, 2))
    np.savez(tmp_path / "a.npz", **{f"{HOP}.matching_iid": own})
    np.save(tmp_path / "matching_iid.npy", own.astype(np.float32))
    lines = [
        {"hop": HOP, "split": "matching_iid", "group": k, "similarities": rows.tolist()}
        for k, rows in reversed([*enumerate(own)])
    ]
    (tmp_path / "b.jsonl").write_text("".join(f"{json.dumps(line)}\n\n" for line in lines))
    said = [
        json.loads(cli("score", folder, tmp_path / name, "--seed", 1, "--json").out)
        for name in ("a.npz", "matching_iid.npy", "b.jsonl")
    ]
    assert said[0] == said[1] == said[2]
    assert said[0]["scores"][HOP]["matching_iid"]["pairwise"]["n"] == 4 * G
    text = cli("score", folder, tmp_path / "a.npz", "--seed", 1).out
    assert text.splitlines()[0].split() == [HOP, "matching_iid", "by", "chance"]
    assert text.splitlines()[4].split()[0] == "group"
    assert text.splitlines()[4].split()[-1] == "16.7"
    for option in (("--suite", "rad"), ("--covr-split", "has-quant")):
        assert "has captions" in cli("score", folder, tmp_path / "a.npz", *option, code=2).err


GOOD = np.zeros((G, 2, 2))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"matching_odd": GOOD}, r'"matching_odd" is no table \(did you mean'),
        (
            {"matching_ood": GOOD[1:]},
            r"matching_ood is float64 of shape \(59, 2, 2\); expected numbers of shape",
        ),
        ({"matching_ood": GOOD.astype(str)}, r"matching_ood is <U32 of shape"),
        (
            {"matching_ood": np.where(GOOD == 0, np.nan, 0)},
            r"matching_ood\[0, 0, 0\] is nan; expected a number",
        ),
        ({"matching_ood": GOOD, f"{HOP}.matching_ood": GOOD}, "similarities of red_cube.matching_ood twice"),
        ({"matching_ood": np.array([None])}, "not a file of arrays"),
        ({}, "no similarities of red_cube"),
    ],
)
def test_wrong_arrays_are_named(folder: Path, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(PredictionsError, match=message):
        scored(folder, **arrays)


LINE = {"split": "matching_ood", "group": 0, "similarities": [[1, 0], [0, 1]]}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([LINE], r"59 of 60 groups of red_cube.matching_ood are missing, first 1"),
        ([LINE, LINE], r"lines.jsonl:2: group 0 is there already"),
        ([{**LINE, "group": 60}], r"lines.jsonl:1: group 60 is not below 60"),
        ([{**LINE, "similarities": [[1, 0]]}], r"lines.jsonl:1: similarities should be 2 lists of 2 numbers"),
        ([{**LINE, "similarities": [[1, 0], [0, "1"]]}], r"lines.jsonl:1: similarities\[1\]\[1\] is"),
        ([{"split": "matching_ood"}], r"lines.jsonl:1: group is missing"),
        ([{**LINE, "split": "train"}], r'"train" is no table'),
    ],
)
def test_wrong_lines_are_named(folder: Path, tmp_path: Path, lines: list[Any], message: str) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with pytest.raises(PredictionsError, match=message):
        score_captions(folder, [path], seed=1)


def test_a_split_of_several_hops_needs_its_hop(folder: Path, tmp_path: Path) -> None:
    write_table(folder, "blue_cube", "matching_ood", captions_of(folder), 2)
    np.save(tmp_path / "matching_ood.npy", GOOD)
    with pytest.raises(
        PredictionsError, match=r'"matching_ood" is of several HOPs; there are: red_cube.matching_ood'
    ):
        score_captions(folder, [tmp_path / "matching_ood.npy"], seed=1)
