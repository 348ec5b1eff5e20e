"""A dataset's test sets in, requests for a model that only answers out; its replies in, predictions out.

A request is a JSON object a line: `id`, `image` (path of a PNG file), `question`, `answers` (all that are
allowed), and `hop`, `split`, `question_index`. A reply is `{"id": ..., "reply": "free words"}`. What comes of
them is marked "not trained on the splits": such a model's OOD accuracy is not measured against a train set
without the pair, so its gaps say nothing of systematicity.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.dataset.contents import choose
from clevrhope.dataset.image_source import find_images
from clevrhope.dataset.layout import Layout, image_filename
from clevrhope.dataset.manifest import read_manifest
from clevrhope.dataset.split_reader import SplitReader, open_split
from clevrhope.dataset.spoken import Spoken
from clevrhope.dataset.vocab import NO_ANSWER, SPECIAL_TOKENS, read_vocab
from clevrhope.errors import ConfigError, DatasetError, PredictionsError, shown
from clevrhope.metrics.replies import ReplyReader
from clevrhope.metrics.write import NOT_TRAINED, write_predictions
from clevrhope.programs import default_vocabulary
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.forms import ANY, COUNT, TEXT, Fields, Kind, ListOf, check_form
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import numbered_lines, open_text, reading
from clevrhope.splits.kinds import SPLITS

_ID = Kind("a string or a number", lambda value: isinstance(value, str | int))
_REQUEST = Fields(
    {
        "id": _ID,
        "question": TEXT,
        "answers": ListOf(TEXT),
        "hop": TEXT,
        "split": TEXT,
        "question_index": COUNT,
    }
)
_REPLY = Fields({"id": _ID, "reply": ANY})


@dataclass(frozen=True, slots=True)
class Read:
    """What became of replies: how many there were, how many could not be read, the first of these by id."""

    n_replies: int
    n_unreadable: int
    unreadable: tuple[str, ...]


def write_requests(
    folder: Path | str,
    out: Path,
    *,
    splits: Sequence[str] = (),
    hops: Sequence[str] = (),
    limit: int | None = None,
) -> int:
    """Writes requests for some splits of some HOPs, all but train where none is named; gives how many.

    Where the folder keeps its images in HDF5 alone, PNG files are written beside `out`.

    Args:
        folder: a dataset that `build` wrote.
        out: the file.
        splits: names of test sets; a name may be of some of the HOPs only.
        hops: names of HOPs.
        limit: the first so many questions of each split.

    Raises:
        ConfigError: a HOP or split that there is not, or train.
        DatasetError: no folder of a dataset, or its images are not made.
    """
    layout = Layout(Path(folder))
    if any(SPLITS[name].role == "train" for name in splits if name in SPLITS):
        raise ConfigError("--split: train is no test set; name another, or leave --split out for all")
    chosen = [
        each for each in choose(layout, hops or None, splits or None) if SPLITS[each[1]].role != "train"
    ]
    n = write_predictions(out, _requests(layout, out, chosen, limit), marked_by="answers")
    if not n:
        raise DatasetError(f"{layout.root}: no test set there to ask about")
    return n


def _requests(
    layout: Layout, out: Path, chosen: Sequence[tuple[str, str]], limit: int | None
) -> Iterator[dict[str, Any]]:
    vocab = read_vocab(layout.vocab)
    spoken = Spoken(vocab)
    answers = [answer for answer in vocab.answers() if answer not in SPECIAL_TOKENS]
    for hop, split in chosen:
        reader = open_split(layout, hop, split, vocab=vocab)
        n = len(reader) if limit is None else min(limit, len(reader))
        images = _Images(layout, reader, n, out)
        for first, questions, _ in reader.blocks():
            for k in range(first, min(first + len(questions), n)):
                words = spoken.question(questions[k - first], int(reader.question_lengths[k]))
                yield {
                    "id": f"{hop}/{split}/{k}",
                    "image": str(images.path(int(reader.image_idxs[k]))),
                    "question": words,
                    "answers": answers,
                    "hop": hop,
                    "split": split,
                    "question_index": k,
                }


class _Images:
    """Paths of a split's images; those that are in HDF5 alone are written out when they are asked for."""

    def __init__(self, layout: Layout, reader: SplitReader, n: int, out: Path) -> None:
        self._layout, self._pool = layout, reader.pool
        images = find_images(layout, reader.pool, reader.image_idxs[:n], prefer="png")
        if images is None:
            raise DatasetError(
                f"{layout.root}: no images of {reader.pool}, and requests need them; "
                "run its build again without --no-render"
            )
        self._images = images
        self._beside = out.with_name(f"{out.stem}_images")
        self._paths: dict[int, Path] = {}

    def path(self, index: int) -> Path:
        if index not in self._paths:
            path = self._layout.image(self._pool, index)
            if not path.is_file():
                path = self._beside / image_filename(self._pool, index)
                write_whole(path, self._images.png(index)())  # one there may be of another dataset
            self._paths[index] = path.resolve()
        return self._paths[index]


