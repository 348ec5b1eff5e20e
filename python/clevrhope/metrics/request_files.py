"""Requests to a model that is only asked questions and not trained here, and predictions from its replies.

A request is one JSON object per line: `id`, `image` (path of a PNG file), `question`, `answers` (all that are
allowed), `hop`, `split` and `question_index`. A question from a suite also has `suite` and `suite_sha256`
(the first digits of the SHA-256 of the suite's file). `asked_of` are digits that stand for the dataset, and
end the `id`, so that replies to another dataset's requests are noticed. A question over several images has
`images`, a list of paths, in place of `image`, and `asked`, the answers among which it asks. If images were
drawn, `seed` is the seed of the draw. A reply is `{"id": ..., "reply": "free text"}`. The predictions are
marked "not trained on the splits": the model was not trained on a set without the pair, so its gaps say
nothing about systematicity.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.contents import choose, choose_suite
from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.image_source import find_images
from clevrhope.dataset.layout import Layout, image_filename
from clevrhope.dataset.levels import read_levels
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.question_kinds import SETS
from clevrhope.dataset.question_table import QuestionTable, open_split
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_questions import open_suite, suite_columns
from clevrhope.dataset.vocab import NO_ANSWER, NOT_TRAINED, SPECIAL_TOKENS, read_vocab
from clevrhope.errors import ConfigError, DatasetError, PredictionsError, shown
from clevrhope.metrics.answer_key import has_to_be_answered, is_trained_on
from clevrhope.metrics.people import Agreement, majorities
from clevrhope.metrics.predictions import write_predictions
from clevrhope.programs import default_vocabulary
from clevrhope.replies import ReplyReader
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.forms import ANY, COUNT, TEXT, Fields, Kind, ListOf, check_form
from clevrhope.runtime.json_text import parse_json, read_object
from clevrhope.runtime.paths import check_links
from clevrhope.runtime.progress import Advance, Progress, Silent
from clevrhope.runtime.reading import numbered_lines, open_text, reading
from clevrhope.splits.covr.kinds import is_covr

Numbers = npt.NDArray[np.integer[Any]]

_VALUE = re.compile(r"(?:choose|option)_\w+\[(\w+)\]")
_AXES = (("left", "right"), ("behind", "front"))
"""Pairs of relations between which a question can offer a choice."""

_ID = Kind("a string or a number", lambda value: isinstance(value, str | int))
_REQUEST = Fields(
    {
        "id": _ID,
        "question": TEXT,
        "answers": ListOf(TEXT),
        "hop": TEXT,
        "split": TEXT,
        "question_index": COUNT,
    },
    {"suite": TEXT, "suite_sha256": TEXT, "asked_of": TEXT, "asked": ListOf(TEXT), "seed": COUNT},
)
_REPLY = Fields({"id": _ID, "reply": ANY}, {"person": TEXT})


class ReplyCounts(NamedTuple):
    """What the replies to requests were."""

    counts: Mapping[str, int]
    """Numbers of "replies", of those that are "unreadable", and of requests whose reply is "missing"; and of
    the first two, how many answer questions for yes or no: "yes_no" and "unreadable_yes_no"."""
    unreadable: Sequence[str]
    """The ids of the replies that could not be read."""
    missing: Sequence[str]
    """The ids of the requests without a reply."""
    agreement: Agreement | None = None
    """How far people agree, if several answered."""


def write_requests(
    folder: Path | str,
    out: Path,
    *,
    splits: Sequence[str] = (),
    hops: Sequence[str] = (),
    suite: str | None = None,
    limit: int | None = None,
    levels: Sequence[int] = (),
    seed: int,
    with_asked: bool = False,
    progress: Progress | None = None,
) -> int:
    """Writes requests for test sets and returns the number of requests.

    If the folder has its images only in HDF5, PNG files are written beside `out`.

    Args:
        folder: a dataset that `build` wrote.
        out: the file to write.
        splits: names of test sets; if empty, all that are about one image. Some HOPs may lack a test set.
        hops: names of HOPs; all if empty.
        suite: a suite of paired tests; requests are then about the questions that it made on its splits.
        limit: maximum number of questions from each split, about drawn images; for a suite, its tests take
            turns.
        levels: only questions on these levels of difficulty, 1 to 5; all if empty.
        seed: seed for drawing images. The questions of a smaller limit are a subset of those of a larger one.
        with_asked: whether requests about one image have `asked`, too.
        progress: shows the test sets; None shows nothing.

    Raises:
        ConfigError: there is no such HOP, split or suite, the split is train, or no question is on a level.
        DatasetError: the folder is not a dataset, or its images are not rendered.
    """
    layout = Layout(Path(folder))
    trained = next((name for name in splits if is_trained_on(name)), None)
    if trained is not None:
        raise ConfigError(f"--split: {trained} is not a test set; name another, or leave out --split for all")
    made = _chosen(layout, hops, splits) if suite is None else choose_suite(layout, suite, hops, splits)
    chosen = [place for place in made if place[1] in splits or has_to_be_answered(place[1])]
    with (progress or Silent()).stage("Writing requests", total=len(chosen), unit="test sets") as advance:
        requests = _requests(layout, out, chosen, suite, limit, levels, seed, advance, with_asked=with_asked)
        n = write_predictions(out, requests, marked_by="answers")
    if not n:
        raise DatasetError(f"{layout.root}: the folder has no test set")
    return n


def _chosen(layout: Layout, hops: Sequence[str], splits: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The named splits of questions about one image (all if none is named), then those about several."""
    several = [name for name in splits if is_covr(name)]
    single = [name for name in splits if not is_covr(name)]
    there = choose(layout, hops or None, single or None) if single or not several else ()
    return (*there, *(choose(layout, hops or None, several, SETS) if several else ()))


