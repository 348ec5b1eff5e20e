"""A made-up published form is one module and one row of `FORMS`: tab-separated questions beside images."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from building import Cli

import clevrhope
from clevrhope._core import Vocabulary
from clevrhope.audit import audit
from clevrhope.sources import FORMS, SourceForm
from clevrhope.sources.source import Columns, Numbering, Source, SourceSplit


def find_lines(root: Path, vocabulary: Vocabulary) -> Source | None:
    path = root / "questions.tsv"
    if not path.is_file():
        return None
    rows = [line.split("\t") for line in path.read_text().splitlines()]

    def blocks(numbering: Numbering) -> Iterator[Columns]:
        yield {
            **numbering.texts([text for _, text, _ in rows]),
            "answers": numbering.answers([answer for *_, answer in rows], lambda k: f"{path}: line {k + 1}"),
            "image_idxs": np.asarray([int(image) for image, *_ in rows], dtype=np.int32),
        }

    split = SourceSplit("red_cube", "complex_iid", "test_iid", len(rows), path, blocks)
    return Source("lines", root, (split,), has_programs=False)


def test_a_form_is_one_module_and_one_row(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMS, "lines", SourceForm("questions in lines of text", find_lines))
    (tmp_path / "in").mkdir()
    lines = ["0\tIs there a blue cube?\tyes", "0\tHow many red cubes are there?\t2"]
    (tmp_path / "in" / "questions.tsv").write_text("\n".join(lines))
    cli("import", tmp_path / "in", "--out", tmp_path / "out")
    item = clevrhope.load(tmp_path / "out", "red_cube", "complex_iid", text=True)[1]
    assert (item["question_text"], item["answer_text"], item["image_index"]) == (
        "How many red cubes are there?",
        "2",
        0,
    )
    checks = {check.name: check for check in audit(tmp_path / "out").checks}
    assert [fault.index for fault in checks["pair in words"].faults] == [1]
