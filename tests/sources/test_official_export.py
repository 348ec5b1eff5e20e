"""`export --format official`: as the official loaders want the files, and read back as they were."""

import json
import re
from pathlib import Path

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest
from building import Cli
from official_files import HOPS, PARQUET

import clevrhope
from clevrhope.audit import audit
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.errors import PredictionsError
from clevrhope.export import export
from clevrhope.metrics import score
from clevrhope.pipeline.importing import import_source
from wording import check_words, refused

QUESTIONS = {
    "questions": "int32",
    "questions_len": "int32",
    "programs": "int32",
    "programs_len": "int32",
    **dict.fromkeys(("image_idxs", "orig_idxs", "question_families", "answers", "types"), "int64"),
}


@pytest.fixture(scope="module")
def exported(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "official"
    export(dataset, out, format="official")
    return out


def test_question_files_have_the_official_arrays_and_padding(exported: Path) -> None:
    """CLOSURE's loader: tokens padded with 0 to the file's longest row, programs in prefix order."""
    paths = sorted(exported.rglob("*_ques*/*.h5"))
    assert len(paths) == 2 * 5
    for path in paths:
        vocab = json.loads(path.with_name("vocab.json").read_text())
        arity = {vocab["program_token_to_idx"][name]: n for name, n in vocab["program_token_arity"].items()}
        with h5py.File(path) as file:
            assert {name: str(array.dtype) for name, array in file.items()} == QUESTIONS
            for name in ("questions", "programs"):
                rows, lengths = file[name][:], file[f"{name}_len"][:]
                assert rows.shape[1] == lengths.max()
                assert (rows[:, 0] == 1).all()
                assert (rows[np.arange(len(rows)), lengths - 1] == 2).all()
                assert ((rows == 0) == (np.arange(rows.shape[1]) >= lengths[:, None])).all()
            for row, n in zip(file["programs"][:], file["programs_len"][:], strict=True):
                wanted = 1
                for token in row[1 : n - 1].tolist():
                    wanted += arity[token] - 1
                assert wanted == 0, "a prefix program takes as many inputs as follow"


def test_images_are_channels_first_and_each_question_names_its_row(exported: Path, dataset: Path) -> None:
    ours = clevrhope.load(dataset, "rubber_cylinder", "complex_ood")
    run = exported / "held_out_CLEVR"
    with (
        h5py.File(next(run.rglob("test_CLEVR_held_out_questions_test_*.h5"))) as questions,
        h5py.File(run / "hdf5_held_out_CLEVR_ims" / "test_v1.0_img" / "test_ims.h5") as images,
    ):
        features = images["features"]
        assert (features.dtype, features.ndim, features.shape[1]) == (np.uint8, 4, 3)
        for k in range(len(ours)):
            image = features[questions["image_idxs"][k]].transpose(1, 2, 0)
            np.testing.assert_array_equal(image, ours[k]["image"])


def test_official_predictions_are_scored(exported: Path, dataset: Path, tmp_path: Path) -> None:
    """JSON by the row of the HDF5 file, with numbers of answers; three of four of each set are right."""
    import_source(exported, tmp_path / "out", hops=["rubber_cylinder"])
    names = {
        "complex_ood": "clevr_ho0_test_predict.json",
        "complex_iid": "clevr_ho0_val_predict.json",
        "minimal_ood": "clevr_atom_ho0_exists_match_ho_predict.json",
        "minimal_iid": "filtered_clevr_atom_ho0_exists_mismatch_ho_predict",
    }
    right = {}
    for split, name in names.items():
        answers = clevrhope.load(tmp_path / "out", "rubber_cylinder", split).table.answers.tolist()
        rows = {
            str(k): {"pred": answer if k % 4 else 0, "target": answer} for k, answer in enumerate(answers)
        }
        right[split] = 100 * sum(k % 4 > 0 for k in range(len(answers))) / len(answers)
        (tmp_path / name).write_text(json.dumps(rows))
    files = [tmp_path / name for name in names.values()]
    (condition,) = score(tmp_path / "out", files, seed=1, bootstrap=0).conditions
    assert {split: round(share, 9) for split, share in condition.accuracies.items()} == {
        split: round(share, 9) for split, share in right.items()
    }
    wrong = json.loads(files[1].read_text())
    for row in ("3", "5"):
        wrong[row]["target"] = 4 + (wrong[row]["target"] == 4)
    files[1].write_text(json.dumps(wrong))
    with refused(PredictionsError):
        score(tmp_path / "out", files, seed=1, bootstrap=0)
    (tmp_path / "clevr_ho0_val_predict.json").write_text('{"0": {"pred": 77}}')
    with refused(PredictionsError):
        score(tmp_path / "out", files, seed=1, bootstrap=0)
    unfiltered = tmp_path / "clevr_atom_ho0_exists_mismatch_ho_predict.json"
    unfiltered.write_text("{}")
    with refused(PredictionsError):
        score(tmp_path / "out", [unfiltered], seed=1, bootstrap=0)


def test_parquet_has_the_four_columns(exported: Path, dataset: Path) -> None:
    table = pq.read_table(exported / "HOP12" / "test_complex_iid-00000-of-00001.parquet")
    assert {field.name: str(field.type) for field in table.schema} == {
        "idx": "int64",
        "query": "string",
        "answer": "string",
        "image": "struct<bytes: binary, path: string>",
    }
    ours = clevrhope.load(dataset, "metal_cylinder", "complex_iid", text=True)
    assert table.column("idx").to_pylist() == list(range(len(ours)))
    assert table.column("query").to_pylist() == [ours[k]["question_text"] for k in range(len(ours))]
    assert table.column("answer").to_pylist() == [ours[k]["answer_text"] for k in range(len(ours))]


def test_what_was_exported_is_read_back(exported: Path, dataset: Path, tmp_path: Path) -> None:
    import_source(exported, tmp_path / "out")
    for hop in HOPS:
        for split in PARQUET:
            ours = clevrhope.load(dataset, hop, split, text=True)
            theirs = clevrhope.load(tmp_path / "out", hop, split, text=True)
            assert len(theirs) == len(ours)
            for k in range(0, len(ours), 5):
                for key in ("question_text", "program_text", "answer_text"):
                    assert theirs[k][key] == ours[k][key]
                np.testing.assert_array_equal(theirs[k]["image"], ours[k]["image"])
                assert theirs[k]["answer"] == ours[k]["answer"]


@pytest.mark.parametrize("form", ["official", "parquet alone"])
def test_the_same_predictions_give_the_same_accuracies(
    form: str, exported: Path, dataset: Path, tmp_path: Path, cli: Cli
) -> None:
    source = exported if form == "official" else exported / "HOP00"
    import_source(source, tmp_path / "out")
    predictions = tmp_path / "coin.jsonl"
    cli("baseline", dataset, "--kind", "coin", "--out", predictions, "--hop", "rubber_cylinder")
    ours, theirs = (
        score(folder, predictions, hops=["rubber_cylinder"], seed=1, bootstrap=0, by=()).conditions[0]
        for folder in (dataset, tmp_path / "out")
    )
    assert dict(theirs.accuracies) == dict(ours.accuracies)
    assert {name: gap.parts for name, gap in theirs.gaps.items()} == {
        name: gap.parts for name, gap in ours.gaps.items()
    }
    command = ("score", tmp_path / "out", predictions, "--hop", "rubber_cylinder", "--bootstrap", "0")
    check_words(re.findall("the published files lack .*", cli(*command).out)[0])
    check_words("".join(cli(*command, "--by", name, code=2).err for name in ("family", "objects", "level")))


def test_the_audit_of_an_export_knows_how_its_questions_were_chosen(exported: Path, tmp_path: Path) -> None:
    """By descriptions, some of which name the pair in no chain."""
    import_source(exported, tmp_path / "out")
    checks = {check.name: check for check in audit(tmp_path / "out").checks}
    assert not checks["pair by chains"].n_faults
    settings = existing_manifest(tmp_path / "out" / "manifest.json").settings
    assert settings.strictness == "description"
    (exported / "source.json").rename(tmp_path / "source.json")
    import_source(exported, tmp_path / "without")
    (tmp_path / "source.json").rename(exported / "source.json")
    assert existing_manifest(tmp_path / "without" / "manifest.json").settings.strictness == "chain"