def write_answers(
    replies: Path, requests: Path, out: Path, *, model: str, folder: Path | None = None
) -> Read:
    """Reads replies in free words and writes predictions; what cannot be read is no answer, which is wrong.

    Args:
        replies: `{"id": ..., "reply": ...}` a line, one for each request.
        requests: the file that `write_requests` wrote.
        out: the predictions.
        model: its name, as reports will call it.
        folder: the dataset; needed where its values are not CLEVR's.

    Raises:
        PredictionsError: a line that is none; replies that are missing, doubled or of no request.
    """
    asked = {str(row["id"]): row for row in _lines(requests, _REQUEST, "a request")}
    said: dict[str, str] = {}
    for row in _lines(replies, _REPLY, "a reply"):
        name = str(row["id"])
        if name not in asked:
            raise PredictionsError(f"{replies}: {shown(name)} is no request of {requests}")
        if name in said:
            raise PredictionsError(f"{replies}: two replies to {shown(name)}; leave one")
        said[name] = "" if row["reply"] is None else str(row["reply"])
    missing = [name for name in asked if name not in said]
    if missing:
        raise PredictionsError(
            f"{replies}: {len(missing):,} of {len(asked):,} requests lack a reply: {shown(missing[0])}; "
            "give an empty one to what was not answered"
        )
    unreadable: list[str] = []

    def rows() -> Iterator[dict[str, Any]]:
        readers: dict[tuple[str, ...], ReplyReader] = {}
        for name, row in asked.items():
            allowed = tuple(row["answers"])
            if allowed not in readers:
                readers[allowed] = ReplyReader(allowed, _attributes(allowed, folder, requests))
            answer = readers[allowed].read(str(row["question"]), said[name])
            if answer is None:
                unreadable.append(name)
            place = {key: row[key] for key in ("hop", "split", "question_index")}
            yield {**place, "answer": answer or NO_ANSWER, "model": model, "note": NOT_TRAINED}

    n = write_predictions(out, rows(), inputs=(replies, requests))
    return Read(n, len(unreadable), tuple(unreadable[:5]))


def _attributes(answers: Sequence[str], folder: Path | None, requests: Path) -> Mapping[str, Sequence[str]]:
    """The attribute types and values of a dataset's folder; without one, CLEVR's."""
    if folder is not None:
        manifest = read_manifest(Layout(folder).manifest)
        if manifest is None:
            raise DatasetError(f"{folder}: no dataset of clevrhope (no manifest.json)")
        attributes: Mapping[str, Sequence[str]] = manifest.world["attributes"]
        return attributes
    clevr = dict(default_vocabulary().attribute_types)
    known = {"yes", "no", *(value for values in clevr.values() for value in values)}
    strange = [each for each in answers if each not in known and not each.isdecimal()]
    if strange:
        raise PredictionsError(
            f"{requests}: {shown(strange[0])} is not one of CLEVR's answers; add --dataset DIR"
        )
    return clevr


def _lines(path: Path, form: Fields, what: str) -> Iterator[dict[str, Any]]:
    example = ", ".join(f'"{key}": ...' for key in form.needed)
    with reading(path, "JSON lines", error=PredictionsError), open_text(path, error=PredictionsError) as file:
        for number, line in numbered_lines(path, file):
            if line.isspace():
                continue
            row = parse_json(
                line, path, line=number, error=PredictionsError, remedy=f"expected {{{example}}}"
            )
            if not isinstance(row, dict) or any(key not in row for key in form.needed):
                raise PredictionsError(f"{path}:{number}: not {what}; expected {{{example}}}")
            check_form(row, form, f"{path}:{number}", error=PredictionsError)
            yield row
