"""Requests to a model that is only asked questions and not trained here.

A request is one JSON object per line: `id`, `image` (a PNG file, relative to the file of requests),
`question`, `answers` (all that are allowed), `hop`, `split` and `question_index`. A question from a suite
also has `suite` and `suite_sha256` (the first digits of the SHA-256 of the suite's file). `asked_of` are
digits that stand for the dataset, and end the `id`, so that replies to another dataset's requests are
noticed. A question over several images has `images`, a list of paths, in place of `image`, and `asked`, the
answers among which it asks. One about an episode with nonce words has `asked`, too, and `context`, a list of
sentences with their images, `control` and `support` (`nonce_requests`). If images were drawn, `seed` is the
seed of the draw. With an instruction, `instruction` is its label, and `prompt` the question with its text.
Questions of train sets have `right_answer`, and others only where it is asked for.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.contents import choose, choose_suite, no_suite, of_episodes_alone
from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.image_source import find_images
from clevrhope.dataset.layout import Layout, image_filename
from clevrhope.dataset.levels import check_levels, read_levels
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.question_kinds import SETS
from clevrhope.dataset.question_table import open_split
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_questions import open_suite, suite_columns
from clevrhope.dataset.vocab import SPECIAL_TOKENS, read_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.metrics.answer_key import has_to_be_answered, is_trained_on
from clevrhope.metrics.predictions import write_predictions
from clevrhope.metrics.reply_files import ID, numbered_rows
from clevrhope.replies.instructions import Instruction
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.forms import COUNT, TEXT, Fields, ListOf
from clevrhope.runtime.paths import check_links
from clevrhope.runtime.progress import Advance, Progress, Silent
from clevrhope.splits.covr.kinds import is_covr

Numbers = npt.NDArray[np.integer[Any]]

_VALUE = re.compile(r"(?:choose|option)_\w+\[(\w+)\]")
_AXES = (("left", "right"), ("behind", "front"))
"""Pairs of relations between which a question can offer a choice."""

REQUEST = Fields(
    {
        "id": ID,
        "question": TEXT,
        "answers": ListOf(TEXT),
        "hop": TEXT,
        "split": TEXT,
        "question_index": COUNT,
    },
    {
        **dict.fromkeys(("image", "suite", "suite_sha256", "asked_of", "control", "support", "page"), TEXT),
        **dict.fromkeys(("instruction", "prompt", "right_answer"), TEXT),
        **dict.fromkeys(("images", "asked"), ListOf(TEXT)),
        "context": ListOf(Fields({"text": TEXT}, {"image": TEXT})),
        **dict.fromkeys(("seed", "jpeg"), COUNT),
    },
)
"""The keys of a request that are read again."""
COPIED = ("hop", "split", "control", "suite", "suite_sha256", "asked_of", "question_index")
"""The columns of a request that its prediction has, too, besides `CONDITIONS`."""


def write_requests(
    folder: Path | str,
    out: Path,
    *,
    splits: Sequence[str] = (),
    hops: Sequence[str] = (),
    suite: str | None = None,
    limit: int | Mapping[tuple[str, str], int] | None = None,
    levels: Sequence[int] = (),
    seed: int,
    form: str = "requests",
    instruction: Instruction | None = None,
    jpeg: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Writes requests and returns their number.

    If the folder has its images only in HDF5, PNG files are written beside `out`.

    Args:
        folder: a dataset that `build` wrote.
        out: the file to write.
        splits: names of splits; if empty, all test sets that are about one image. Some HOPs may lack a split.
        hops: names of HOPs; all if empty.
        suite: a suite of paired tests; requests are then about the questions that it made on its splits.
        limit: maximum number of questions from each split, or from each (HOP, split), about drawn images; for
            a suite, its tests take turns.
        levels: only questions on these levels of difficulty, 1 to 4; all if empty. Suites have none.
        seed: seed for drawing images. The questions of a smaller limit are a subset of those of a larger one.
        form: what is made of the requests: for "html", a page for people, all have `asked` and none `prompt`;
            for "vlmeval", a table, all have `right_answer`.
        instruction: what follows each question; for "html", what stands above all.
        jpeg: the quality of images as JPEG in what is made of the requests, which record it.
        progress: shows the splits; None shows nothing.

    Raises:
        ConfigError: there is no such HOP, split or suite, no question is on a level, levels of a suite were
            given, or the limit is below 1.
        DatasetError: the folder is not a dataset, or its images are not rendered.
    """
    if isinstance(limit, int) and limit < 1:
        raise ConfigError(f"limit is {limit}; expected at least 1 question of each split")
    check_levels(levels, suite)
    layout = Layout(Path(folder))
    chosen = chosen_splits(layout, hops, splits, suite)
    label = None if instruction is None else instruction.label
    known = {"seed": None if limit is None else seed, "jpeg": jpeg, "instruction": label}
    same = {name: value for name, value in known.items() if value is not None}
    with (progress or Silent()).stage("Writing requests", total=len(chosen), unit="splits") as advance:
        draw = (limit, levels, seed)
        requests = _requests(layout, out, chosen, suite, draw, form, instruction, same, advance)
        return write_predictions(out, requests, marked_by="answers")


def chosen_splits(
    layout: Layout, hops: Sequence[str], splits: Sequence[str], suite: str | None = None
) -> Sequence[tuple[str, str]]:
    """The (HOP, split) pairs that are asked: of one image, then of several; see `write_requests`."""
    if suite is not None:
        made = choose_suite(layout, suite, hops, splits)
    else:
        several = [name for name in splits if is_covr(name)]
        single = [name for name in splits if not is_covr(name)]
        there = choose(layout, hops or None, single or None) if single or not several else ()
        made = (*there, *(choose(layout, hops or None, several, SETS) if several else ()))
    chosen = [place for place in made if place[1] in splits or has_to_be_answered(place[1])]
    if suite is not None and not chosen:
        raise no_suite(layout.root, suite)
    return chosen


