"""Episodes with nonce words, exported to Parquet and read back: equal, asked about and scored the same."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from building import Cli, build_demo

import clevrhope
from clevrhope.audit import audit
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.question_kinds import NONCE
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import DatasetError
from clevrhope.export import export
from clevrhope.metrics.nonce import score_nonce
from clevrhope.pipeline.importing import import_source
from clevrhope.splits.nonce.kinds import NONCE_SPLITS
from wording import check_words, refused

N = 14
"""A turn of all forms, and groups of two grids."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("episodes") / "data"
    build_demo(out, hops=("none",), splits=(), nonce=N, images="h5")
    return out


@pytest.fixture(scope="module")
def exported(folder: Path) -> Path:
    export(folder, folder.parent / "export", format="parquet")
    return folder.parent / "export"


@pytest.fixture(scope="module")
def bare(folder: Path) -> Path:
    """One file without images."""
    export(folder, folder.parent / "bare", format="parquet", splits=["nonce_seen"], images=False)
    return folder.parent / "bare"


@pytest.fixture(scope="module")
def imported(exported: Path) -> Path:
    import_source(exported, exported.parent / "imported")
    return exported.parent / "imported"


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def table(root: Path, split: str) -> QuestionTable:
    layout = Layout(root)
    return read_table(layout.questions_h5("none", split), NONCE, vocab=read_vocab(layout.nonce_vocab))


@pytest.mark.parametrize("split", NONCE_SPLITS)
def test_episodes_are_the_same_to_the_number(folder: Path, imported: Path, split: str) -> None:
    ours, back = table(folder, split), table(imported, split)
    assert {**back.attributes} == {**ours.attributes}
    arrays = back.arrays()
    for name, numbers in ours.arrays().items():
        np.testing.assert_array_equal(arrays[name], numbers, name)
    manifests = [existing_manifest(Layout(root).manifest) for root in (folder, imported)]
    assert manifests[1].nonce == manifests[0].nonce
    for one, other in zip(*(clevrhope.load(root, "none", split, text=True) for root in (folder, imported)),
                          strict=True):  # fmt: skip
        assert one.keys() == other.keys()
        for name in ("question_text", "answer_text", "statements", "support_indices", "partner"):
            assert other[name] == one[name]
        np.testing.assert_array_equal(other["image"], one["image"])
        np.testing.assert_array_equal(other["support_images"], one["support_images"])


def test_requests_and_scores_are_those_of_the_folder(
    folder: Path, exported: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever downloaded an export asks, reads replies and scores by the same commands, in place."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found: list[list[dict[str, Any]]] = []
    for root in (folder, exported):
        cli("ask", root, "--nonce", "--limit", 9, "--seed", 1, "--quiet", "--out", "asked.jsonl")
        rows = [json.loads(line) for line in Path("asked.jsonl").read_text().splitlines()]
        found.append(rows)
        replies = [{"id": row["id"], "reply": "yes" if k % 3 else "2"} for k, row in enumerate(rows)]
        write_lines(Path("replies.jsonl"), replies)
        cli("answers", "replies.jsonl", "--requests", "asked.jsonl", "--dataset", root, "--out",
            f"{root.name}.jsonl")  # fmt: skip
        path = Path(found[-1][0]["context"][1]["image"])
        assert path.is_file() or (folder / path).is_file()
    for row in [row for rows in found for row in rows]:
        row.pop("image", None)
        row["context"] = [each["text"] for each in row["context"]]
    assert found[1] == found[0]
    assert Path("data.jsonl").read_text() == Path("export.jsonl").read_text()
    scores = [
        cli("score", root, "data.jsonl", "--nonce", "--partial", "--seed", 1, "--json").out
        for root in (folder, exported)
    ]
    numbers = [{**json.loads(each), "folder": ""} for each in scores]
    assert numbers[1] == numbers[0]


def test_scores_are_the_same_to_the_digit(folder: Path, imported: Path, tmp_path: Path) -> None:
    key = table(folder, NONCE_SPLITS[0])
    out = write_lines(tmp_path / "p.jsonl", [
        {"hop": "none", "split": split, "question_index": k,
         "answer": "no" if (k + number) % 3 else key.answer_names[key.answers[k]]}
        for number, split in enumerate(NONCE_SPLITS) for k in range(N)
    ])  # fmt: skip
    ours, theirs = (
        replace(score_nonce(root, out, seed=1, bootstrap=20), folder=Path(), notes=())
        for root in (folder, imported)
    )
    assert theirs == ours


def test_an_audit_says_that_episodes_of_an_export_are_not_checked(imported: Path) -> None:
    (line,) = audit(imported).checks
    assert not line.done
    check_words("; ".join(line.notes))


Change = Callable[[list[dict[str, Any]]], Any]


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[3].update(form="exist_9x9"),
        lambda rows: rows[3].update(grid="color_taste"),
        lambda rows: rows[3].update(real_words=["nizug"]),
        lambda rows: rows[3].update(real_words=None),
        lambda rows: rows[3]["statements"].append("This is a large red cube that is not there at all."),
        lambda rows: rows[3].update(support_indices=[-4]),
        lambda rows: rows[3].update(program=["exist", "scene"]),
        lambda rows: [row.pop("support_indices") for row in rows],
    ],
)
def test_rows_that_are_no_episodes_are_refused(bare: Path, change: Change, tmp_path: Path) -> None:
    (path,) = (bare / "nonce").iterdir()
    read = pq.read_table(path)
    rows = read.to_pylist()
    change(rows)
    schema = pa.schema([read.schema.field(name) for name in rows[0]], metadata=read.schema.metadata)
    (tmp_path / "nonce").mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "nonce" / path.name)
    with refused(DatasetError):
        import_source(tmp_path / "nonce", tmp_path / "out")
