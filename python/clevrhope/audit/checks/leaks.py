"""The check for leaks of every held-out pair, as lines of the audit's report."""

from collections import Counter

from clevrhope.audit.checks.question_rows import check_question_rows
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.audit.leaks.report import Kind, LeakReport
from clevrhope.audit.report import Tally
from clevrhope.runtime.progress import Advance
from clevrhope.splits.kinds import SPLITS


def check_pairs(folder: AuditFolder, check: LeakCheck, advance: Advance) -> list[Tally]:
    """Looks for leaks in each sub-dataset; `check` is of this folder.

    Raises:
        DatasetError: a file that is missing or cannot be read.
    """
    lines = {
        Kind.PROGRAM: Tally(
            Kind.PROGRAM.value, "every program, executed again, gives the stored answer", "questions"
        ),
        Kind.PAIR: Tally(
            Kind.PAIR.value,
            "no train or IID image, program or text holds the pair"
            + ("" if check.may_imply else ", nor does a program imply it")
            + "; every OOD question and complex_ood image does; every question on a value alone names it",
            "questions",
        ),
        Kind.PALETTE: Tally(
            Kind.PALETTE.value,
            "where not all combinations of values occur, no image shows another, the pair apart where it "
            "belongs, and no question of a pair names one",
            "images",
        ),
        Kind.SHARED: Tally(
            Kind.SHARED.value, "no image is in two splits of a pair, the minimal ones apart", "images"
        ),
        Kind.DISAGREEMENT: Tally(
            Kind.DISAGREEMENT.value, "HDF5, JSON and scene files say the same of every question", "questions"
        ),
        Kind.GROUP: Tally(
            Kind.GROUP.value,
            "one image of each minimal_ood place shows the pair, or of existence the value; exactly the "
            "others are no; each counting set has the answers 0 to 5",
            "images",
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
            check_question_rows(folder, hop, lines[Kind.DISAGREEMENT])
        advance(1)
    if not lines[Kind.DISAGREEMENT].n_checked and not lines[Kind.DISAGREEMENT].n_faults:
        lines[Kind.DISAGREEMENT].skip("no question files in JSON: they were left out")
    if not any(hop.target for hop in folder.hops):
        lines[Kind.PAIR].skip("nothing is held out in this folder")
    if not any(hop.palette for hop in folder.hops):
        lines[Kind.PALETTE].skip("all combinations of values occur in this folder")
    if not any(_has_groups(split.name) for split in folder.splits):
        lines[Kind.GROUP].skip("neither minimal_ood nor a value that is asked for alone is in this folder")
    return list(lines.values())


def _add(lines: dict[Kind, Tally], report: LeakReport) -> None:
    lines[Kind.PROGRAM].n_checked += sum(each.n_questions for each in report.splits)
    lines[Kind.DISAGREEMENT].n_checked += sum(each.n_questions for each in report.splits if each.has_json)
    lines[Kind.SHARED].n_checked += sum(each.n_images for each in report.splits)
    for each in report.splits:
        lines[Kind.PALETTE].n_checked += each.n_images if report.hop.palette else 0
        lines[Kind.PAIR].n_checked += each.n_questions if report.hop.target else 0
        lines[Kind.GROUP].n_checked += each.n_images if _has_groups(each.split) else 0
    listed: Counter[Kind] = Counter()
    for violation in report.violations:
        listed[violation.kind] += 1
        tally = lines[violation.kind]
        tally.fault(violation.file, violation.index, violation.problem, violation.value)
    for kind, n in report.counts.items():
        lines[kind].n_faults += n - listed[kind]


def _has_groups(split: str) -> bool:
    """Whether the images of a split come in groups whose answers follow from each other."""
    kind = SPLITS[split]
    return kind.shown == "in one" or kind.drawn == "sets"
