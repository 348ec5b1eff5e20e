"""The check that a datasheet's tables on suites agree with the suites' files."""

import re
from collections.abc import Mapping

from clevrhope.audit.folder import AuditFolder, SuitePlace
from clevrhope.audit.report import Check
from clevrhope.audit.suites.structure import RELATIONS, TIERS
from clevrhope.dataset.split_files import PairArrays
from clevrhope.splits.hops import Hop

_SECTION = re.compile(r"^## Which paired tests are there\?\n(.*?)(?=^## )", re.DOTALL | re.MULTILINE)
_TABLE = re.compile(r"^### (\S+) on `(\w+)`\n(.*?)(?=^### |\Z)", re.DOTALL | re.MULTILINE)
_ROW = re.compile(r"^\| `(.+?)` \| (.*) \|$", re.MULTILINE)
_COUNTS = re.compile(r"^([\d,]+) pairs, made of ([\d,]+) questions", re.MULTILINE)

Tables = Mapping[tuple[str, str], tuple[tuple[str, ...], Mapping[str, list[str]]]]
"""(suite, split) -> numbers of pairs and questions, and the cells of each test's row, as text."""


def suite_tables(folder: AuditFolder, hop: Hop) -> Tables:
    """The tables on suites in a pair's datasheet."""
    section = _SECTION.search(folder.datasheet(folder.layout.hop_datasheet(hop.name)))
    found = {}
    for suite, split, text in _TABLE.findall(section[1] if section else ""):
        counts = _COUNTS.search(text)
        rows = {test: row.split(" | ") for test, row in _ROW.findall(text)}
        found[suite.replace("\\", ""), split] = (counts.groups() if counts else (), rows)
    return found


def check_suite_tables(
    folder: AuditFolder, hop: Hop, tables: Tables, check: Check, *, listed: set[tuple[str, str]]
) -> None:
    """Reports tables on pairs of questions that the manifest does not list."""
    for suite, split in tables.keys() - listed:
        sheet = folder.layout.relative(folder.layout.hop_datasheet(hop.name))
        check.fault(sheet, None, "a table of pairs that are not in the manifest", f"{suite} on {split}")


def check_suite_table(
    folder: AuditFolder, place: SuitePlace, arrays: PairArrays, tables: Tables, check: Check
) -> None:
    """Compares the table on a suite's pairs on a split with their file."""
    sheet = folder.layout.relative(folder.layout.hop_datasheet(place.hop.name))
    counts, rows = tables.get((place.suite, place.name), ((), {}))
    wanted = (f"{len(arrays) // 2:,}", f"{arrays.n_originals:,}")
    check.n_checked += 1
    if counts != wanted:
        what = f"pairs and questions of {place.suite} on {place.name} are not {' and '.join(wanted)}"
        check.fault(sheet, None, what, " and ".join(counts) or "not there")
    expected = _rows(folder, place, arrays)
    for test in expected.keys() | rows.keys():
        check.n_checked += 1
        if rows.get(test) != expected.get(test):
            row = " | ".join(expected.get(test, ["not there"]))
            what = f"the row of {test} of {place.suite} on {place.name} is not {row}"
            check.fault(sheet, None, what, " | ".join(rows.get(test, ["not there"])))


def _rows(folder: AuditFolder, place: SuitePlace, arrays: PairArrays) -> dict[str, list[str]]:
    """The cells of each test's row in a datasheet."""
    n = len(arrays) // 2
    column = {name: arrays.columns[name][: 2 * n] for name in ("test", "tier", "relation", "cell", "answers")}
    numbers = folder.vocab.answers
    found = {}
    for number, test in enumerate(arrays.tests):
        mine = column["test"][::2] == number
        if not mine.any():
            continue
        cells = column["cell"][::2][mine]
        relations = sorted(set(column["relation"][::2][mine].tolist()))
        given = column["answers"][1::2][mine]
        n_yes, n_no = (int((given == numbers.get(name, -1)).sum()) for name in ("yes", "no"))
        found[test] = [
            _name(TIERS, int(column["tier"][::2][mine][0])),
            ", ".join(_name(RELATIONS, each) for each in relations),
            f"{int(mine.sum()):,}",
            *([f"{int((cells == cell).sum()):,}" for cell in range(4)] if place.hop.pair else []),
            f"{100 * n_yes / (n_yes + n_no):.1f}%" if n_yes + n_no else "-",
        ]
    return found


def _name(names: tuple[str, ...], number: int) -> str:
    return names[number] if 0 <= number < len(names) else str(number)
