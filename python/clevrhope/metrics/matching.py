"""Scores similarities of images and captions: `clevrhope score` of a folder of captions.

A model says how similar each image of a group is to each caption. Group scores are those of Winoground
(Thrush et al. 2022, "Winoground: Probing Vision and Language Models for Visio-Linguistic Compositionality",
section 3.3), for groups of any size.
"""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import factorial, prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.captions import GAPS, CaptionTable, meaning, read_captions
from clevrhope.errors import PredictionsError
from clevrhope.metrics.bootstrap import Floats
from clevrhope.metrics.reply_files import numbered_rows
from clevrhope.metrics.results import Measure
from clevrhope.metrics.scoring import DEFAULT_BOOTSTRAP, check_draws, checked_names, draw_seed
from clevrhope.metrics.shares import Kind, Measures, score_flags, share
from clevrhope.metrics.text_tables import interval_text, table_lines, value_text
from clevrhope.runtime.forms import INDEX, NUMBER, TEXT, Fields, ListOf
from clevrhope.runtime.reading import reading
from clevrhope.runtime.settings import suggestion

MAX_BYTES = 1 << 31
"""The most bytes of an array of similarities."""

NEAREST = (1, 5)
"""Recall is measured among this many nearest captions or images."""

BY_CHANCE = " by chance"
"""Ends the name of a row with what random similarities have on average."""

MATCHING: Measures = {
    # Of two captions of a group, or two images, the right one is more similar. Ties are half.
    "pairwise": Kind("pairwise", share("won", "compared")),
    # Every image is more similar to its own caption than to the others, every caption to its own image, and
    # both. Ties are wrong.
    "text": Kind("text", share("text", "groups")),
    "image": Kind("image", share("image", "groups")),
    "group": Kind("group", share("group", "groups")),
    **{
        f"{to}_recall_{k}": Kind(f"{to} recall@{k}", share(f"{to}_recall_{k}", "retrieved"))
        for to in ("text", "image")
        for k in NEAREST
    },
}
"""Of groups; recalls need similarities of all images to all captions of a split. A caption counts as an
image's own if it is true of it, whatever group it is from; ties are in random order."""


@dataclass(frozen=True)
class MatchingScores:
    """The scores of a model on the tables of a folder of captions.

    Attributes:
        folder: the folder.
        bootstrap: number of bootstrap samples.
        seed: seed of the bootstrap.
        scores: HOP -> row -> measure. A row is a split, what random similarities have there on average, or a
            gap in percentage points.
    """

    folder: Path
    bootstrap: int
    seed: int
    scores: Mapping[str, Mapping[str, Mapping[str, Measure]]]

    def as_json(self) -> dict[str, Any]:
        """The scores as JSON values."""
        return {**asdict(self), "folder": str(self.folder)}

    def lines(self) -> Iterator[str]:
        """For each HOP and gap, a table with the splits, what chance gives there, and the gap."""
        for hop, of_hop in self.scores.items():
            for gap, splits in GAPS.items():
                columns = [column for split in splits for column in (split, f"{split}{BY_CHANCE}")]
                columns = [column for column in (*columns, gap) if column in of_hop]
                names = [name for name in MATCHING if any(name in of_hop[each] for each in columns)]
                titles = {gap: "gap", **{f"{split}{BY_CHANCE}": BY_CHANCE.strip() for split in splits}}
                rows = [(hop, *(titles.get(each, each) for each in columns))]
                for name in names:
                    cells = (_text(of_hop[each].get(name), each == gap) for each in columns)
                    rows.append((MATCHING[name].heading, *cells))
                yield from table_lines(rows) if names else ()
        if self.bootstrap:
            yield f"95% intervals: {self.bootstrap:,} bootstrap samples of places, seed {self.seed}."


def _text(measure: Measure | None, is_gap: bool) -> str:
    if measure is None:
        return ""
    interval = f" ({interval_text(measure, is_gap)})" if measure.interval else ""
    return f"{value_text(measure, is_gap)}{interval}"


