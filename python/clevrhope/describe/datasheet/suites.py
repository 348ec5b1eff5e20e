"""The section of a datasheet on its suites of paired tests, from measurements of their files."""

import re
from collections.abc import Iterator, Sequence

from clevrhope.describe.markdown import code, escape, number, percent, table
from clevrhope.describe.suites import SuiteStats

HEADING = "## Which paired tests are there?"

BEFORE = "## What is it for, and what not?"
"""Heading of the section that follows."""


def suites_section(suites: Sequence[SuiteStats]) -> str:
    """The section; "" if there are no suites. The audit reads its tables."""
    if not suites:
        return ""
    intro = (
        "A pair is a question of a test set and a partner that was made from it, whose answer follows from "
        "that of the question; all were executed. *Answers* says how: the same (same), yes and no exchanged "
        "(flip), yes exactly for one answer (is), or yes for numbers above 0 (positive). *Tier* is `in` for "
        "tests in the words and functions of the questions above, and `beyond` for others. *Yes* is its "
        "share among the partners that are answered yes or no."
    )
    cells = (
        " *10* counts the pairs whose original alone mentions the held-out pair, *01* those whose partner "
        "alone does, *11* both and *00* neither."
        if any(each.cells for each in suites)
        else ""
    )
    return "\n\n".join([HEADING, intro + cells, *_tables(suites)])


def _tables(suites: Sequence[SuiteStats]) -> Iterator[str]:
    for each in suites:
        yield (
            f"### {escape(each.suite)} on {code(each.split)}\n\n{number(each.n_pairs)} pairs, made of "
            f"{number(each.n_originals)} questions"
            + (f"; none of {', '.join(map(code, each.empty))}." if each.empty else ".")
        )
        if each.tests:
            rows = [
                (
                    code(test.test),
                    test.tier,
                    ", ".join(test.relations),
                    number(test.n_pairs),
                    *(number(test.cells.get(cell, 0)) for cell in each.cells),
                    percent(test.yes_share),
                )
                for test in each.tests
            ]
            yield table(["test", "tier", "answers", "pairs", *each.cells, "yes"], rows)


def with_suites(sheet: str, suites: Sequence[SuiteStats]) -> str:
    """A datasheet with the section on these suites, which replaces an earlier one."""
    kept = re.sub(rf"^{re.escape(HEADING)}\n.*?(?=^## )", "", sheet, flags=re.DOTALL | re.MULTILINE)
    section = suites_section(suites)
    return kept.replace(BEFORE, f"{section}\n\n{BEFORE}", 1) if section else kept
