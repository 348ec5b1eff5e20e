"""Train sets with questions of a suite: ten to one, prefixes that hold, the held-out pair in none of them."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from building import Cli, request, tree
from suite_folders import own_suite

from clevrhope.audit import audit
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.question_kinds import ADDED
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.suite_questions import rows_of_added, rows_of_own
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError, TemplateError
from clevrhope.pipeline import build
from clevrhope.pipeline.suites import make_suite
from wording import check_refused, check_words

HOP = "rubber_cylinder"
SIZES = {"train": 1205, "complex_iid": 90}


def make(out: Path, **sizes: int) -> Path:
    """A folder with a pair and `none`, without images."""
    splits = ("train", "complex_iid")
    build(request(out, hops=(HOP, "none"), splits=splits, render=False, sizes={**SIZES, **sizes}))
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With train sets of both suites, and the pairs of one."""
    out = make(tmp_path_factory.mktemp("augmentation") / "data")
    make_suite(out, "carets")
    for suite in ("carets", "rad"):
        make_suite(out, suite, train=True)
    return out


def columns(folder: Path, suite: str, hop: str = HOP) -> dict[str, Any]:
    with h5py.File(Layout(folder).suite_h5(hop, suite, f"train_{suite}")) as file:
        return {**{name: file[name][:] for name in file}, "tests": list(file.attrs["tests"])}


@pytest.mark.parametrize("suite", ["carets", "rad"])
@pytest.mark.parametrize("hop", [HOP, "none"])
def test_one_question_follows_every_ten_of_the_train_set(made: Path, suite: str, hop: str) -> None:
    layout, rows = Layout(made), columns(made, suite, hop)
    own = read_table(layout.questions_h5(hop, "train"))
    n = len(own)
    assert n == SIZES["train"]
    assert len(rows["answers"]) == n + 120
    is_added = np.arange(n + 120) % 11 == 10
    np.testing.assert_array_equal(rows["test"] >= 0, is_added)
    np.testing.assert_array_equal(np.flatnonzero(is_added), rows_of_added(n))
    np.testing.assert_array_equal(np.flatnonzero(~is_added), rows_of_own(n))
    for name, there in own.arrays().items():
        if name == "orig_idxs":  # a row's number, which grows by those of the added questions
            continue
        mine = rows[name][~is_added]
        np.testing.assert_array_equal(mine[:, : there.shape[1]] if there.ndim == 2 else mine, there)
    sources, images = rows["source_idxs"][is_added], rows["image_idxs"][is_added]
    assert (sources < 10 * np.arange(1, 121)).all()
    searched = sources < 0
    assert searched.any() == (suite == "carets")
    np.testing.assert_array_equal(images[~searched], own.image_idxs[sources[~searched]])
    for block in np.flatnonzero(searched).tolist():
        assert images[block] in own.image_idxs[: 10 * (block + 1)]
    vocab = read_vocab(layout.suite_vocab(hop, suite))
    assert (
        len(read_table(layout.suite_h5(hop, suite, f"train_{suite}"), ADDED, vocab=vocab).check()) == n + 120
    )
    asked = [row.tobytes() for row in rows["programs"][is_added]]
    pairs = set(zip(rows["test"][is_added].tolist(), sources.tolist(), images.tolist(), asked, strict=True))
    assert len(pairs) == 120


@pytest.mark.slow
def test_tests_take_turns_and_yes_is_no_answer_to_guess(tmp_path: Path) -> None:
    out = make(tmp_path / "larger", train=6000)
    for suite, rare in (("carets", {"converse", "antonym_relation"}), ("rad", set[str]())):
        make_suite(out, suite, hops=[HOP], train=True)
        rows = columns(out, suite)
        added = rows["test"] >= 0
        counts = Counter(rows["tests"][k] for k in rows["test"][added].tolist())
        assert len(counts) == len(rows["tests"]) == (46 if suite == "carets" else 10)
        of_frequent = {counts[name] for name in counts if name not in rare}
        assert max(of_frequent) - min(of_frequent) <= 1
        assert all(0 < counts[name] <= max(of_frequent) for name in rare)
        answers = read_vocab(Layout(out).suite_vocab(HOP, suite)).answer_token_to_idx
        for number, name in enumerate(rows["tests"]):
            mine = Counter(rows["answers"][added & (rows["test"] == number)].tolist())
            n_yes, n_no = mine[answers["yes"]], mine[answers["no"]]
            if suite == "rad":
                of_value = Counter(rows["value"][added & (rows["test"] == number)].tolist())
                assert 0 <= n_yes - n_no <= len(of_value)
            elif name in ("negation", "ontology", "extension_color", "fewer_more", "antonym_relation"):
                assert abs(n_yes - n_no) <= 1
            elif name.endswith(("_and", "_or", "_relation")) or "_verify_" in name:
                assert n_yes + n_no == counts[name]
                assert 0.2 < n_yes / counts[name] < 0.8
    forms = added_forms(out)
    assert forms.keys() == {"ontology", "extension_size", "extension_color", "extension_material"}
    for counts in forms.values():
        assert len(counts) == 4
        assert max(counts.values()) - min(counts.values()) <= 1


