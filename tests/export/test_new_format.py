"""A made-up format is one module and one row of `FORMATS`: it writes questions as lines of text."""

from pathlib import Path

import pytest
from truth import HOP, Truth

from clevrhope.export import FORMATS, export
from clevrhope.export.formats import Format
from clevrhope.export.source import ExportSource
from clevrhope.runtime.progress import Advance


def write(source: ExportSource, out: Path, advance: Advance) -> None:
    for split in source.splits:
        samples = list(split.samples(whole=False))
        lines = [f"{each.text}\t{each.answer}\n" for sample in samples for each in sample.questions]
        (out / f"{split.hop}-{split.split}.txt").write_text("".join(lines))
        advance(len(lines))


def test_a_format_is_one_module_and_one_row(
    png_dataset: Path, truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FORMATS, "lines", Format(write, prefer="png", one_hop=True))
    made = export(png_dataset, tmp_path / "out", format="lines", hops=[HOP], splits=["train", "complex_ood"])
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "source.json",
        *(f"{HOP}-{split}.txt" for split in ("train", "complex_ood")),
    }
    lines = (tmp_path / "out" / f"{HOP}-train.txt").read_text().splitlines()
    assert lines == [f"{row['question']}\t{row['answer']}" for row in truth.questions("train")]
    assert made.n_questions == len(lines) + len(truth.questions("complex_ood"))
