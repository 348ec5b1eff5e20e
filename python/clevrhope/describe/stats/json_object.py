"""The JSON object of `clevrhope stats`, with every count."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clevrhope.describe.measured import split_json
from clevrhope.describe.stats.comparison import Column, Sheet


def as_json(
    root: Path, other_root: Path | None, sheets: Sequence[Sheet], plots: Sequence[Path]
) -> dict[str, Any]:
    """The object that `clevrhope stats --json` prints, in which shares are from 0 to 1."""
    return {
        "folder": str(root),
        "against": None if other_root is None else str(other_root),
        "hops": {each.group: _sheet(each) for each in sheets},
        "plots": [str(path) for path in plots],
    }


def _sheet(sheet: Sheet) -> dict[str, Any]:
    def splits(*, of_other: bool) -> dict[str, Any]:
        return {each.label: _split(each, sheet) for each in sheet.columns if each.other == of_other}

    return {
        "held_out": dict(sheet.held_out),
        "splits": splits(of_other=False),
        "against": splits(of_other=True),
        "distances": list(sheet.comparisons),
        "suites": sheet.suites,
        "covr": sheet.covr,
    }


def _split(column: Column, sheet: Sheet) -> dict[str, Any]:
    return {"split": column.measured.stats.split, **split_json(column.measured, sheet.train)}
