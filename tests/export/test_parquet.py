"""The Parquet folder, read back by Hugging Face's datasets without a network."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from truth import HOP, SPLITS, Truth, prefix

import clevrhope
from clevrhope.__main__ import run_command
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS, TIERS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.export import export, parquet
from clevrhope.metrics.pairs import Relation
from clevrhope.pipeline.suites import make_suite
from wording import refused


def load(folder: Path, *arguments: Any, cache: Path, **keywords: Any) -> Any:
    import datasets

    return datasets.load_dataset(str(folder), *arguments, cache_dir=str(cache), **keywords)


@pytest.mark.usefixtures("offline")
def test_load_dataset_gives_every_question_in_order_with_its_image(
    dataset: Path, truth: Truth, tmp_path: Path
) -> None:
    made = export(dataset, tmp_path / "out", format="parquet")
    assert made.images
    read = load(tmp_path / "out", HOP, cache=tmp_path / "cache")
    assert tuple(read) == SPLITS
    for split in SPLITS:
        wanted = truth.questions(split)
        assert len(read[split]) == len(wanted)
        named = read[split].features["answer"].int2str
        for row, question in zip(read[split], wanted, strict=True):
            assert row["question"] == question["question"]
            assert named(row["answer"]) == question["answer"]
            assert row["program"] == prefix(question["program"])
            assert row["question_family_index"] == question["question_family_index"]
            assert row["question_index"] == question["question_index"]
            assert row["image_index"] == question["image_index"]
            np.testing.assert_array_equal(np.asarray(row["image"]), truth.pixels(question["image_filename"]))


@pytest.mark.usefixtures("offline")
def test_each_hop_is_a_config_with_splits_of_its_own(png_dataset: Path, truth: Truth, tmp_path: Path) -> None:
    export(png_dataset, tmp_path / "out", format="parquet")
    import datasets

    assert datasets.get_dataset_config_names(str(tmp_path / "out")) == ["none", HOP]
    rows = load(tmp_path / "out", "none", cache=tmp_path / "cache", split="val", streaming=True)
    assert [row["question"] for row in rows] == [row["question"] for row in truth.questions("val", "none")]


@pytest.mark.usefixtures("offline")
def test_several_files_a_split_are_one_split_in_order(
    png_dataset: Path, truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "IMAGES_A_FILE", 5)
    monkeypatch.setattr(parquet, "IMAGES_A_GROUP", 2)
    export(png_dataset, tmp_path / "out", format="parquet", hops=[HOP])
    names = sorted(path.name for path in (tmp_path / "out" / HOP).glob("train-*"))
    assert names == [f"train-{k:05d}-of-00004.parquet" for k in range(4)]
    for split in ("train", "minimal_iid"):
        rows = load(tmp_path / "out", HOP, cache=tmp_path / "cache", split=split)
        assert list(rows["question_index"]) == list(range(len(truth.questions(split))))


def test_an_image_of_nine_questions_is_in_the_file_once(png_dataset: Path, tmp_path: Path) -> None:
    export(png_dataset, tmp_path / "out", format="parquet", hops=[HOP], splits=["train"])
    (path,) = (tmp_path / "out" / HOP).iterdir()
    group = pq.ParquetFile(path).metadata.row_group(0)
    (column,) = (
        group.column(k) for k in range(group.num_columns) if group.column(k).path_in_schema == "image.bytes"
    )
    images = {row["image"]["path"]: row["image"]["bytes"] for row in pq.read_table(path).to_pylist()}
    once = sum(map(len, images.values()))
    assert len(images) == 18
    assert group.num_rows == 9 * len(images)
    assert once < column.total_uncompressed_size < 2 * once


@pytest.mark.usefixtures("offline")
def test_without_images_there_is_no_column_of_them_and_the_card_says_so(
    bare_dataset: Path, truth: Truth, tmp_path: Path
) -> None:
    assert not export(bare_dataset, tmp_path / "out", format="parquet").images
    rows = load(tmp_path / "out", HOP, cache=tmp_path / "cache", split="train")
    assert "image" not in rows.features
    answers = rows.features["answer"].int2str(rows["answer"])
    assert answers == [row["answer"] for row in truth.questions("train")]
    assert "Text only" in (tmp_path / "out" / "README.md").read_text()


# Suites of paired tests

PAIRED = ("complex_iid", "complex_ood")


@pytest.fixture
def paired(copy: Path) -> Path:
    """A dataset with images and both suites."""
    for suite in ("carets", "rad"):
        make_suite(copy, suite)
    return copy


@pytest.mark.slow
@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("suite", ["carets", "rad"])
def test_a_suite_is_a_config_with_the_rows_of_its_hdf5(paired: Path, tmp_path: Path, suite: str) -> None:
    import datasets

    made = export(paired, tmp_path / "out", format="parquet")
    assert datasets.get_dataset_config_names(str(tmp_path / "out")) == [
        "none", HOP, "none.carets", "none.rad", f"{HOP}.carets", f"{HOP}.rad",
    ]  # fmt: skip
    read = load(tmp_path / "out", f"{HOP}.{suite}", cache=tmp_path / "cache")
    truth, layout, n_pairs = Truth(paired), Layout(paired), 0
    tables = {split: read_table(layout.suite_h5(HOP, suite, split), PAIRS) for split in PAIRED}
    # So few questions may leave a split without pairs of this suite.
    assert [split for split, pairs in tables.items() if len(pairs)] == list(read)
    for split in read:
        pairs = tables[split]
        wanted = json.loads(layout.suite_json(HOP, suite, split).read_text())["questions"]
        rows = list(read[split])
        assert len(rows) == len(wanted) == len(pairs) > 0
        n_pairs += len(pairs) // 2
        for k, (row, question) in enumerate(zip(rows, wanted, strict=True)):
            assert read[split].features["answer"].int2str(row["answer"]) == question["answer"]
            for name in ("question_index", "suite", "test", "tier", "cell", "role", "pair_index",
                         "original_index", "image_index", "question_family_index"):  # fmt: skip
                assert row[name] == question[name], name
            assert row["question"] == question["question"]
            assert row["program"] == prefix(question["program"])
            assert row["type"] == pairs.types[pairs.test[k]]
            assert row["relation"] == Relation(pairs.relation[k]).name.lower()
            value = int(pairs.value[k])
            assert row["value"] == (read_vocab(layout.vocab).answers()[value] if value >= 0 else None)
            assert row["tier"] == TIERS[pairs.tier[k]]
        last = rows[-1]
        pixels = truth.pixels(wanted[-1]["image_filename"])
        np.testing.assert_array_equal(np.asarray(last["image"]), pixels)
    assert n_pairs < made.n_pairs


def test_suites_follow_the_splits_that_are_chosen(
    paired: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert export(paired, tmp_path / "train", format="parquet", hops=[HOP], splits=["train"]).n_pairs == 0
    names = {path.name for path in (tmp_path / "train").iterdir()}
    assert names == {HOP, "README.md", "croissant.json", "figures", "source.json"}
    asked = ["export", str(paired), "--format", "parquet", "--hop", HOP, "--splits", "complex_ood"]
    assert run_command([*asked, "--no-images", "--out", str(tmp_path / "ood")]) == 0
    n_pairs = {
        suite: len(read_table(Layout(paired).suite_h5(HOP, suite, "complex_ood"), PAIRS)) // 2
        for suite in ("carets", "rad")
    }
    assert f"{sum(n_pairs.values()):,} pairs of suites, text only" in capfd.readouterr().out
    (path,) = (tmp_path / "ood" / f"{HOP}.carets").iterdir()
    assert path.name == "complex_ood-00000-of-00001.parquet"
    assert "image" not in pq.read_schema(path).names
    card = (tmp_path / "ood" / "README.md").read_text()
    assert f"- config_name: {HOP}.carets\n" in card
    assert "| `original_index` |" in card
    source = json.loads((tmp_path / "ood" / "source.json").read_text())
    assert sorted(source["suites"]) == [f"{HOP}.{suite}" for suite, n in n_pairs.items() if n]


def test_exports_without_suites_are_as_before(png_dataset: Path, paired: Path, tmp_path: Path) -> None:
    """The tables of splits are the same bytes with suites; other formats leave suites out."""
    for folder, out in ((png_dataset, "plain"), (paired, "paired")):
        for form in ("parquet", "webdataset"):
            export(folder, tmp_path / out / form, format=form, hops=[HOP], images=False)
    plain = {
        path.relative_to(tmp_path / "plain"): path.read_bytes()
        for path in (tmp_path / "plain").rglob("*")
        if path.is_file()
    }
    for path, content in plain.items():
        if path.name not in ("README.md", "croissant.json", "source.json") or path.parts[0] == "webdataset":
            assert (tmp_path / "paired" / path).read_bytes() == content, path
    assert "suite" not in (tmp_path / "plain" / "parquet" / "README.md").read_text()
    folders = [tmp_path / out / "webdataset" for out in ("plain", "paired")]
    plain_names, paired_names = ({path.name for path in folder.iterdir()} for folder in folders)
    assert plain_names == paired_names


def test_a_suites_file_that_is_not_the_manifests(paired: Path, tmp_path: Path) -> None:
    layout = Layout(paired)
    paths = [layout.suite_h5(HOP, "carets", split) for split in PAIRED]
    paths[1].write_bytes(paths[0].read_bytes())
    with refused(DatasetError):
        export(paired, tmp_path / "out", format="parquet", images=False)
    assert not (tmp_path / "out").exists()


# What `datasets` reads before it reads a row


@pytest.mark.usefixtures("offline")
def test_the_cards_head_has_features_and_sizes_as_datasets_finds_them(
    png_dataset: Path, tmp_path: Path
) -> None:
    import datasets

    out = tmp_path / "out"
    export(png_dataset, out, format="parquet", masks=True)
    named = datasets.load_dataset_builder(str(out), HOP, cache_dir=str(tmp_path / "cache")).info
    answers = read_vocab(png_dataset / "vocab.json").answers()
    assert named.features["answer"] == datasets.ClassLabel(names=answers)
    assert named.features["image"] == named.features["mask"] == datasets.Image()
    read = load(out, HOP, cache=tmp_path / "cache")
    files = [path.stat().st_size for path in (out / HOP).iterdir()]
    assert named.download_size == sum(files)
    assert named.dataset_size == sum(split.num_bytes for split in named.splits.values())
    for split in SPLITS:
        assert read[split].features == named.features
        assert named.splits[split].num_examples == len(read[split])
        # The library adds some bytes a batch for what is missing.
        assert named.splits[split].num_bytes == pytest.approx(
            read[split].info.splits[split].num_bytes, rel=0.01
        )
        (path, *_) = (out / HOP).glob(f"{split}-*")
        schema = pq.read_schema(path)
        stored = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
        assert datasets.Features.from_dict(stored) == named.features


@pytest.mark.usefixtures("offline")
def test_answers_have_the_numbers_that_load_gives(png_dataset: Path, tmp_path: Path) -> None:
    export(png_dataset, tmp_path / "out", format="parquet", hops=[HOP], splits=["complex_ood"])
    rows = load(tmp_path / "out", HOP, cache=tmp_path / "cache", split="complex_ood")
    wanted = clevrhope.load(png_dataset, HOP, "complex_ood")
    assert list(rows["answer"]) == [item["answer"] for item in wanted]


@pytest.mark.slow
@pytest.mark.usefixtures("offline")
def test_masks_are_those_of_the_folder(dataset: Path, tmp_path: Path) -> None:
    export(dataset, tmp_path / "out", format="parquet", hops=[HOP], masks=True)
    for split in ("train", "minimal_iid"):
        rows = load(tmp_path / "out", HOP, cache=tmp_path / "cache", split=split)
        wanted = clevrhope.load(dataset, HOP, split, passes=("mask",))
        for row, item in zip(rows, wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(row["mask"]), item["mask"])
    assert "| `mask` |" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--format", "clevr"], "--masks goes with --format parquet, not clevr"),
        (["--format", "parquet", "--no-images"], "--masks: masks are of images, and the export has none"),
    ],
)
def test_masks_that_cannot_be(
    png_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], sentence: str
) -> None:
    asked = ["export", str(png_dataset), "--hop", HOP, "--masks", "--out", str(tmp_path / "out")]
    assert run_command([*asked, *more]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_masks_of_a_folder_without(set_dataset: Path, tmp_path: Path) -> None:
    with refused(ConfigError):
        export(set_dataset, tmp_path / "out", format="parquet", masks=True)
