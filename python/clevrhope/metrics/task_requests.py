"""What the tasks of a harness ask, as `clevrhope ask` writes it, and what is right."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import open_split
from clevrhope.dataset.vocab import read_vocab
from clevrhope.metrics.answer_key import AnswerKey, drawn_images
from clevrhope.metrics.episodes import Episodes
from clevrhope.metrics.nonce_requests import NonceRequests
from clevrhope.metrics.request_files import read_requests, write_requests

Row = Mapping[str, Any]

_FOLDERS: list[TemporaryDirectory[str]] = []
"""Of images that a dataset has in HDF5 alone; they are removed when the program ends."""


def task_requests(root: Path, suite: str | None = None, **choice: Any) -> Sequence[Row]:
    """What is asked, as `clevrhope ask` writes it; of a suite, all questions of its pairs."""
    _FOLDERS.append(TemporaryDirectory(prefix="clevrhope-"))
    out = Path(_FOLDERS[-1].name) / "requests.jsonl"
    if "controls" in choice:
        NonceRequests(root, **choice).write(out)
    else:
        write_requests(root, out, suite=suite, **choice)
    rows = list(read_requests(out))
    if suite is None:
        return rows
    hops, splits = ([*dict.fromkeys(row[key] for row in rows)] for key in ("hop", "split"))
    write_requests(root, out, **{**choice, "hops": hops, "splits": splits, "limit": None})
    return [*_of_pairs(root, suite, rows, list(read_requests(out)))]


def _of_pairs(root: Path, suite: str, made: Sequence[Row], of_splits: Sequence[Row]) -> Iterator[Row]:
    """The questions of pairs, each once, of those that the suite made and those of the splits.

    Pairs of which only one question is there are left out.
    """
    by_place = {_place(row): row for row in (*made, *of_splits)}
    for hop, split in dict.fromkeys((row["hop"], row["split"]) for row in made):
        sides = enumerate(answer_key(str(root), suite).pairs(hop, suite, split).orig_idxs.tolist())
        places = [(hop, split, *((suite, row) if own < 0 else (None, own))) for row, own in sides]
        whole = [pair for pair in zip(places[::2], places[1::2], strict=True) if by_place.keys() >= {*pair}]
        yield from (by_place[place] for place in dict.fromkeys(chain.from_iterable(whole)))


def _place(row: Row) -> tuple[str, str, str | None, int]:
    """Where a question is: HOP, split, the suite that made it, and its number there."""
    return row["hop"], row["split"], row.get("suite"), row["question_index"]


@cache
def answer_key(root: str, suite: str | None = None) -> Any:
    """The `AnswerKey` of a suite, or the `Episodes` of a folder."""
    return AnswerKey.of_suite(Path(root), suite) if suite else Episodes(root)


def about_requests(root: Path, rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """The right answer and the image of each request; of a set, the image that the question was made for."""
    layout = Layout(root)

    @cache
    def known(hop: str, split: str, suite: str | None) -> tuple[list[str], list[str]]:
        vocab = read_vocab(layout.suite_vocab(hop, suite) if suite else layout.vocab_of(split))
        if suite:
            table = answer_key(str(root), suite).pairs(hop, suite, split)
        else:
            table = open_split(layout, hop, split, vocab=vocab)
        names, images = vocab.answers(), drawn_images(table).tolist()
        return [names[number] for number in table.answers], [f"{table.pool}/{each}" for each in images]

    for *place, number in map(_place, rows):
        answers, images = known(*place)
        yield answers[number], images[number]