def _requests(
    layout: Layout,
    out: Path,
    chosen: Sequence[tuple[str, str]],
    suite: str | None,
    limit: int | None,
    levels: Sequence[int],
    seed: int,
    advance: Advance,
    *,
    with_asked: bool,
) -> Iterator[dict[str, Any]]:
    """The requests of the chosen test sets in the order of the dataset; see `write_requests`."""
    draw, missing = {} if limit is None else {"seed": seed}, {*levels}
    manifest = existing_manifest(layout.manifest)
    attributes, asked_of = manifest.world["attributes"], manifest.digest
    for hop, split in chosen:
        place: dict[str, Any] = {"hop": hop, "split": split, "asked_of": asked_of}
        if suite is None:
            vocab = read_vocab(layout.vocab_of(split))
            table = open_split(layout, hop, split, vocab=vocab)
            rows, tests = np.arange(len(table)), np.zeros(len(table), dtype=np.int16)
        else:
            vocab = read_vocab(layout.suite_vocab(hop, suite))
            table, rows, _ = open_suite(layout, hop, suite, split, vocab=vocab)
            place |= suite_columns(suite, layout.suite_h5(hop, suite, split))
            tests = table.test
        if len(rows):  # a suite may lack pairs on a split
            answers = [answer for answer in vocab.answers() if answer not in SPECIAL_TOKENS]
            first_images = table.image_idxs.reshape(len(tests), -1)[:, 0]
            kept = np.arange(len(table))
            if levels:
                of_questions = read_levels(layout, table)
                kept = np.flatnonzero(np.isin(of_questions, levels))
                missing -= {*of_questions.tolist()}
            drawn = kept[drawn_in_turn(tests[kept], first_images[kept], limit, seed=seed)]
            indices = table.image_idxs[drawn]
            path_of = _image_paths(layout, table, indices[indices >= 0], out)
            spoken = Detokenizer(vocab)
            name = "/".join(filter(None, (hop, suite, split)))
            for first, questions, programs in table.blocks():
                for k in drawn[(first <= drawn) & (drawn < first + len(questions))].tolist():
                    paths = [str(path_of(index)) for index in table.images_of(k)]
                    of_sets = table.kind.of_sets
                    about: dict[str, Any] = {"images": paths} if of_sets else {"image": paths[0]}
                    if of_sets or with_asked:
                        program = spoken.program(programs[k - first])
                        about["asked"] = asked_answers(program, answers, attributes)
                    yield {
                        "id": f"{name}/{rows[k]}@{asked_of}",
                        **about,
                        "question": table.sentence(k, questions[k - first]),
                        "answers": answers,
                        **place,
                        **draw,
                        "question_index": int(rows[k]),
                    }
        advance(1)
    if missing:
        raise ConfigError(f"{layout.root}: no question of these test sets is on level {min(missing)}")


