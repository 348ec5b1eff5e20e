"""Copies of a dataset with a fault planted and their checksums made to fit again.

Each method changes what a careless tool would, in all files that say the same, so that one check notices.
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np

from clevrhope.audit import CheckResult, Report, audit
from clevrhope.audit.run import STAGES
from clevrhope.config.presets import PRESETS
from clevrhope.pipeline import Request, build
from wording import check_words

Row = dict[str, Any]
Arrays = dict[str, Any]
Change = Callable[[Arrays], None]


def put(name: str, place: Any, value: Any) -> Change:
    """A change of one entry of an array."""
    return lambda arrays: arrays[name].__setitem__(place, value)


TRAIN = "hops/rubber_cylinder/train.h5"

LINES = {stage.title: list(stage.checks) for stage in STAGES}
SUITES, SETS = LINES["Reading pairs of suites"], LINES["Reading questions over several images"]


def failed(report: Report) -> dict[str, CheckResult]:
    return {each.name: each for each in report.checks if each.result == "failed"}


def check_faults(root: Path) -> None:
    """Audits a spoilt folder: the lines that fail and the first faults of each are those of the snapshot."""
    lines = failed(audit(root)).values()
    assert lines
    check_words("\n".join(f"{line.name}: {fault}" for line in lines for fault in line.faults[:3]))


def build_small(out: Path) -> None:
    """One pair's train set of the small preset, without images."""
    config = PRESETS["small"]
    build(Request(out=out, hops=("rubber_cylinder",), splits=("train",), config=config, seed=3, render=False))


@dataclass(frozen=True)
class Spoilt:
    """A folder that may be written to."""

    root: Path

    @classmethod
    def copy(cls, clean: Path, to: Path) -> Self:
        return cls(Path(shutil.copytree(clean, to)))

    def path(self, name: str) -> Path:
        return self.root / name

    @property
    def vocab(self) -> dict[str, dict[str, int]]:
        vocab: dict[str, dict[str, int]] = json.loads(self.path("vocab.json").read_text())
        return vocab

    def word(self, word: str) -> int:
        return self.vocab["question_token_to_idx"][word]

    def text(self, split: str, row: int, hop: str = "rubber_cylinder") -> str:
        names = {number: word for word, number in self.vocab["question_token_to_idx"].items()}
        with h5py.File(self.h5(split, hop)) as file:
            return " ".join(names[token] for token in file["questions"][row] if token > 2)

    def h5(self, split: str, hop: str = "rubber_cylinder") -> Path:
        return self.path(f"hops/{hop}/{split}.h5")

    def column(self, split: str, name: str) -> Any:
        with h5py.File(self.h5(split)) as file:
            return file[name][:]

    def arrays(self, split: str, change: Change, hop: str = "rubber_cylinder") -> None:
        """Changes a split's arrays."""
        self.change(f"hops/{hop}/{split}.h5", change)

    def change(self, name: str, change: Change) -> None:
        """Changes the arrays of an HDF5 file in memory, then in the file."""
        with h5py.File(self.path(name), "r+") as file:
            arrays = {name: file[name][:] for name in file}
            change(arrays)
            for name, values in arrays.items():
                del file[name]
                file[name] = values
        self.sign()

    def attribute(self, name: str, key: str, value: object) -> None:
        """Changes an attribute of an HDF5 file."""
        with h5py.File(self.path(name), "r+") as file:
            file.attrs[key] = value
        self.sign()

    def questions(self, split: str, change: Callable[[list[Row]], None]) -> None:
        """Changes the rows of a question file, where question files were not left out."""
        name = f"hops/rubber_cylinder/{split}_questions.json"
        if self.path(name).exists():
            self._rows(name, "questions", change)

    def scenes(self, pool: str, change: Callable[[list[Row]], None]) -> None:
        """Changes the rows of a pool's first scene file."""
        self._rows(f"scenes/{pool}/0000.json", "scenes", change)

    def manifest(self, change: Callable[[Row], None]) -> None:
        """Changes the manifest."""
        raw = json.loads(self.path("manifest.json").read_text())
        change(raw)
        self.path("manifest.json").write_text(json.dumps(raw))

    def measured(self, name: str, change: Callable[[Row], None]) -> None:
        """Changes measured.json of a pair or the folder."""
        raw = json.loads(self.path(name).read_text())
        change(raw)
        self.path(name).write_text(json.dumps(raw))
        self.sign()

    def sign(self) -> None:
        """Makes the manifest's sizes and checksums those of the files."""

        def record(raw: Row) -> None:
            for name in raw["files"]:
                content = self.path(name).read_bytes()
                raw["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}

        self.manifest(record)

    def _rows(self, name: str, key: str, change: Callable[[list[Row]], None]) -> None:
        path = self.path(name)
        raw = json.loads(path.read_text())
        change(raw[key])
        lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in raw[key])
        head = json.dumps({"info": raw["info"]})
        path.write_text(f'{head[:-1]}, "{key}": [\n{lines}\n]}}\n')
        self.sign()

    def first_row_with(self, split: str, word: str) -> tuple[int, int]:
        """The first question with a word, and the word's place in it."""
        questions = self.column(split, "questions")
        rows, places = np.nonzero(questions == self.word(word))
        return int(rows[0]), int(places[0])


Plant = Callable[[Spoilt], Any]
"""A function that plants a fault."""
