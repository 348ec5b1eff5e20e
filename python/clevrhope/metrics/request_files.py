"""Requests to a model that is only asked questions and not trained here, and predictions from its replies.

A request is one JSON object per line: `id`, `image` (a PNG file, relative to the file of requests),
`question`, `answers` (all that are allowed), `hop`, `split` and `question_index`. A question from a suite
also has `suite` and `suite_sha256` (the first digits of the SHA-256 of the suite's file). `asked_of` are
digits that stand for the dataset, and end the `id`, so that replies to another dataset's requests are
noticed. A question over several images has `images`, a list of paths, in place of `image`, and `asked`, the
answers among which it asks. One about an episode with nonce words has `asked`, too, and `context`, a list of
sentences with their images, `control` and `support` (`nonce_requests`). If images were drawn, `seed` is the
seed of the draw. With an instruction, `instruction` is its label, and `prompt` the question with its text.
Questions of train sets have `right_answer`, and others only where it is asked for.

`reply_files` has the forms of replies. The predictions are marked "not trained on the splits" by default: a
model that was not trained on a set without the pair has gaps that say nothing about systematicity.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.contents import choose, choose_suite, of_episodes_alone
from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.image_source import find_images
from clevrhope.dataset.layout import Layout, image_filename
from clevrhope.dataset.levels import check_levels, read_levels
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.question_kinds import NONCE, SETS, kind_of
from clevrhope.dataset.question_table import open_split
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_questions import open_suite, suite_columns
from clevrhope.dataset.vocab import NO_ANSWER, NOT_TRAINED, SPECIAL_TOKENS, read_vocab
from clevrhope.errors import ConfigError, DatasetError, PredictionsError, shown
from clevrhope.metrics.answer_key import has_to_be_answered, is_trained_on
from clevrhope.metrics.collector import CONDITIONS
from clevrhope.metrics.episodes import Episodes
from clevrhope.metrics.people import Agreement
from clevrhope.metrics.predictions import write_predictions
from clevrhope.metrics.reply_files import ID, numbered_rows, read_replies
from clevrhope.programs import default_vocabulary
from clevrhope.replies import ReplyReader
from clevrhope.replies.instructions import Instruction
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.forms import COUNT, TEXT, Fields, ListOf
from clevrhope.runtime.json_text import read_object
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
_COPIED = ("hop", "split", "control", "suite", "suite_sha256", "asked_of", "question_index")
"""The columns of a request that its prediction has, too, besides `CONDITIONS`."""


class ReplyCounts(NamedTuple):
    """What the replies to requests were."""

    counts: Mapping[str, int]
    """Numbers of "replies", of those that are "unreadable", and of requests that are "missing"; of the first
    two, how many answer questions for yes or no: "yes_no" and "unreadable_yes_no"; of "samples"; and of
    replies that were "cut_off" at the most tokens, or "left_out" since other requests have fewer."""
    unreadable: Sequence[tuple[str, str]]
    """The ids and texts of the replies that could not be read."""
    missing: Sequence[str]
    """The ids of the requests without a reply."""
    failed: Sequence[str] = ()
    """What is known of the requests that failed: file, line, id and error."""
    agreement: Agreement | None = None
    """How far people agree, if several answered."""


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
        levels: only questions on these levels of difficulty, 1 to 5; all if empty. Suites have none.
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
    return [place for place in made if place[1] in splits or has_to_be_answered(place[1])]


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


def image_paths(layout: Layout, pool: str, indices: Ints, out: Path) -> Callable[[int], str]:
    """A function that returns the path of a pool's image, relative to the folder of a file.

    It writes an image stored only in HDF5 on first use. `indices` are those of all images that are needed.
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
        if not path.is_file():
            path = out.with_name(f"{out.stem}_images") / image_filename(pool, index)
            check_links(path.parent.parent, (path.parent.name,), deep=False)
            write_whole(path, images.png(index)())  # an existing file may be from another dataset
        try:
            return Path(os.path.relpath(path.resolve(), out.parent.resolve())).as_posix()
        except ValueError:  # on another drive of Windows
            return str(path.resolve())

    return path_of


