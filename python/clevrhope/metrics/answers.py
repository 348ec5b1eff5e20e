"""Predictions from the replies to a file of requests.

`reply_files` has the forms of replies. The predictions are marked "not trained on the splits" by default: a
model that was not trained on a set without the pair has gaps that say nothing about systematicity.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from clevrhope.dataset.folder import Folder
from clevrhope.dataset.question_kinds import NONCE, kind_of
from clevrhope.dataset.vocab import NO_ANSWER, NOT_TRAINED
from clevrhope.errors import ConfigError, PredictionsError, shown
from clevrhope.metrics.collector import CONDITIONS
from clevrhope.metrics.episodes import Episodes
from clevrhope.metrics.people import Agreement
from clevrhope.metrics.predictions import write_predictions
from clevrhope.metrics.reply_files import read_replies
from clevrhope.metrics.request_files import COPIED, read_requests
from clevrhope.programs import default_vocabulary
from clevrhope.replies import ReplyReader
from clevrhope.runtime.json_text import read_object


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
                place: dict[str, Any] = {key: row[key] for key in (*COPIED, *CONDITIONS) if key in row}
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
