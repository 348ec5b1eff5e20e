"""A dataset and a CLEVR_v1.0 folder in, whether anything of CLEVR's val or test is in the dataset out.

Models are tuned on CLEVR's val and tested on its test: a dataset that holds their scenes or questions would
leak them. Scenes are held against each other by their objects' values and places, questions by the names of
their images. CLEVR published test without scenes, so there only names tell.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Tally
from clevrhope.dataset.clevr_folder import TYPES, clevr_splits, questions_file, scenes_file
from clevrhope.dataset.clevr_json import parse_row, read_numbered_rows, read_row_lines
from clevrhope.dataset.json_rows import read_list
from clevrhope.describe.stats.as_json import as_json
from clevrhope.describe.stats.compare import measure_folder
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.progress import Advance, Progress
from clevrhope.runtime.reading import reading

KEPT_APART = ("val", "test")
"""CLEVR's splits of which nothing may be in a dataset."""

NEAR = 1e-4
"""Places that differ by less are the same; CLEVR's files have some 16 decimals, datasets 6."""

Values = tuple[tuple[str, ...], ...]
Places = tuple[float, ...]


def check_clevr_folder(clevr: Path) -> None:
    """Raises what is wrong with a CLEVR folder before anything long begins.

    Raises:
        DatasetError: no val or test split of CLEVR's kind in it.
    """
    if not clevr.is_dir():
        raise DatasetError(f"{clevr}: no such folder; expected a CLEVR_v1.0 folder (--against)")
    if not any(scenes_file(clevr, split).is_file() for split in KEPT_APART):
        raise DatasetError(
            f"{clevr}: no CLEVR_v1.0 folder: neither {scenes_file(clevr, 'val').relative_to(clevr)} nor "
            f"{scenes_file(clevr, 'test').relative_to(clevr)} is there"
        )


def check_against(folder: AuditFolder, clevr: Path, advance: Advance) -> list[Tally]:
    """Nothing of CLEVR's val and test is in the dataset.

    Raises:
        DatasetError: a file that is broken, or no scene or question; says which.
    """
    scenes = Tally("scenes of CLEVR", "no scene has the objects of one of CLEVR's val or test", "scenes")
    questions = Tally(
        "questions of CLEVR", "no question is one of CLEVR's val or test, by its image", "questions"
    )
    theirs = _Scenes()
    names: set[str] = set()
    for split in KEPT_APART:
        for key, path in (("scenes", scenes_file(clevr, split)), ("questions", questions_file(clevr, split))):
            if not path.is_file():
                scenes.notes.append(f"{path.relative_to(clevr)} is not there")
                continue
            for n, row in enumerate(read_list(path, key)):
                try:
                    names.add(str(row["image_filename"]))
                    if key == "scenes":
                        theirs.add(row, f"{path.name}[{n}]")
                except (KeyError, TypeError, ValueError, IndexError) as error:
                    raise DatasetError(
                        f"{path}: {key}[{n}] is no row of CLEVR's files ({error!r})"
                    ) from error
    _scenes(folder, theirs, names, scenes, advance)
    _questions(folder, names, questions)
    return [scenes, questions]


def objects_of(scene: Mapping[str, Any]) -> tuple[Values, Places]:
    """What is where in a scene, whatever the objects' order: values of each, and x and y of each.

    Raises:
        KeyError: not a scene of CLEVR's kind.
    """
    objects = sorted(
        (tuple(str(each[kind]) for kind in TYPES), float(each["3d_coords"][0]), float(each["3d_coords"][1]))
        for each in scene["objects"]
    )
    return tuple(values for values, _, _ in objects), tuple(at for _, *place in objects for at in place)


class _Scenes:
    """CLEVR's scenes, to be asked whether one of them is like another."""

    def __init__(self) -> None:
        self._by_values: dict[Values, list[tuple[Places, str]]] = {}

    def add(self, scene: Mapping[str, Any], name: str) -> None:
        values, places = objects_of(scene)
        self._by_values.setdefault(values, []).append((places, name))

    def like(self, scene: Mapping[str, Any]) -> str | None:
        """The name of a scene with these objects at these places, give or take `NEAR`."""
        values, places = objects_of(scene)
        return next(
            (
                name
                for others, name in self._by_values.get(values, ())
                if all(abs(a - b) < NEAR for a, b in zip(places, others, strict=True))
            ),
            None,
        )


def _scenes(folder: AuditFolder, theirs: _Scenes, names: set[str], tally: Tally, advance: Advance) -> None:
    for pool in folder.pools:
        for path in folder.scene_files(pool):
            file = folder.layout.relative(path)
            for row in _rows(path):
                tally.n_checked += 1
                index, twin = int(row["image_index"]), theirs.like(row)
                if twin is not None:
                    tally.fault(file, index, "the objects of a scene of CLEVR", twin)
                elif row["image_filename"] in names:
                    tally.fault(file, index, "the name of an image of CLEVR", row["image_filename"])
                advance(1)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in read_numbered_rows(path):
        row = parse_row(line, path, number)
        with reading(path, "a scene file of a dataset"):
            objects_of(row)
        yield row


def _questions(folder: AuditFolder, names: set[str], tally: Tally) -> None:
    marks = {name.encode() for name in names}
    n_files = 0
    for split in folder.splits:
        path = folder.layout.questions_json(split.hop.name, split.name)
        if not path.is_file():
            continue
        n_files += 1
        for k, line in enumerate(read_row_lines(path)):
            tally.n_checked += 1
            name = _named(line)
            if name in marks:
                tally.fault(
                    folder.layout.relative(path),
                    k,
                    "asks about an image of CLEVR",
                    name.decode("utf-8", "replace"),
                )
    if not n_files:
        tally.skip("no question files in JSON: they were left out")


def _named(line: bytes) -> bytes:
    """The image's name in a row, found without parsing it."""
    _, _, rest = line.partition(b'"image_filename"')
    return rest.lstrip(b": ").partition(b'"')[2].partition(b'"')[0]


def beside_clevr(folder: AuditFolder, clevr: Path, progress: Progress) -> Sequence[Mapping[str, Any]]:
    """How far each split's distributions are from CLEVR's; none where there is nothing to compare."""
    if not clevr_splits(clevr):
        return ()  # scenes without questions, say
    try:
        sheets = measure_folder(folder.layout.root, against=clevr, progress=progress)
    except ConfigError:
        return ()
    raw = as_json(folder.layout.root, clevr, sheets, ())["hops"]
    return [{"hop": hop, **row} for hop, sheet in raw.items() for row in sheet["distances"]]
