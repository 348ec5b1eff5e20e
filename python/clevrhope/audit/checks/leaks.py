"""The lines of the audit's report that the check for leaks fills in."""

from collections import Counter

from clevrhope.audit.checks.question_rows import check_question_rows
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.audit.leaks.report import Kind, LeakReport
from clevrhope.audit.report import Check
from clevrhope.runtime.progress import Advance
from clevrhope.splits.kinds import OOD, SPLITS


def check_pairs(folder: AuditFolder, leaks: LeakCheck, advance: Advance) -> list[Check]:
    """Looks for leaks in each sub-dataset; `leaks` is the check of this folder.

    Raises:
        DatasetError: a file is missing or cannot be read.
    """
    implied = ", nor does a program imply it" if leaks.strictness == "implied" else ""
    lines = {
        kind: Check(kind.value, proves, unit)
        for kind, proves, unit in (
            (Kind.PROGRAM, "every program, executed again, gives the stored answer", "questions"),
            (
                Kind.PAIR,
                f"no train or IID image, program or text holds the pair{implied}; every OOD question and "
                f"{OOD} image does; every question about a single value names it",
                "questions",
            ),
            (
                Kind.PALETTE,
                "if not all combinations of values occur, no image shows another one, except the pair where "
                "it belongs, and no question of a pair names one",
                "images",
            ),
            (Kind.SHARED, "no image is in two splits of a pair, except the minimal ones", "images"),
            (Kind.DISAGREEMENT, "HDF5, JSON and scene files agree on every question", "questions"),
            (
                Kind.GROUP,
                "of one-object images that ask for the pair or a value, one in each group shows it, and the "
                "answer for all others is no; each counting set has the answers 0 to 5",
                "images",
            ),
        )
    }
    n_described = 0
    for hop in folder.hops:
        names = [split.name for split in folder.all_splits if split.hop == hop]
        readable = [split.name for split in folder.splits if split.hop == hop]
        unread = [
            name for name in names if not folder.is_readable(folder.layout.questions_json(hop.name, name))
        ]
        if readable:
            only = None if readable == names else readable
            report = leaks.check(hop, splits=only, without_json=unread)
            n_described += sum(
                each.n_described for each in report.splits if SPLITS[each.split].asked == "never"
            )
            _add(lines, report)
            check_question_rows(folder, hop, lines[Kind.DISAGREEMENT])
        advance(1)
    if not lines[Kind.DISAGREEMENT].n_checked and not lines[Kind.DISAGREEMENT].n_faults:
        lines[Kind.DISAGREEMENT].skip("this folder has no question files in JSON")
    if leaks.strictness == "chain":
        lines[Kind.PAIR].notes.append(
            f"made with --strictness chain; the default rule would find {n_described:,} train and IID "
            'questions that mention a pair in a description that passes through "or" or "and"'
        )
    if not any(hop.target for hop in folder.hops):
        lines[Kind.PAIR].skip("this folder holds nothing out")
    if not any(hop.palette for hop in folder.hops):
        lines[Kind.PALETTE].skip("all combinations of values occur in this folder")
    if not any(_has_groups(split.name) for split in folder.splits):
        lines[Kind.GROUP].skip(
            "this folder has no groups of one-object images, nor questions about single values"
        )
    return list(lines.values())


def _add(lines: dict[Kind, Check], report: LeakReport) -> None:
    lines[Kind.PROGRAM].n_checked += sum(each.n_questions for each in report.splits)
    lines[Kind.DISAGREEMENT].n_checked += sum(each.n_questions for each in report.splits if each.has_json)
    lines[Kind.SHARED].n_checked += report.n_images
    lines[Kind.PALETTE].n_checked += report.n_images if report.hop.palette else 0
    for each in report.splits:
        lines[Kind.PAIR].n_checked += each.n_questions if report.hop.target else 0
        lines[Kind.GROUP].n_checked += each.n_images if _has_groups(each.split) else 0
    listed: Counter[Kind] = Counter()
    for violation in report.violations:
        listed[violation.kind] += 1
        check = lines[violation.kind]
        check.fault(violation.file, violation.index, violation.problem, violation.value)
    for kind, n in report.counts.items():
        lines[kind].n_faults += n - listed[kind]


def _has_groups(split: str) -> bool:
    """Whether the answers for the images of a group depend on each other."""
    kind = SPLITS[split]
    return kind.shown == "in one" or kind.drawn == "sets"