def asked_answers(
    program: Sequence[str], answers: Sequence[str], attributes: Mapping[str, Sequence[str]]
) -> list[str]:
    """The answers that a question asks for.

    Args:
        program: its functions in prefix order, so that the program's last function comes first.
        answers: all answers of the vocabulary.
        attributes: the values of each attribute.
    """
    last = program[0].partition("[")[0]
    if last == "choose_relation":
        return list(next(axis for axis in _AXES if _value(program[0]) in axis))
    if last.startswith("choose_"):
        return [value for function in program if (value := _value(function))]
    if last.startswith("query_"):
        return list(attributes[last.removeprefix("query_")])
    if last.startswith("count") and "[" not in program[0]:
        return [answer for answer in answers if answer.isdecimal()]
    return ["yes", "no"]


def _value(function: str) -> str:
    match = _VALUE.fullmatch(function)
    return match[1] if match else ""


def drawn_in_turn(tests: Numbers, images: Numbers, n: int | None, *, seed: int) -> npt.NDArray[np.int64]:
    """The sorted indices of n questions, or of all; tests take turns until their questions run out.

    A test's questions are taken image by image, in an order of the images that depends only on the seed.

    Args:
        tests: (N,) numbers of the questions' tests.
        images: (N,) numbers of their images.
        n: the number of questions; all if None.
        seed: seed for the order of the images.
    """
    distinct, image_of = np.unique(images, return_inverse=True)
    # Unlike `shuffle`, the raw output of a bit generator is the same in all versions of numpy.
    places = np.random.PCG64(seed).random_raw(len(distinct))[image_of]
    order = np.lexsort((places, tests))
    _, firsts, counts = np.unique(tests[order], return_index=True, return_counts=True)
    turns = np.empty(len(tests), dtype=np.int64)
    turns[order] = np.arange(len(tests)) - np.repeat(firsts, counts)
    return np.sort(np.lexsort((tests, turns))[:n])


def _image_paths(layout: Layout, reader: QuestionTable, indices: Ints, out: Path) -> Callable[[int], Path]:
    """A function that returns the path of an image; it writes an image stored only in HDF5 on first use."""
    pool = reader.pool
    images = find_images(layout, pool, indices, prefer="png")
    if images is None:
        raise DatasetError(
            f"{layout.root}: no images of {pool}, which requests need; "
            "run the dataset's build again without --no-render"
        )

    @cache
    def path_of(index: int) -> Path:
        path = layout.image(pool, index)
        if not path.is_file():
            path = out.with_name(f"{out.stem}_images") / image_filename(pool, index)
            check_links(path.parent.parent, (path.parent.name,), deep=False)
            write_whole(path, images.png(index)())  # an existing file may be from another dataset
        return path.resolve()

    return path_of


