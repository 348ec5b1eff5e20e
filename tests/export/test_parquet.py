"""The Parquet folder, read back by Hugging Face's datasets without a network."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from building import Cli, tree
from truth import HOP, SPLITS, Truth, check_row_of_set, items_of_sets, prefix

import clevrhope
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS, TIERS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.vocab import SPECIAL_TOKENS, read_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.export import export, parquet
from clevrhope.metrics.pairs import Relation
from clevrhope.pipeline.suites import make_suite
from clevrhope.splits.covr.kinds import COVR_SPLITS
from wording import check_words, refused

SETS = f"{HOP}.covr"
"""The config of questions over several images."""


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
        named = read[split].features["answer_label"].int2str
        for row, question in zip(read[split], wanted, strict=True):
            assert row["question"] == question["question"]
            assert row["answer"] == named(row["answer_label"]) == question["answer"]
            scene = json.loads(row["scene"])
            assert scene["image_index"] == question["image_index"]
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


@pytest.mark.slow
@pytest.mark.usefixtures("offline")
def test_questions_over_several_images_come_with_them_in_order(set_dataset: Path, tmp_path: Path) -> None:
    import datasets

    assert export(set_dataset, tmp_path / "out", format="parquet", splits=COVR_SPLITS).images
    assert datasets.get_dataset_config_names(str(tmp_path / "out")) == [SETS]
    tables = load(tmp_path / "out", SETS, cache=tmp_path / "cache")
    assert tuple(tables) == COVR_SPLITS
    assert tables[COVR_SPLITS[0]].features["images"] == datasets.Sequence(datasets.Image())
    for split in COVR_SPLITS:
        wanted = items_of_sets(set_dataset, split)
        for row, item in zip(tables[split], wanted, strict=True):
            check_row_of_set(row, item)
            for image, pixels in zip(row["images"], item["images"], strict=True):
                np.testing.assert_array_equal(np.asarray(image), pixels)
        sizes = {len(item["images"]) for item in wanted}
        assert max(sizes) == 5
        assert len(sizes) > 1


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("split", "config", "images_a_file", "n_questions"),
    [("train", HOP, 5, 162), ("covr_dev", SETS, 20, 30)],
)
def test_several_files_are_one_split_in_order(
    set_dataset: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    split: str,
    config: str,
    images_a_file: int,
    n_questions: int,
) -> None:
    monkeypatch.setattr(parquet, "IMAGES_A_FILE", images_a_file)
    monkeypatch.setattr(parquet, "IMAGES_A_GROUP", 2)
    monkeypatch.setattr(parquet, "SETS_A_GROUP", 3)
    made = export(set_dataset, tmp_path / "out", format="parquet", hops=[HOP], splits=[split])
    n_files = -(-made.n_copies // images_a_file)
    assert n_files > 1
    paths = sorted((tmp_path / "out" / config).iterdir())
    assert [path.name for path in paths] == [
        f"{split}-{k:05d}-of-{n_files:05d}.parquet" for k in range(n_files)
    ]
    assert all(pq.ParquetFile(path).metadata.num_rows for path in paths)
    rows = load(tmp_path / "out", config, cache=tmp_path / "cache", split=split)
    assert list(rows["question_index"]) == list(range(n_questions))


@pytest.mark.parametrize(
    ("split", "config", "column"),
    [("train", HOP, "image.bytes"), ("covr_test_ood", SETS, "images.list.element.bytes")],
)
def test_an_image_of_several_questions_is_in_a_group_once(
    set_dataset: Path, tmp_path: Path, split: str, config: str, column: str
) -> None:
    choices: dict[str, Any] = {"splits": [split], "hops": [HOP], "shard_size": 10**6}
    export(set_dataset, tmp_path / "out", format="parquet", **choices)
    path, *_ = sorted((tmp_path / "out" / config).iterdir())
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = {each.path_in_schema: each for each in map(group.column, range(group.num_columns))}
    rows = pq.read_table(path).to_pylist()
    copies = [image for row in rows for image in row.get("images", [row.get("image")])]
    once = sum(len(content) for content in {image["path"]: image["bytes"] for image in copies}.values())
    size = columns[column].total_uncompressed_size
    assert once < size < min(2 * once, sum(len(image["bytes"]) for image in copies))


@pytest.mark.usefixtures("offline")
def test_splits_over_several_images_are_another_config(set_dataset: Path, tmp_path: Path) -> None:
    import datasets

    out = tmp_path / "out"
    made = export(set_dataset, out, format="parquet", splits=["covr_train", "train", "covr_test"])
    assert made.splits == ((HOP, "train"), (HOP, "covr_train"), (HOP, "covr_test"))
    assert datasets.get_dataset_config_names(str(out)) == [HOP, SETS]
    assert tuple(load(out, SETS, cache=tmp_path / "cache")) == ("covr_train", "covr_test")
    alone = export(set_dataset, tmp_path / "train", format="parquet", splits=["train"])
    assert made.n_questions == alone.n_questions + 150 + 30
    name = f"{HOP}/train-00000-of-00001.parquet"
    assert (out / name).read_bytes() == (tmp_path / "train" / name).read_bytes()
    card = (out / "README.md").read_text()
    assert "| `image` |" in card
    assert "| `images` |" in card
    listed = json.loads((out / "source.json").read_text())["splits"][HOP]
    assert list(listed) == ["train", "covr_train", "covr_test"]


def test_the_card_of_sets_alone_has_their_columns(set_dataset: Path, tmp_path: Path) -> None:
    export(set_dataset, tmp_path / "out", format="parquet", splits=["covr_test"])
    card = (tmp_path / "out" / "README.md").read_text()
    path, *_ = (tmp_path / "out" / SETS).iterdir()
    assert re.findall(r"^\| `(\w+)` \|", card, re.MULTILINE) == pq.read_schema(path).names
    assert f'load_dataset("THIS_FOLDER", "{SETS}", split="covr_test"' in card


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
            assert row["answer"] == question["answer"]
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


def test_suites_follow_the_splits_that_are_chosen(paired: Path, tmp_path: Path, cli: Cli) -> None:
    assert export(paired, tmp_path / "train", format="parquet", hops=[HOP], splits=["train"]).n_pairs == 0
    names = {path.name for path in (tmp_path / "train").iterdir()}
    assert names == {HOP, "README.md", "croissant.json", "figures", "source.json"}
    asked = ("export", paired, "--format", "parquet", "--hop", HOP, "--splits", "complex_ood")
    said = cli(*asked, "--no-images", "--out", tmp_path / "ood").out
    n_pairs = {
        suite: len(read_table(Layout(paired).suite_h5(HOP, suite, "complex_ood"), PAIRS)) // 2
        for suite in ("carets", "rad")
    }
    assert f"{sum(n_pairs.values()):,} pairs of suites, text only" in said
    (path,) = (tmp_path / "ood" / f"{HOP}.carets").iterdir()
    assert path.name == "complex_ood-00000-of-00001.parquet"
    assert "image" not in pq.read_schema(path).names
    card = (tmp_path / "ood" / "README.md").read_text()
    assert f"- config_name: {HOP}.carets\n" in card
    assert "| `original_index` |" in card
    source = json.loads((tmp_path / "ood" / "source.json").read_text())
    assert sorted(source["suites"]) == [f"{HOP}.{suite}" for suite, n in n_pairs.items() if n]


def test_exports_without_suites_are_as_before(png_dataset: Path, paired: Path, tmp_path: Path) -> None:
    """The tables and shards of splits are the same bytes with suites."""
    for folder, out in ((png_dataset, "plain"), (paired, "paired")):
        for form in ("parquet", "webdataset"):
            export(folder, tmp_path / out / form, format=form, hops=[HOP], images=False)
    plain, with_suites = tree(tmp_path / "plain"), tree(tmp_path / "paired")
    for name, digest in plain.items():
        if Path(name).name not in ("README.md", "croissant.json", "source.json", "shards.json"):
            assert with_suites[name] == digest, name
    assert "suite" not in (tmp_path / "plain" / "parquet" / "README.md").read_text()
    shards = json.loads((tmp_path / "paired" / "webdataset" / "shards.json").read_text())
    assert list(shards) == [HOP, f"{HOP}.carets", f"{HOP}.rad"]
    assert (tmp_path / "paired" / "webdataset" / f"{HOP}.carets_vocab.json").is_file()


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
    answers = read_vocab(png_dataset / "vocab.json").answers()[len(SPECIAL_TOKENS) :]
    assert named.features["answer_label"] == datasets.ClassLabel(names=answers)
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
    "options", ["--format clevr", "--format parquet --no-images"], ids=["format", "images"]
)
def test_masks_that_cannot_be(png_dataset: Path, tmp_path: Path, cli: Cli, options: str) -> None:
    command = ("export", png_dataset, "--hop", HOP, "--masks", "--out", tmp_path / "out")
    check_words(cli(*command, *options.split(), code=2).err)
    assert not (tmp_path / "out").exists()


def test_masks_of_a_folder_without(set_dataset: Path, tmp_path: Path) -> None:
    with refused(ConfigError):
        export(set_dataset, tmp_path / "out", format="parquet", masks=True)