def score_captions(
    folder: Path,
    similarities: Sequence[Path],
    *,
    seed: int,
    bootstrap: int = DEFAULT_BOOTSTRAP,
    hops: Sequence[str] | None = None,
) -> MatchingScores:
    """The scores of a model on the tables that its similarities are about, and the gaps between them.

    Args:
        folder: a folder that `clevrhope captions` wrote.
        similarities: .npy, .npz or JSON lines files, as docs/matching.md describes them.
        seed: seed of the bootstrap, which draws places; both splits of a gap share the draws.
        bootstrap: number of bootstrap samples; 0 for no intervals.
        hops: the HOPs to score; by default all that the files are about.

    Raises:
        PredictionsError: a file cannot be read, is about no table or about one that another is about, or has
            another shape, too few groups, or a number that is not finite.
        DatasetError: the folder's files are missing or broken.
    """
    check_draws(bootstrap, seed)
    tables = {(table.hop, table.split): table for table in read_captions(folder)}
    known = list(dict.fromkeys(hop for hop, _ in tables))
    found = _read(similarities, list(tables.values()))
    scores: dict[str, dict[str, dict[str, Measure]]] = {}
    for hop in checked_names("--hop: no HOP", hops or known, known):
        for gap, splits in GAPS.items():
            figures = {}
            for split in splits:
                table = tables.get((hop, split))
                if table is None or table.name not in found:
                    continue
                captions, places = table.columns(folder, "caption", "place")
                flags = _flags(found[table.name], table, captions)
                measures = {
                    name: kind for name, kind in MATCHING.items() if name in flags or name == "pairwise"
                }
                units = np.asarray(places[:: table.group_size], dtype=np.int32)
                draws: dict[str, Any] = {"bootstrap": bootstrap, "seed": draw_seed(hop, gap, seed)}
                figures[split] = score_flags(flags, measures, {"": 0 * units}, units, **draws)[""][0].figures
                of_hop = scores.setdefault(hop, {})
                of_hop[split] = {name: figure.measure() for name, figure in figures[split].items()}
                of_hop[f"{split}{BY_CHANCE}"] = _chance(table, captions, of_hop[split])
            if len(figures) == len(splits):
                ood, iid = (figures[split] for split in splits)
                scores[hop][gap] = {name: ood[name].minus(iid[name]).measure() for name in ood if name in iid}
    if not scores:
        raise PredictionsError(
            f"{', '.join(map(str, similarities))}: no similarities of {', '.join(hops or known)}"
        )
    return MatchingScores(folder, bootstrap, seed, scores)


def _flags(similarities: Floats, table: CaptionTable, captions: Sequence[str]) -> dict[str, Any]:
    """(1, G) what the formulas of `MATCHING` sum, for G groups of n images.

    `similarities` are (G, n, n) of the images and captions of each group, or (G n, G n) of all.
    """
    n, g = table.group_size, np.arange(table.groups)
    of_groups = (
        similarities if similarities.ndim == 3 else similarities.reshape(len(g), n, len(g), n)[g, :, g]
    )
    own = np.diagonal(of_groups, axis1=1, axis2=2)  # (G, n)
    others = ~np.eye(n, dtype=bool)
    text = (own[:, :, None] - of_groups)[:, others]  # (G, n (n - 1)): by how much the own caption is nearer
    image = (own[:, None, :] - of_groups)[:, others]  # the same for the own image
    both = np.concatenate([text, image], axis=1)
    flags = {
        "groups": np.ones(len(g)),
        "won": (both > 0).sum(axis=1) + (both == 0).sum(axis=1) / 2,
        "compared": np.full(len(g), both.shape[1]),
        "text": (text > 0).all(axis=1),
        "image": (image > 0).all(axis=1),
        "group": (both > 0).all(axis=1),
    }
    if similarities.ndim == 2:
        flags["retrieved"] = np.full(len(g), n)
        for to, matrix in (("text", similarities), ("image", similarities.T)):
            for k, hits in _hits(matrix, captions).items():
                flags[f"{to}_recall_{k}"] = hits.reshape(-1, n).sum(axis=1)
    return {name: flag[np.newaxis] for name, flag in flags.items()}


def _hits(similarities: Floats, captions: Sequence[str]) -> dict[int, Floats]:
    """For each number in `NEAREST`: (N,) the probability that one of so many nearest columns is right.

    Row i asks for the columns whose captions mean the same as caption i. Columns that are equally similar
    come in random order.
    """
    numbers = {what: number for number, what in enumerate(dict.fromkeys(map(meaning, captions)))}
    meanings = np.asarray([numbers[meaning(caption)] for caption in captions])
    hits = {k: np.empty(len(captions)) for k in NEAREST}
    for row, values in enumerate(similarities):
        is_right = meanings == meanings[row]
        best = values[is_right].max()
        right, wrong = (int(((values == best) & those).sum()) for those in (is_right, ~is_right))
        nearer = int((values > best).sum())
        for k, of_k in hits.items():
            # The probability that none of the columns drawn from those that tie is right.
            draws = range(max(0, min(k - nearer, wrong + 1)))
            of_k[row] = 1 - prod((wrong - draw) / (wrong + right - draw) for draw in draws)
    return hits


