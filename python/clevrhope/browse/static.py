"""Writes pages about a dataset as files, which any web server can serve."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from clevrhope.browse.addresses import (
    Links,
    Query,
    image_path,
    pair_path,
    pairs_path,
    question_path,
    questions_path,
)
from clevrhope.browse.folder import SiteFolder, SplitKey
from clevrhope.browse.index import Indexes
from clevrhope.browse.models import read_models
from clevrhope.browse.pages import ASSETS, LINES_A_PAGE, Pages, asset
from clevrhope.errors import ClevrhopeError, DatasetError
from clevrhope.runtime.progress import Progress
from clevrhope.runtime.whole_folder import check_new, whole_folder

Make = Callable[[Links], str]
"""Makes a page with its links."""


def write_static(
    root: Path,
    out: Path,
    *,
    limit: int,
    predictions: Sequence[str],
    progress: Progress,
    say: Callable[[str], None],
) -> int:
    """Writes the overview, and lists and pages of the first questions of each split. Returns their number.

    Args:
        root: a dataset made by `clevrhope build`; it is only read.
        out: a new folder, which appears once it is complete.
        limit: the maximum number of questions of a split, and of pairs of a suite on a split.
        predictions: runs and files of predictions; if there are any, wrong answers come first.
        progress: shows the progress of indexes and pages.
        say: is called with each sentence for the user.

    Raises:
        DatasetError: the folder is not a dataset, an index cannot be made, or `out` is not empty, is in the
            dataset, or cannot be written.
        PredictionsError: predictions cannot be read, or are about another dataset.
    """
    folder = SiteFolder(root)
    if folder.contains(out):
        raise DatasetError(f"{out}: in the dataset's folder, where nothing is written; choose another folder")
    check_new(out)
    models = read_models(predictions, folder)
    for note in models.notes:
        say(note)
    with (
        closing(Indexes(folder, progress, waits=True)) as indexes,
        whole_folder(out, option="--static") as temporary,
    ):
        pages = Pages(folder, models, indexes, limit=limit)
        made = {f"{path}.html": make for path, make in _pages(folder, pages, limit)}
        images: set[tuple[str, str, int]] = set()
        with progress.stage("Writing pages", total=len(made), unit="pages") as advance:
            for path, make in made.items():
                links = Links(path.count("/"), made.keys())
                _write(temporary / path, _made(pages, make, links).encode())
                images |= links.images
                advance(1)
        for name in ASSETS:
            _write(temporary / name, asset(name))
        with progress.stage("Writing images", total=len(images), unit="images") as advance:
            for kind, pool, index in sorted(images):
                try:
                    content = getattr(folder, kind)(pool, index)
                except DatasetError as error:
                    say(f"{error}; the pages lack this image.")
                    content = None
                if content is not None:
                    data = content.encode() if isinstance(content, str) else content
                    _write(temporary / image_path(kind, pool, index), data)
                advance(1)
    return sum(path.startswith("question/") for path in made)


def _pages(folder: SiteFolder, pages: Pages, limit: int) -> Iterator[tuple[str, Make]]:
    """The path of each page, without its suffix, and the function that makes it."""
    yield "index", partial(pages.home, query=Query())
    for hop in folder.hops:
        for split in folder.splits(hop):
            rows = pages.listed_rows(Query(hop=hop, split=split), most=limit)
            for number in range(1, max(1, -(-len(rows) // LINES_A_PAGE)) + 1):
                listed = Query(hop=hop, split=split, page=number)
                yield questions_path(hop, split, number), partial(pages.questions, query=listed)
            for at, row in enumerate(rows):
                place, reached = SplitKey(hop, split), Query(split=split, at=at)
                page = partial(pages.question, place=place, number=row, query=reached)
                yield question_path(place, row), page
        for suite, splits in folder.suites(hop).items():
            for split in splits:
                yield from _pair_pages(folder, pages, SplitKey(hop, split, suite), limit)


def _pair_pages(folder: SiteFolder, pages: Pages, place: SplitKey, limit: int) -> Iterator[tuple[str, Make]]:
    try:
        n = min(len(folder.reader(place)[0]) // 2, limit)
    except DatasetError:
        n = 0  # the page with the list says why
    for number in range(1, max(1, -(-n // LINES_A_PAGE)) + 1):
        yield pairs_path(place, number), partial(pages.pairs, place=place, query=Query(page=number))
    for number in range(n):
        yield pair_path(place, number), partial(pages.pair, place=place, number=number, query=Query())


def _made(pages: Pages, make: Make, links: Links) -> str:
    """A page; if it cannot be made, it says why, so that the export can continue."""
    try:
        return make(links)
    except ClevrhopeError as error:
        return pages.message(links, "This page cannot be shown", f"{error}.")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