def write_answers(
    replies: Path | Sequence[Path],
    requests: Path,
    out: Path,
    *,
    model: str,
    folder: Path | None = None,
    properties: Path | None = None,
    partial: bool = False,
) -> ReplyCounts:
    """Reads free-text replies and writes predictions; a reply that cannot be read counts as wrong.

    Args:
        replies: a file, or several, with one line `{"id": ..., "reply": ...}` for each request. If lines have
            `person`, or there are several files, several people may answer, and their majority counts.
        requests: the file that `write_requests` wrote.
        out: the file of predictions to write.
        model: the model's name in reports.
        folder: the dataset; needed if its values are not CLEVR's.
        properties: the properties file that the dataset was made with, whose colors tell what other names of
            colors mean; if None, its colors are those that their names usually mean.
        partial: whether to read the replies that there are and count the requests without one.

    Raises:
        PredictionsError: a line is malformed, a reply is missing, repeated or not to a request, or the
            requests are about another dataset than the folder.
        DatasetError: the dataset was made with other properties.
    """
    dataset = None if folder is None else Folder.open(folder, finished=False)
    digest = dataset and dataset.manifest.digest
    by_id = {str(row["id"]): row for row in read_requests(requests)}
    replies = [replies] if isinstance(replies, Path) else replies
    by_person = _replies(replies, requests, by_id)
    texts, agreed = majorities(by_person)
    missing = [name for name in by_id if name not in texts]
    if missing and not (partial and texts):
        raise PredictionsError(
            f"{replies[0]}: {len(missing):,} of {len(by_id):,} requests lack a reply: {shown(missing[0])}; "
            "give an empty reply where there was none, or --partial to leave these out"
        )
    unreadable: list[str] = []
    of_yes_no: list[bool] = []
    """Whether each reply to a question for yes or no was read."""

    def rows() -> Iterator[dict[str, Any]]:
        readers: dict[tuple[str, ...], ReplyReader] = {}
        for name, row in by_id.items():
            if name not in texts:
                continue
            if digest and row.get("asked_of", digest) != digest:
                raise PredictionsError(
                    f"{requests}: {shown(name)} is about another dataset than {folder}; give --dataset the "
                    "folder that these requests were made of"
                )
            allowed = tuple(row["answers"])
            if allowed not in readers:
                readers[allowed] = _reader(allowed, dataset, properties, requests)
            question, asked = str(row["question"]), row.get("asked", ())
            answer = readers[allowed].read(question, texts[name], asked=asked)
            if readers[allowed].asks_for_yes_or_no(question, asked=asked):
                of_yes_no.append(answer is not None)
            if answer is None:
                unreadable.append(name)
            columns = ("hop", "split", "suite", "suite_sha256", "asked_of", "question_index")
            place: dict[str, Any] = {key: row[key] for key in columns if key in row}
            yield {**place, "answer": answer or NO_ANSWER, "model": model, "note": NOT_TRAINED}

    n = write_predictions(out, rows(), inputs=(*replies, requests))
    counts = {"replies": n, "unreadable": len(unreadable), "missing": len(missing)}
    counts |= {"yes_no": len(of_yes_no), "unreadable_yes_no": of_yes_no.count(False)}
    return ReplyCounts(counts, unreadable, missing, agreed)


def read_requests(path: Path) -> Iterator[dict[str, Any]]:
    """The requests of a file that `write_requests` wrote; raises PredictionsError if a line is not one."""
    return _lines(path, _REQUEST)


def _replies(
    paths: Sequence[Path], requests: Path, by_id: Mapping[str, Any]
) -> Mapping[str, Mapping[str, str]]:
    """Each person's replies by request; "" is the person if only one file names none.

    Raises:
        PredictionsError: a line is malformed, a reply is repeated, or is not to a request.
    """
    by_person: dict[str, dict[str, str]] = {}
    for path in paths:
        for row in _lines(path, _REPLY):
            name = str(row["id"])
            if name not in by_id:
                raise PredictionsError(
                    f"{path}: {shown(name)} is not a request of {requests}; give --requests the file that "
                    "these replies answer"
                )
            person = row.get("person", path.stem if len(paths) > 1 else "")
            texts = by_person.setdefault(person, {})
            if name in texts:
                of = f" by {shown(person)}" if person else ""
                raise PredictionsError(f"{path}: there are two replies{of} to {shown(name)}; keep one")
            texts[name] = "" if row["reply"] is None else str(row["reply"])
    return by_person


def _reader(
    answers: Sequence[str], dataset: Folder | None, properties: Path | None, requests: Path
) -> ReplyReader:
    """A reader for a dataset's values and colors; without one, for CLEVR's."""
    if dataset is not None:
        colors: Mapping[str, Sequence[float]] = {}
        if properties is not None:
            dataset.world(properties)  # checks that they are the dataset's
            colors = read_object(properties, "a properties file", error=ConfigError)["colors"]
        return ReplyReader(answers, dataset.attributes, colors=colors)
    known = set(default_vocabulary().set_answers)
    unknown = [each for each in answers if each not in known and not each.isdecimal()]
    if unknown:
        raise PredictionsError(
            f"{requests}: {shown(unknown[0])} is not one of CLEVR's answers; add --dataset DIR"
        )
    return ReplyReader(answers, dict(default_vocabulary().attribute_types))


def _lines(path: Path, form: Fields) -> Iterator[dict[str, Any]]:
    example = ", ".join(f'"{key}": ...' for key in form.needed)
    remedy = f"expected {{{example}}}"
    with reading(path, "JSON lines", error=PredictionsError), open_text(path, error=PredictionsError) as file:
        for number, line in numbered_lines(path, file):
            if line.isspace():
                continue
            row = parse_json(line, path, line=number, error=PredictionsError, remedy=remedy)
            check_form(row, form, f"{path}:{number}", error=PredictionsError, remedy=remedy)
            yield row
