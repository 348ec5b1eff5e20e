"""Manifest, datasheets and splits in, whether they give the same numbers, minimal sets the right ones, out.

The minimal sets' sizes follow from their construction (CLEVR-HOPE, section 3): every grid of two values of
each held-out type, with every combination of the other types' values, at so many places. In a grid that has
the pair minimal_ood asks of all corners for the pair, and minimal_iid of all other corners for each of these;
in any other grid minimal_iid asks of all corners for each.
"""

import re
from collections.abc import Mapping, Sequence, Set
from itertools import combinations, product
from math import comb, prod
from pathlib import Path

from clevrhope.audit.folder import AuditFolder, SplitPlace
from clevrhope.audit.report import Tally
from clevrhope.runtime.progress import Advance
from clevrhope.runtime.reading import read_bytes
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS

GROUPS_OF_A_PAIR = 960
"""Places whose grid has the pair, or as near below as whole copies come, in sets of the paper's size."""


def check_counts(folder: AuditFolder, advance: Advance) -> Tally:
    """Questions, images and places are as many as manifest and datasheets say.

    Raises:
        DatasetError: a file that is missing or cannot be read.
    """
    tally = Tally(
        "counts",
        "manifest, datasheets and files give the same numbers; minimal sets are of the right size",
        "numbers",
    )
    sheets = {hop.name: _datasheet(folder, hop) for hop in folder.hops}
    whole_sheet, whole = folder.layout.relative(folder.layout.datasheet), _folder_datasheet(folder)
    for split in folder.splits:
        entry = folder.manifest.splits[split.hop.name][split.name]
        with folder.open(split) as arrays:
            n_questions, n_images = len(arrays), len(arrays.used)
            pool = arrays.pool
        found = {"questions": n_questions, "pictures": n_images}
        for name, n in found.items():
            _compare(tally, split.file, f"{name} in the manifest", n, entry.get(name))
            sheet = folder.layout.relative(folder.layout.hop_datasheet(split.hop.name))
            _compare(
                tally,
                sheet,
                f"{name} of {split.name}",
                n,
                sheets[split.hop.name].get(split.name, {}).get(name),
            )
        said = whole.get(split.hop.name, {}).get(split.name)
        _compare(tally, whole_sheet, f"questions of {split.hop.name} {split.name}", n_questions, said)
        if pool != split.pool:
            tally.fault(split.file, None, f"is of pool {pool}, the manifest says", split.pool)
        if split.is_prelim:
            _prelim(tally, folder, split, n_questions, int(entry["sets"]))
        if split.is_minimal:
            _minimal(tally, folder, split, n_questions, int(entry["places"]))
        advance(1)
    _unnamed(tally, folder, sheets)
    for pool, entry in folder.manifest.pools.items():
        begin = f"images/{pool}/"
        listed = sum(name.startswith(begin) and name.endswith(".png") for name in folder.manifest.files)
        if listed:
            _compare(tally, "manifest.json", f"images of pool {pool}", listed, entry.get("pictures"))
    return tally


def _unnamed(tally: Tally, folder: AuditFolder, sheets: Mapping[str, Mapping[str, object]]) -> None:
    """Splits that have a file or a row in a datasheet, but that the manifest's `splits` lack.

    Every check goes by `splits`, so of these nothing else would be looked at.
    """
    known = {split.file for split in folder.all_splits}
    for name in folder.manifest.files:
        if name.startswith("hops/") and name.endswith(".h5"):
            tally.n_checked += 1
            if name not in known:
                tally.fault(name, None, "is of no split of the manifest, which lists it", Path(name).stem)
    for hop in folder.hops:
        for split in sheets[hop.name].keys() - folder.manifest.splits[hop.name].keys():
            sheet = folder.layout.relative(folder.layout.hop_datasheet(hop.name))
            tally.fault(sheet, None, "a row for a split that the manifest has not", split)


def _compare(tally: Tally, file: str, what: str, there: int, said: object) -> None:
    tally.n_checked += 1
    if there != said:
        tally.fault(file, None, f"{what}: {said}, but in the files there are", there)