def added_forms(folder: Path) -> dict[str, Counter[tuple[bool, str]]]:
    """Test -> the number of added questions that say more than their original or less, with each answer."""
    path = Layout(folder).suite_json(HOP, "carets", "train_carets")
    rows = json.loads(path.read_text())["questions"]
    own = [row for row in rows if not row["test"]]
    forms: dict[str, Counter[tuple[bool, str]]] = {}
    for row in rows:
        if row["test"] and (row["test"] == "ontology" or row["test"].startswith("extension_")):
            is_specific = len(row["program"]) > len(own[row["original_index"]]["program"])
            forms.setdefault(row["test"], Counter())[is_specific, row["answer"]] += 1
    return forms


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["carets", "rad"])
def test_a_larger_train_set_only_extends_it(made: Path, tmp_path: Path, suite: str) -> None:
    small, large = columns(make_smaller(tmp_path, suite), suite), columns(made, suite)
    n = len(small["answers"])
    assert n == 440
    for name in ADDED.columns:
        np.testing.assert_array_equal(small[name], large[name][:n])
    texts = [
        json.loads(Layout(folder).suite_json(HOP, suite, f"train_{suite}").read_text())["questions"][:n]
        for folder in (tmp_path / "smaller", made)
    ]
    assert texts[0] == texts[1]


def make_smaller(tmp_path: Path, suite: str) -> Path:
    out = make(tmp_path / "smaller", train=400)
    make_suite(out, suite, train=True)
    return out


@pytest.mark.slow
def test_the_held_out_pair_stays_held_out(made: Path) -> None:
    for suite in ("carets", "rad"):
        path = Layout(made).suite_json(HOP, suite, f"train_{suite}")
        rows = json.loads(path.read_text())["questions"]
        added = [row for row in rows if row["test"]]
        assert len(added) == 120
        assert all(row["suite"] == suite for row in added)
        found = {row["test"] for row in added if row["original_index"] is None}
        assert bool(found) == (suite == "carets")
        assert all(
            name.startswith(("rephrase_", "order_", "negation_", "antonym_verify_", "opposite_"))
            for name in found
        )
        assert all(row["original_index"] is None for row in rows if not row["test"])
    assert audit(made).ok


@pytest.mark.slow
def test_the_folder_lists_it_and_a_larger_train_set_removes_it(made: Path, tmp_path: Path) -> None:
    out = shutil.copytree(made, tmp_path / "out")
    layout = Layout(out)
    manifest = existing_manifest(layout.manifest)
    assert manifest.suites[HOP]["carets"]["train_carets"] == {"pairs": 120, "originals": 1205}
    assert f"hops/{HOP}/suites/carets/train_carets.h5" in manifest.files
    before = tree(out)
    make_suite(out, "carets", train=True)
    assert tree(out) == before
    summary = build(
        request(out, hops=(HOP,), splits=("train",), render=False, sizes={**SIZES, "train": 1300})
    )
    assert summary.suites == {"carets": [HOP], "rad": [HOP]}
    manifest = existing_manifest(layout.manifest)
    assert manifest.suites[HOP].keys() == {"carets"}
    assert manifest.suites[HOP]["carets"].keys() == {"complex_iid"}
    assert not layout.suite(HOP, "rad").exists()
    assert layout.suite_vocab(HOP, "carets").exists()
    assert not layout.suite_h5(HOP, "carets", "train_carets").exists()
    assert audit(out).ok


def test_the_command_says_how_many_were_added(made: Path, tmp_path: Path, cli: Cli) -> None:
    out = shutil.copytree(made, tmp_path / "out")
    check_words(cli("suite", "carets", out, "--hop", HOP, "--train").out)
    splits = json.loads(cli("suite", "carets", out, "--train", "--json", "--quiet").out)["splits"]
    assert [(each["hop"], each["split"]) for each in splits] == [
        ("none", "train_carets"),
        (HOP, "train_carets"),
    ]


RARE = {
    "test": "rare",
    "tier": "in",
    "source": ["zero_hop 1"],
    "when": {"set": ["<Z>", "<C>", "<M>", "<S>"], "answer": ["yes"]},
    "change": {"<Z>": None},
    "relation": "same",
}


def test_a_suite_with_too_few_partners_is_refused(made: Path, tmp_path: Path) -> None:
    own = own_suite(tmp_path, RARE)
    out = shutil.copytree(made, tmp_path / "out")
    before = tree(out)
    check_refused(TemplateError, make_suite, out, "mine", suite_files=own, train=True)
    assert {name: each for name, each in tree(out).items() if not name.startswith(".")} == before


def test_a_folder_without_train_sets(tmp_path: Path) -> None:
    build(request(tmp_path / "out", hops=(HOP,), splits=("complex_iid",), render=False, sizes=SIZES))
    check_refused(ConfigError, make_suite, tmp_path / "out", "carets", train=True)


@pytest.mark.parametrize("option", ["--per-cell 3", "--from search"])
def test_no_pairs_are_searched_for_train_sets(option: str, made: Path, cli: Cli) -> None:
    check_words(cli("suite", "carets", made, "--train", *option.split(), code=2).err)


def test_a_vocabulary_that_other_files_need_is_not_replaced(made: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(made, tmp_path / "out"))
    entry = {
        "test": "negation",
        "tier": "beyond",
        "source": ["zero_hop 1"],
        "then": [{"type": "not", "inputs": ["last"]}],
        "text": ["Is it wrong that there are <Z> <C> <M> <S>s?"],
        "relation": "flip",
    }
    other = {"test": "rephrase", "tier": "in", "source": ["all"], "wording": "phrasing", "relation": "same"}
    own = own_suite(tmp_path, entry, other)
    make_suite(out, "mine", suite_files=own)
    own_suite(tmp_path, {**entry, "text": ["Is it untrue that there are <Z> <C> <M> <S>s?"]}, other)
    check_refused(ConfigError, make_suite, out, "mine", suite_files=own, train=True)
    make_suite(out, "mine", suite_files=own)
    make_suite(out, "mine", suite_files=own, train=True)