def _chance(
    table: CaptionTable, captions: Sequence[str], measures: Mapping[str, Measure]
) -> dict[str, Measure]:
    """What random similarities, no two of them equal, have on average."""
    n = table.group_size
    shares = {
        "pairwise": 0.5,
        "text": n**-n,
        "image": n**-n,
        "group": factorial(n - 1) / factorial(2 * n - 1),
    }
    if "text_recall_1" in measures:
        hits = _hits(np.zeros((table.n_rows, table.n_rows)), captions)
        shares |= {
            f"{to}_recall_{k}": float(of_k.mean()) for to in ("text", "image") for k, of_k in hits.items()
        }
    return {name: Measure(100 * shares[name], each.n) for name, each in measures.items()}


# Files of similarities


def _read(files: Sequence[Path], tables: Sequence[CaptionTable]) -> dict[str, Floats]:
    """Name of a table -> its similarities; errors as for `score_captions`."""
    found: dict[str, Floats] = {}
    for path in files:
        arrays = _arrays(path) if path.suffix in (".npy", ".npz") else _lines(path, tables)
        for name, array in arrays:
            table = _table_named(name, tables, path)
            n, g, rows = table.group_size, table.groups, table.n_rows
            if table.name in found:
                raise PredictionsError(f"{path}: similarities of {table.name} twice; give those of one model")
            if array.dtype.kind not in "fiu" or array.shape not in ((g, n, n), (rows, rows)):
                raise PredictionsError(
                    f"{path}: {name} is {array.dtype} of shape {array.shape}; expected numbers of shape "
                    f"{(g, n, n)}, images and captions of each group, or {(rows, rows)}, of all"
                )
            wrong = np.argwhere(~np.isfinite(array))
            if len(wrong):
                place = ", ".join(map(str, wrong[0]))
                raise PredictionsError(
                    f"{path}: {name}[{place}] is {array[tuple(wrong[0])]}; expected a number"
                )
            found[table.name] = array.astype(np.float64)
    return found


def _table_named(name: str, tables: Sequence[CaptionTable], path: Path) -> CaptionTable:
    """The table with a name; without a HOP, the split's only one."""
    fitting = [table for table in tables if name in (table.name, table.split)]
    if len(fitting) != 1:
        known = [table.name for table in tables]
        near = suggestion(name, [*known, *(table.split for table in tables)])
        what = "is of several HOPs" if fitting else f"is no table{near}"
        raise PredictionsError(f'{path}: "{name}" {what}; there are: {", ".join(known)}')
    return fitting[0]


def _arrays(path: Path) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """The arrays of a .npz file by name, or that of a .npy file, which has the name of its file."""
    with reading(path, "a file of arrays", error=PredictionsError):
        sizes = [path.stat().st_size]
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                sizes = [info.file_size for info in archive.infolist()]
        if sum(sizes) > MAX_BYTES:
            raise PredictionsError(f"{path}: {sum(sizes):,} bytes; at most {MAX_BYTES:,} are read")
        loaded = np.load(path, allow_pickle=False)
        named = {path.stem: loaded} if path.suffix == ".npy" else dict(loaded)
    yield from named.items()


def _lines(path: Path, tables: Sequence[CaptionTable]) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """The similarities of groups in JSON lines: hop, split, group, and a row of numbers for each image."""
    found: dict[str, Floats] = {}
    for where, row in numbered_rows(path, _LINE):
        table = _table_named(".".join(row[key] for key in ("hop", "split") if key in row), tables, path)
        n, group = table.group_size, row["group"]
        array = found.setdefault(table.name, np.full((table.groups, n, n), np.nan))
        if group >= table.groups or not np.isnan(array[group, 0, 0]):
            what = "there already" if group < table.groups else f"not below {table.groups}"
            raise PredictionsError(f"{where}: group {group} is {what}")
        if [len(each) for each in row["similarities"]] != [n] * n:
            raise PredictionsError(f"{where}: similarities should be {n} lists of {n} numbers")
        array[group] = row["similarities"]
    for name, array in found.items():
        missing = np.flatnonzero(np.isnan(array[:, 0, 0]))
        if len(missing):
            raise PredictionsError(
                f"{path}: {len(missing):,} of {len(array):,} groups of {name} are missing, first {missing[0]}"
            )
    yield from found.items()


_LINE = Fields({"split": TEXT, "group": INDEX, "similarities": ListOf(ListOf(NUMBER))}, {"hop": TEXT})