def _minimal(tally: Tally, folder: AuditFolder, split: SplitPlace, n_questions: int, n_places: int) -> None:
    """Sizes of whole minimal sets; those of a few places are looked at place by place, with the scenes."""
    seen = folder.seen(split.hop)
    grids, with_pair, others = minimal_grids(split.hop, dict(folder.attribute_types))
    questions = minimal_questions(split, grids, with_pair)
    if seen is not None:
        grids, questions = _grids_seen(split, dict(folder.attribute_types), seen)
    copies, rest = divmod(n_places, grids * others)
    if rest:
        return  # the first places of a copy: of one folder, each pair may have another size
    tally.n_checked += 1
    most = max(1, GROUPS_OF_A_PAIR // (grids * others))
    if not 1 <= copies <= most:
        tally.fault(
            split.file, None, f"places, of {grids * others} kinds and {most} copies at most", n_places
        )
    wanted = questions * others * copies
    if n_questions != wanted:
        tally.fault(split.file, None, f"not {wanted} questions, as {n_places} places have", n_questions)


def _prelim(tally: Tally, folder: AuditFolder, split: SplitPlace, n_questions: int, n_sets: int) -> None:
    """Two questions a group of existence, of which there are so many at most, and six a set of counting."""
    tally.n_checked += 1
    of_each = SPLITS[split.name].group
    if n_questions != of_each * n_sets:
        problem = f"not {of_each * n_sets} questions, as {n_sets} sets have"
        tally.fault(split.file, None, problem, n_questions)
    if SPLITS[split.name].drawn == "groups":
        n_values = {kind: len(values) for kind, values in folder.attribute_types}
        ((kind, _),) = split.hop.target
        others = prod(n for each, n in n_values.items() if each != kind)
        copies = max(1, GROUPS_OF_A_PAIR // (comb(n_values[kind], 2) * others))
        most = (n_values[kind] - 1) * others * copies
        if n_sets > most:
            tally.fault(split.file, None, f"groups, of {most} that there can be", n_sets)


def minimal_grids(hop: Hop, values: Mapping[str, object]) -> tuple[int, int, int]:
    """Grids of a pair's types, those that have the pair, and combinations of the other types' values."""
    n_values = {kind: len(list(of_kind)) for kind, of_kind in values.items()}  # type: ignore[call-overload]
    kinds = [kind for kind, _ in hop.pair or ()]
    grids = prod(comb(n_values[kind], 2) for kind in kinds)
    with_pair = prod(n_values[kind] - 1 for kind in kinds)
    others = prod(n for kind, n in n_values.items() if kind not in kinds)
    return grids, with_pair, others


def minimal_questions(split: SplitPlace, grids: int, with_pair: int) -> int:
    """Questions on one copy of each grid."""
    corners = split.hop.corners
    if SPLITS[split.name].shown == "in one":
        return with_pair * corners
    return with_pair * (corners - 1) ** 2 + (grids - with_pair) * corners**2


def _grids_seen(
    split: SplitPlace, values: Mapping[str, Sequence[str]], seen: Set[tuple[str, ...]]
) -> tuple[int, int]:
    """Grids of which three corners or all were seen, and questions on one copy of each.

    In distribution each corner that was seen is asked for on all that were; out of distribution the pair is,
    on all corners of the grids that have it.
    """
    pair = tuple(value for _, value in split.hop.pair or ())
    n_grids = n_questions = 0
    sides = (combinations(values[kind], 2) for kind, _ in split.hop.pair or ())
    for grid in product(*sides):
        corners = set(product(*grid))
        n_seen = len(corners & seen)
        if n_seen >= len(corners) - 1:
            n_grids += 1
            if SPLITS[split.name].shown == "in one":
                n_questions += len(corners) if pair in corners else 0
            else:
                n_questions += n_seen**2
    return n_grids, n_questions


_ROW = re.compile(r"^\| `(\w+)` \| `[\w-]+` \| ([\d,]+) \| ([\d,]+) \|", re.MULTILINE)
_HOP_ROW = re.compile(r"^\| \[([^\]]+)\]\(hops/[^)]+\) \| [^|]* \|(.*)$")


def _datasheet(folder: AuditFolder, hop: Hop) -> dict[str, dict[str, int]]:
    """Questions and images of each split, as a pair's datasheet has them."""
    rows = _ROW.findall(_text(folder.layout.hop_datasheet(hop.name)))
    return {split: {"questions": _number(n), "pictures": _number(m)} for split, n, m in rows}


def _folder_datasheet(folder: AuditFolder) -> dict[str, dict[str, int]]:
    """Pair -> split -> questions, as the folder's datasheet has them; a split without a number left out."""
    lines = _text(folder.layout.datasheet).splitlines()
    head = next((line for line in lines if line.startswith("| sub-dataset |")), "")
    splits = re.findall(r"`(\w+)`", head)
    found: dict[str, dict[str, int]] = {}
    for line in lines:
        row = _HOP_ROW.match(line)
        if row:
            cells = [cell.strip() for cell in row[2].strip("|").split("|")]
            numbers = zip(splits, cells, strict=False)
            found[row[1]] = {split: _number(cell) for split, cell in numbers if cell[:1].isdigit()}
    return found


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _text(path: Path) -> str:
    return read_bytes(path, "a datasheet").decode(errors="replace")
