"""The check for leaks of every pair in, its violations sorted into lines of the report out."""

from clevrhope.audit.checks.question_rows import check_question_rows
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.audit.leaks.report import ONE_SHOWS_IT, LeakReport
from clevrhope.audit.report import Tally
from clevrhope.runtime.progress import Advance

PROGRAMS, PAIR, PALETTE, APART, SAME, GROUPS = (
    "programs",
    "held-out pair",
    "palette",
    "apart",
    "HDF5 and JSON",
    "minimal answers",
)

_LINE_OF = (
    ("its program has no answer", PROGRAMS),
    ("its program gives", PROGRAMS),
    ("mentions", PAIR),
    ("does not mention", PAIR),
    ("not seen", PALETTE),
    ("not to be seen", PALETTE),
    ("by way of likenesses", PAIR),
    ("of this place", GROUPS),
    ("of this set", GROUPS),
    ("answers in", GROUPS),
    ("a picture of", PAIR),
)
"""Words of a violation -> the line that it belongs to; what no entry has is about files that disagree."""


def check_pairs(folder: AuditFolder, check: LeakCheck, advance: Advance) -> list[Tally]:
    """Looks for leaks in each sub-dataset; `check` is of this folder.

    Raises:
        DatasetError: a file that is missing or cannot be read.
    """
    lines = {
        PROGRAMS: Tally(PROGRAMS, "every program, executed again, gives the stored answer", "questions"),
        PAIR: Tally(
            PAIR,
            "no train or IID picture, program or text holds the pair"
            + ("" if check.may_imply else ", nor does a program imply it")
            + "; every OOD question and complex_ood picture does; every question on a value alone names it",
            "questions",
        ),
        PALETTE: Tally(
            PALETTE,
            "where not all combinations of values occur, no picture shows another, the pair apart where it "
            "belongs, and no question of a pair names one",
            "pictures",
        ),
        APART: Tally(APART, "no picture is in two splits of a pair, the minimal ones apart", "pictures"),
        SAME: Tally(SAME, "HDF5, JSON and scene files say the same of every question", "questions"),
        GROUPS: Tally(
            GROUPS,
            "one picture of each minimal_ood place shows the pair, or of existence the value; exactly the "
            "others are no; each counting set has the answers 0 to 5",
            "pictures",
        ),
    }
    for hop in folder.hops:
        names = [split.name for split in folder.all_splits if split.hop == hop]
        readable = [split.name for split in folder.splits if split.hop == hop]
        unread = [
            name for name in names if not folder.is_readable(folder.layout.questions_json(hop.name, name))
        ]
        if readable:
            only = None if readable == names else readable
            _add(lines, check.check(hop, splits=only, without_json=unread))
            check_question_rows(folder, hop, lines[SAME])
        advance(1)
    if not lines[SAME].n_checked and not lines[SAME].n_faults:
        lines[SAME].skip("no question files in JSON: they were left out")
    if not any(hop.asked for hop in folder.hops):
        lines[PAIR].skip("nothing is held out in this folder")
    if not any(hop.palette for hop in folder.hops):
        lines[PALETTE].skip("all combinations of values occur in this folder")
    if not any(split.name in (*ONE_SHOWS_IT, "counting") for split in folder.splits):
        lines[GROUPS].skip("neither minimal_ood nor a value that is asked for alone is in this folder")
    return list(lines.values())


def _add(lines: dict[str, Tally], report: LeakReport) -> None:
    lines[PROGRAMS].n_checked += sum(each.n_questions for each in report.splits)
    lines[SAME].n_checked += sum(each.n_questions for each in report.splits if each.has_json)
    lines[APART].n_checked += sum(each.n_pictures for each in report.splits)
    for each in report.splits:
        lines[PALETTE].n_checked += each.n_pictures if report.hop.palette else 0
        lines[PAIR].n_checked += each.n_questions if report.hop.asked else 0
        lines[GROUPS].n_checked += each.n_pictures if each.split in (*ONE_SHOWS_IT, "counting") else 0
    for violation in report.violations:
        tally = lines[_line(violation.problem)]
        tally.fault(violation.file, violation.index, violation.problem, violation.value)
    more = report.n_violations - len(report.violations)
    if more:
        last = lines[_line(report.violations[-1].problem)]
        last.n_faults += more
        last.notes.append(f"{report.hop.name}: {more:,} violations more, of any of these kinds")


def _line(problem: str) -> str:
    if " is also in " in problem:
        return APART
    return next((line for words, line in _LINE_OF if words in problem), SAME)