def _requests(
    layout: Layout,
    out: Path,
    chosen: Sequence[tuple[str, str]],
    suite: str | None,
    draw: tuple[int | Mapping[tuple[str, str], int] | None, Sequence[int], int],
    form: str,
    instruction: Instruction | None,
    same: Mapping[str, Any],
    advance: Advance,
) -> Iterator[dict[str, Any]]:
    """The requests of the chosen splits in the order of the dataset, with what is the same in all.

    `draw` is the limit, levels and seed of `write_requests`.
    """
    limit, levels, seed = draw
    levels_there: set[int] = set()
    n_drawn = 0
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
            most = limit if limit is None or isinstance(limit, int) else limit[hop, split]
            kept = np.arange(len(table))
            if levels:
                of_questions = read_levels(layout, table)
                kept = np.flatnonzero(np.isin(of_questions, levels))
                levels_there |= {*of_questions.tolist()}
            drawn = kept[drawn_in_turn(tests[kept], first_images[kept], most, seed=seed)]
            n_drawn += len(drawn)
            indices = table.image_idxs[drawn]
            path_of = image_paths(layout, table.pool, indices[indices >= 0], out)
            spoken = Detokenizer(vocab)
            name = "/".join(filter(None, (hop, suite, split)))
            for first, questions, programs in table.blocks():
                for k in drawn[(first <= drawn) & (drawn < first + len(questions))].tolist():
                    paths = [path_of(index) for index in table.images_of(k)]
                    question = table.sentence(k, questions[k - first])
                    of_sets = table.kind.of_sets
                    about: dict[str, Any] = {"images": paths} if of_sets else {"image": paths[0]}
                    if of_sets or form == "html":
                        program = spoken.program(programs[k - first])
                        about["asked"] = asked_answers(program, answers, attributes)
                    about["question"] = question
                    if instruction is not None and form != "html":
                        about["prompt"] = instruction.after(question)
                    if form == "vlmeval" or is_trained_on(split):
                        about["right_answer"] = table.answer_names[table.answers[k]]
                    yield {
                        "id": f"{name}/{rows[k]}@{asked_of}",
                        **about,
                        "answers": answers,
                        **place,
                        **same,
                        "question_index": int(rows[k]),
                    }
        advance(1)
    if missing := {*levels} - levels_there:
        raise ConfigError(
            f"{layout.root}: no question of these splits is on level {min(missing)}; there are: "
            f"{', '.join(map(str, sorted(levels_there)))}"
        )
    if not n_drawn:
        raise DatasetError(f"{layout.root}: {of_episodes_alone(layout) or 'the folder has no test set'}")


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
    return np.sort(order_in_turn(tests, images, seed=seed)[:n])


def order_in_turn(tests: Numbers, images: Numbers, *, seed: int) -> npt.NDArray[np.int64]:
    """The order of all indices, of which `drawn_in_turn` takes the first."""
    distinct, image_of = np.unique(images, return_inverse=True)
    # Unlike `shuffle`, the raw output of a bit generator is the same in all versions of numpy.
    places = np.random.PCG64(seed).random_raw(len(distinct))[image_of]
    order = np.lexsort((places, tests))
    _, firsts, counts = np.unique(tests[order], return_index=True, return_counts=True)
    turns = np.empty(len(tests), dtype=np.int64)
    turns[order] = np.arange(len(tests)) - np.repeat(firsts, counts)
    return np.asarray(np.lexsort((tests, turns)), dtype=np.int64)


def image_paths(
    layout: Layout, pool: str, indices: Ints, out: Path, *, copied: bool = False
) -> Callable[[int], str]:
    """A function that returns the path of a pool's image, relative to the folder of a file.

    It writes an image stored only in HDF5 on first use, and with `copied` any image. `indices` are those of
    all images that are needed.
    """
    images = find_images(layout, pool, indices, prefer="png")
    if images is None:
        raise DatasetError(
            f"{layout.root}: no images of {pool}, which requests need; "
            "run the dataset's build again without --no-render"
        )

    @cache
    def path_of(index: int) -> str:
        path = layout.image(pool, index)
        if copied or not path.is_file():
            path = out.with_name(f"{out.stem}_images") / image_filename(pool, index)
            check_links(path.parent.parent, (path.parent.name,), deep=False)
            write_whole(path, images.png(index)())  # an existing file may be from another dataset
        try:
            return Path(os.path.relpath(path.resolve(), out.parent.resolve())).as_posix()
        except ValueError:  # on another drive of Windows
            return str(path.resolve())

    return path_of


def read_requests(path: Path) -> Iterator[dict[str, Any]]:
    """The requests of a file that `write_requests` wrote, with whole paths of images.

    Raises:
        PredictionsError: a line is not a request.
    """
    return (row for _, row in numbered_requests(path))


def numbered_requests(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """As `read_requests`, each with its file and line."""
    folder = path.parent.resolve()
    for place, row in numbered_rows(path, REQUEST):
        if "image" in row:
            row["image"] = os.path.normpath(folder / row["image"])
        if "images" in row:
            row["images"] = [os.path.normpath(folder / image) for image in row["images"]]
        for each in row.get("context", ()):
            if "image" in each:
                each["image"] = os.path.normpath(folder / each["image"])
        yield place, row
