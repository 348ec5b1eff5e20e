"""The Croissant metadata of an export, read by mlcroissant without a network."""

import json
from pathlib import Path

import numpy as np
import pytest
from truth import HOP, Truth, prefix

from clevrhope.dataset.vocab import SPECIAL_TOKENS, read_vocab
from clevrhope.export import export

# mlcroissant leaves it to the garbage collector to close the files that it has read.
pytestmark = [
    pytest.mark.usefixtures("offline"),
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

FOR_RESPONSIBLE_AI = (
    "data_collection",
    "data_annotation_protocol",
    "machine_annotation_tools",
    "data_preprocessing_protocol",
    "data_biases",
    "data_limitations",
    "data_use_cases",
    "personal_sensitive_information",
    "data_release_maintenance_plan",
)


@pytest.mark.slow
def test_it_is_valid_and_its_records_are_the_questions(
    png_dataset: Path, truth: Truth, tmp_path: Path
) -> None:
    import mlcroissant

    export(png_dataset, tmp_path / "out", format="parquet", masks=True)
    dataset = mlcroissant.Dataset(jsonld=tmp_path / "out" / "croissant.json")
    issues = dataset.metadata.ctx.issues
    assert not issues.errors
    # Who publishes an export, and when, is not known here.
    assert ["datePublished" in issue for issue in map(str, issues.warnings)] == [True]
    for name in FOR_RESPONSIBLE_AI:
        assert getattr(dataset.metadata, name), name
    assert "from seed 5;" in dataset.metadata.data_collection
    assert f"{HOP}: by design, train and the iid splits have no rubber cylinder" in " ".join(
        dataset.metadata.data_biases
    )
    answers = read_vocab(png_dataset / "vocab.json").answers()[len(SPECIAL_TOKENS) :]
    for split in ("train", "complex_ood"):
        wanted, begin = truth.questions(split), f"{HOP}/{split}/"
        rows = [
            {name.removeprefix(begin): value for name, value in row.items()}
            for row in dataset.records(f"{HOP}/{split}")
        ]
        assert len(rows) == len(wanted)
        for row, question in zip(rows, wanted, strict=True):
            assert row["question"].decode() == question["question"]
            assert answers[row["answer_label"]] == row["answer"].decode() == question["answer"]
            assert [each.decode() for each in row["program"]] == prefix(question["program"])
            assert row["image_index"] == question["image_index"]
            np.testing.assert_array_equal(np.asarray(row["image"]), truth.pixels(question["image_filename"]))
            assert row["mask"].mode == "L"
    named = [row[f"{HOP}/answers/name"] for row in dataset.records(f"{HOP}/answers")]
    assert named == answers


def test_sets_and_text_alone(set_dataset: Path, bare_dataset: Path, tmp_path: Path) -> None:
    import mlcroissant

    export(set_dataset, tmp_path / "sets", format="parquet", splits=["covr_test"])
    dataset = mlcroissant.Dataset(jsonld=tmp_path / "sets" / "croissant.json")
    rows = list(dataset.records(f"{HOP}.covr/covr_test"))
    name = f"{HOP}.covr/covr_test"
    assert len(rows) == 30
    assert all(len(row[f"{name}/images"]) == len(row[f"{name}/image_indices"]) for row in rows)
    export(bare_dataset, tmp_path / "bare", format="parquet", hops=[HOP])
    dataset = mlcroissant.Dataset(jsonld=tmp_path / "bare" / "croissant.json")
    assert "rendered" not in dataset.metadata.data_collection
    assert "Text only" in (tmp_path / "bare" / "README.md").read_text()
    assert f"{HOP}/train/image" not in next(iter(dataset.records(f"{HOP}/train")))


def test_it_has_no_path_and_no_clock(png_dataset: Path, tmp_path: Path) -> None:
    export(png_dataset, tmp_path / "out", format="parquet", hops=[HOP], images=False)
    content = (tmp_path / "out" / "croissant.json").read_text()
    assert str(png_dataset) not in content
    assert not {"dateCreated", "dateModified", "datePublished"} & json.loads(content).keys()
