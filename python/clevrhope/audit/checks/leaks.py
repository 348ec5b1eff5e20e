"""The check for leaks in each sub-dataset of a folder."""

from collections import Counter

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.json_agreement import Compared, Keys, compare_prefixes, family_places, row_keys
from clevrhope.audit.leaks.report import Kind
from clevrhope.audit.question_files import SplitFile
from clevrhope.audit.report import Check, Lines
from clevrhope.dataset.clevr_json import parse_row
from clevrhope.dataset.split_files import SplitArrays
from clevrhope.runtime.progress import Advance
from clevrhope.runtime.reading import reading
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS


def check_pairs(folder: AuditFolder, lines: Lines, advance: Advance) -> None:
    """Looks for leaks in each sub-dataset, and compares its question files with HDF5.

    Raises:
        DatasetError: a file is missing or cannot be read.
    """
    n_described = 0
    for hop in folder.hops:
        readable = [split for split in folder.splits if split.hop == hop]
        if readable:
            n_described += _check_hop(folder, hop, readable, lines)
        advance(1)
    pair, files = lines[Kind.PAIR], lines[Kind.DISAGREEMENT]
    if not files.n_checked and not files.n_faults:
        files.skip("this folder has no question files in JSON")
    if folder.leaks.strictness == "chain":
        pair.notes.append(
            f"made with --strictness chain; the default rule would find {n_described:,} train and IID "
            'questions that mention a pair in a description that passes through "or" or "and"'
        )
    if not any(hop.target for hop in folder.hops):
        pair.skip("this folder holds nothing out")
    if not any(hop.palette for hop in folder.hops):
        lines[Kind.PALETTE].skip("all combinations of values occur in this folder")
    if not any(split.is_grouped for split in folder.splits):
        lines[Kind.GROUP].skip("this folder has no minimal sets, nor questions about single values")
    for pool in dict.fromkeys(each.pool for each in folder.splits if SPLITS[each.name].drawn == "sets"):
        _check_positions(folder, pool, lines[Kind.GROUP])


def _check_hop(folder: AuditFolder, hop: Hop, readable: list[SplitFile], lines: Lines) -> int:
    """Checks the readable splits of a sub-dataset; returns how many questions only the default rule finds."""
    splits = {split.name: split for split in folder.all_splits if split.hop == hop}
    unread = [name for name, split in splits.items() if not folder.is_readable(split.json)]
    names = [split.name for split in readable]
    families = family_places(folder.templates.files())

    def keys(name: str, arrays: SplitArrays) -> Keys:
        split = splits[name]
        compared = Compared(split.json, folder.layout.relative(split.json), split.file)
        compare_prefixes(compared, arrays, lines[Kind.DISAGREEMENT])
        return row_keys(name, arrays, families)

    report = folder.leaks.check(hop, splits=names, without_json=unread, lines=lines, keys=keys)
    never = [each for each in report.splits if SPLITS[each.split].asked == "never"]
    return sum(each.n_described for each in never)


def _check_positions(folder: AuditFolder, pool: str, check: Check) -> None:
    """Checks that all images of a counting pool have their objects at the most common positions."""
    at: dict[int, tuple[float, ...]] = {}
    for path, line, content in folder.scene_rows(pool):
        row = parse_row(content, path, line)
        with reading(path, "a scene file of a dataset"):
            at[int(row["image_index"])] = tuple(
                float(x) for each in row["objects"] for x in each["3d_coords"][:2]
            )
    counted = Counter(at.values())
    usual = max(counted, key=counted.__getitem__, default=())
    for index, places in at.items():
        if places != usual:
            problem = "objects are not at the same positions as in the other images"
            check.fault(f"scenes/{pool}", index, problem, places)
