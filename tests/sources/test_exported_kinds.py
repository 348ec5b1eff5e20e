"""Questions about sets of images and pairs of suites, exported and read back: equal, and scored the same."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from building import SET_SIZES, Cli, request

import clevrhope
from clevrhope.audit import audit
from clevrhope.dataset.contents import suites_in
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.question_kinds import PAIRS, SETS, kind_of
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.suite_questions import suite_columns
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import DatasetError
from clevrhope.export import export
from clevrhope.images.settings import NativeSettings
from clevrhope.metrics import score
from clevrhope.metrics.covr import score_covr
from clevrhope.metrics.results import Results
from clevrhope.metrics.suites import score_suite
from clevrhope.pipeline import build
from clevrhope.pipeline.importing import import_source
from clevrhope.pipeline.paraphrases import make_paraphrases
from clevrhope.pipeline.suites import make_suite
from clevrhope.pipeline.visual.suite import make_visual_suite
from clevrhope.runtime.atomic import record
from clevrhope.splits.covr.kinds import COVR_SPLITS
from wording import check_words, refused

HOP = "rubber_cylinder"
ONE = ("train", "val_iid", "complex_iid", "complex_ood", "minimal_iid", "minimal_ood")
SUITES = ("carets", "people", "sets", "visual")
PREDICATE = "has-quant"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions about one image and about sets, and suites: one of paraphrases, one with its own images."""
    out = tmp_path_factory.mktemp("kinds") / "data"
    sizes = {name: n // 2 for name, n in SET_SIZES.items()}
    sizes |= {"train": 27, "complex_iid": 27, "complex_ood": 18}
    look = NativeSettings(width=60, height=40, quality="draft")
    build(request(out, sizes=sizes, covr=True, images="png", rendering=look))
    make_suite(out, "carets")
    for suite, split in (("people", "complex_iid"), ("sets", "covr_test")):
        texts = [
            {"id": f"{HOP}/{split}/{row}", "text": f"Né {row}. What's up; well?"} for row in (4, 2, 4, 9)
        ]
        (out.parent / suite).write_text("".join(f"{json.dumps(row)}\n" for row in texts))
        make_paraphrases(out, suite, [out.parent / suite])
    make_visual_suite(out, 2)
    return out


@pytest.fixture(scope="module", params=["parquet", "webdataset"])
def exported(request: pytest.FixtureRequest, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp(request.param) / "export"
    export(folder, out, format=request.param, splits=[*ONE, *COVR_SPLITS])
    return out


@pytest.fixture(scope="module")
def imported(exported: Path) -> Path:
    import_source(exported, exported.parent / "out")
    return exported.parent / "out"


def tables(root: Path) -> Iterator[tuple[str, QuestionTable, Path]]:
    """The suite, the questions and the file of each split and suite that predictions can be about."""
    layout = Layout(root)
    for split in (*ONE, *COVR_SPLITS):
        kind = kind_of(split)
        vocab = read_vocab(kind.vocab(layout, split))
        yield "", read_table(kind.h5(layout, HOP, split), kind, vocab=vocab), kind.h5(layout, HOP, split)
    for suite in SUITES:
        for split in existing_manifest(layout.manifest).suites[HOP][suite]:
            path = layout.suite_h5(HOP, suite, split)
            yield suite, read_table(path, PAIRS, vocab=read_vocab(layout.suite_vocab(HOP, suite))), path


@pytest.fixture(scope="module")
def predictions(folder: Path) -> dict[str, Path]:
    """Suite, "" for none, or a COVR run's role -> predictions that are right about most questions."""
    rng, rows = np.random.default_rng(1), {name: [] for name in ("", *SUITES, "split", "iid_size", "text")}
    for suite, table, path in tables(folder):
        if table.split in (ONE[0], COVR_SPLITS[0]):
            continue
        named = suite_columns(suite, path) if suite else {}
        for run in (1, 2):
            for k, number in enumerate(table.answers.tolist()):
                row = {"hop": HOP, "split": table.split, "question_index": k, "run": run, **named}
                others = [table.answer_names[number]] * 3 + ["yes", "no", "2", "<UNK>"]
                roles = ("split", "iid_size", "text") if table.kind is SETS else ()
                for name in (suite, *roles):
                    about = {"covr_role": "split" if name == "text" else name} if name in roles else {}
                    about |= {"covr_split": PREDICATE, "shots": 4} if about else {}
                    model = "question_only" if name == "text" else "mine"
                    answer = others[rng.integers(len(others))]
                    rows[name].append({**row, **about, "model": model, "answer": answer})
    found = {}
    for name, of_name in rows.items():
        found[name] = folder.parent / f"predictions_{name}.jsonl"
        found[name].write_text("".join(f"{json.dumps(row)}\n" for row in of_name))
    return found


def numbers(results: Results) -> list[Any]:
    """All numbers that the results have, without the folder."""
    assert results.conditions
    return [replace(results, folder=Path(), notes=()), [*results.rows()]]


def test_the_questions_are_the_same_to_the_number(imported: Path, folder: Path) -> None:
    mine, theirs = Layout(folder), Layout(imported)
    assert suites_in(theirs, HOP) == SUITES
    for (suite, ours, _), (_, back, _) in zip(tables(folder), tables(imported), strict=True):
        assert dict(back.attributes) == dict(ours.attributes)
        arrays = back.arrays()
        for name, numbers in ours.arrays().items():
            np.testing.assert_array_equal(arrays[name], numbers, f"{suite} {ours.split} {name}")
        assert back.widths == ours.widths
    for suite in SUITES:
        assert theirs.suite_vocab(HOP, suite).read_bytes() == mine.suite_vocab(HOP, suite).read_bytes()
        entries = [existing_manifest(layout.manifest).suites[HOP][suite] for layout in (mine, theirs)]
        for split, entry in entries[0].items():
            counts = {name: n for name, n in entry.items() if name != "visual"}
            sha256 = record(mine.suite_h5(HOP, suite, split)).sha256
            assert entries[1][split] == {**counts, "sha256": sha256}
    assert theirs.vocab.read_bytes() == mine.vocab.read_bytes()
    assert theirs.covr_vocab.read_bytes() == mine.covr_vocab.read_bytes()


def test_images_and_scenes_are_those_of_the_dataset(imported: Path, folder: Path) -> None:
    for split in COVR_SPLITS:
        ours, theirs = (
            clevrhope.load(root, HOP, split, text=True, scenes=True) for root in (folder, imported)
        )
        for k in range(0, len(ours), 5):
            a, b = theirs[k], ours[k]
            assert [a[key] for key in ("question_text", "template", "source")] == [
                b[key] for key in ("question_text", "template", "source")
            ]
            for mine, other in zip(a["images"], b["images"], strict=True):
                np.testing.assert_array_equal(mine, other)
            assert [each["image_index"] for each in a["scenes"]] == a["image_indices"]
    for suite in SUITES:
        for split in existing_manifest(Layout(folder).manifest).suites[HOP][suite]:
            pairs = [clevrhope.load(root, HOP, split, suite=suite) for root in (imported, folder)]
            for k in range(0, len(pairs[0]), 9):
                a, b = (each[k] for each in pairs)
                assert a["pair_index"] == b["pair_index"]
                for side in ("original", "partner"):
                    name = "images" if suite == "sets" else "image"
                    for one, other in zip(a[side][name], b[side][name], strict=True):
                        np.testing.assert_array_equal(one, other)


def test_the_same_predictions_give_the_same_scores(
    imported: Path, folder: Path, predictions: dict[str, Path]
) -> None:
    draws = {"seed": 1, "bootstrap": 20}
    both = (folder, imported)
    ours, theirs = (numbers(score(root, predictions[""], **draws)) for root in both)
    assert theirs == ours
    for suite in SUITES:
        ours, theirs = (numbers(score_suite(root, suite, predictions[suite], **draws)) for root in both)
        assert theirs == ours
    files = [predictions[name] for name in ("", "split", "iid_size", "text")]
    ours, theirs = (
        numbers(score_covr(root, files, predicates=["has-count"], **draws, partial=True)) for root in both
    )
    assert theirs == ours
    assert ours[0].predicates
    assert any(row.generalisation for row in ours[0].predicates)


def test_an_audit_says_what_it_cannot_check(imported: Path) -> None:
    checks = {check.name: check for check in audit(imported).checks}
    assert {name: check.faults for name, check in checks.items() if check.n_faults} == {}
    check_words("; ".join(checks["suites and sets"].notes))
    assert not checks["suites and sets"].done


def test_commands_take_the_export_in_place(
    exported: Path, predictions: dict[str, Path], cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    said = cli(
        "score", exported, predictions["carets"], "--suite", "carets", "--seed", "1", "--bootstrap", "0"
    )
    assert "carets" in said.out
    assert "covr_test_ood" in cli("score", exported, predictions[""], "--covr", "--seed", "1").out
    cli("show", exported, "--hop", HOP, "--split", "covr_test", "--question", "3")
    cli("info", exported)


def test_files_of_two_datasets_are_refused(folder: Path, tmp_path: Path) -> None:
    build(request(tmp_path / "other", render=False, seed=9, sizes={"train": 9}, splits=("train",)))
    for root, name, splits in ((tmp_path / "other", "in", ["train"]), (folder, "more", ["complex_iid"])):
        export(root, tmp_path / name, format="parquet", splits=splits, images=False)
    (path,) = (tmp_path / "more" / HOP).glob("complex_iid-*")
    (tmp_path / "in" / HOP / path.name).write_bytes(path.read_bytes())
    with refused(DatasetError):
        import_source(tmp_path / "in", tmp_path / "out")


def test_names_in_metadata_are_no_paths(folder: Path, tmp_path: Path) -> None:
    export(folder, tmp_path / "in", format="parquet", splits=["complex_iid"], images=False)
    (path,) = (tmp_path / "in" / HOP).glob("complex_iid-*")
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"clevrhope"])
    about["file"]["pool"] = "../../elsewhere"
    pq.write_table(table.replace_schema_metadata({"clevrhope": json.dumps(about)}), path)
    with refused(DatasetError):
        import_source(tmp_path / "in", tmp_path / "out")