def write_answers(
    replies: Path | Sequence[Path],
    requests: Path,
    out: Path,
    *,
    model: str | None = None,
    run: str | None = None,
    train_size: int | None = None,
    note: str = NOT_TRAINED,
    folder: Path | None = None,
    properties: Path | None = None,
    partial: bool = False,
) -> ReplyCounts:
    """Reads free-text replies and writes predictions; a reply that cannot be read counts as wrong.

    Args:
        replies: a file, or several, of a form that `reply_files` reads. If lines have `person`, or there are
            several files of `{"id": ..., "reply": ...}`, several people may answer, and their majority
            counts. Otherwise, several replies to a request are samples, which become runs 1, 2 and so on.
        requests: the file that `write_requests` wrote.
        out: the file of predictions to write.
        model: the model's name in reports; if None, what a batch's results say, or else the file's name.
        run: a name or number that tells the model from others of its kind.
        train_size: the number of questions that the model was trained on.
        note: what is shown beside every number; "" for nothing.
        folder: the dataset; needed if its values are not CLEVR's.
        properties: the properties file that the dataset was made with, whose colors tell what other names of
            colors mean; if None, its colors are those that their names usually mean.
        partial: whether to read the replies that there are and count those that are missing.

    Raises:
        PredictionsError: a line is malformed, a reply is missing, failed or not to a request, or the requests
            are about another dataset than the folder.
        ConfigError: there are samples, and `run` names a single run.
        DatasetError: the dataset was made with other properties.
    """
    dataset = None if folder is None else Folder.open(folder, finished=False)
    digest = dataset and dataset.manifest.digest
    by_id = {str(row["id"]): row for row in read_requests(requests)}
    replies = [replies] if isinstance(replies, Path) else replies
    _check_one_condition(requests, by_id)
    episodes = None
    if any(kind_of(row["split"]) is NONCE for row in by_id.values()):
        if folder is None:
            raise PredictionsError(
                f"{requests}: only the dataset knows what the nonce words of these requests mean; add "
                "--dataset DIR"
            )
        episodes = Episodes(folder)
        for row in by_id.values():
            episodes.check(row, requests)
    instructions = {name: str(row.get("instruction", "")) for name, row in by_id.items()}
    given = read_replies(replies, requests, instructions, partial=partial)
    n_samples = len(given.samples)
    if n_samples > 1 and run is not None:
        raise ConfigError(
            f"{replies[0]}: there are {n_samples} replies to each request, which become runs 1 to "
            f"{n_samples}; leave out --run"
        )
    missing = [name for name in by_id if name not in given.samples[0]]
    if missing and not (partial and given.samples[0]):
        remedy = "give an empty reply where there was none, or " if n_samples == 1 else "give "
        raise PredictionsError(
            f"{replies[0]}: {len(missing):,} of {len(by_id):,} requests lack a reply: {shown(missing[0])}; "
            f"{remedy}--partial to leave these out"
        )
    named = model or given.model or ("people" if given.agreement else replies[0].stem)
    about: dict[str, Any] = {"model": named, **({"note": note} if note else {})}
    about |= {} if train_size is None else {"train_size": train_size}
    unreadable: list[tuple[str, str]] = []
    of_yes_no: list[bool] = []
    """Whether each reply to a question for yes or no was read."""

    def rows() -> Iterator[dict[str, Any]]:
        readers: dict[tuple[str, ...], ReplyReader] = {}
        for number, texts in enumerate(given.samples, 1):
            of_run = {"run": run} if run is not None else {"run": number} if n_samples > 1 else {}
            for name, row in by_id.items():
                if name not in texts:
                    continue
                if digest and row.get("asked_of", digest) != digest:
                    raise PredictionsError(
                        f"{requests}: {shown(name)} is about another dataset than {folder}; give --dataset "
                        "the folder that these requests were made of"
                    )
                allowed = tuple(row["answers"])
                if allowed not in readers:
                    readers[allowed] = _reader(allowed, dataset, properties, requests)
                question, asked, text = str(row["question"]), row.get("asked", ()), texts[name]
                if episodes is not None:
                    question, text = (episodes.in_real_words(row, each) for each in (question, text))
                answer = readers[allowed].read(question, text, asked=asked)
                if readers[allowed].asks_for_yes_or_no(question, asked=asked):
                    of_yes_no.append(answer is not None)
                if answer is None:
                    unreadable.append((name, texts[name]))
                place: dict[str, Any] = {key: row[key] for key in (*_COPIED, *CONDITIONS) if key in row}
                yield {**place, "answer": answer or NO_ANSWER, **of_run, **about}

    n = write_predictions(out, rows(), inputs=(*replies, requests))
    counts = {"replies": n, "unreadable": len(unreadable), "missing": len(missing), "samples": n_samples}
    counts |= {"yes_no": len(of_yes_no), "unreadable_yes_no": of_yes_no.count(False)}
    counts |= {"cut_off": given.n_cut, "left_out": given.n_left_out}
    return ReplyCounts(counts, unreadable, missing, given.failed, given.agreement)


def _check_one_condition(requests: Path, by_id: Mapping[str, Mapping[str, Any]]) -> None:
    """Checks that all requests have the same instruction, the same form of images and that of supports.

    Raises:
        PredictionsError: they do not.
    """
    for key in CONDITIONS:
        found = dict.fromkeys(str(row.get(key, "none")) for row in by_id.values())
        if len(found) > 1:
            raise PredictionsError(
                f"{requests}: requests with {key} {' and '.join(found)}, whose accuracies are not "
                "comparable; give each kind of requests and their replies by themselves"
            )


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
