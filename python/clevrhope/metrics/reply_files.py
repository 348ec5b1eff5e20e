"""Replies to requests, read from files of three forms, which are not mixed.

A line of this package is `{"id": ..., "reply": ...}`. A line of a batch's results has `custom_id` and
`response`, as OpenAI's batches and vLLM's `run-batch` write it. The results of VLMEvalKit are a table with
tabs, whose header has `id` and `prediction`. A request may fail, and a file may end too early: what is then
there is used only if it was asked for.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from clevrhope.errors import PredictionsError, shown
from clevrhope.metrics.people import Agreement, majorities
from clevrhope.runtime.forms import ANY, OBJECT, TEXT, Fields, Kind, ListOf, Nullable, check_form
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import MAX_LINE, check_regular, numbered_lines, open_text, reading

ID = Kind("a string or a number", lambda value: isinstance(value, str | int))
_REPLY = Fields({"id": ID, "reply": ANY}, {"person": TEXT})
_HAS_CUSTOM_ID = re.compile(r'"custom_id"\s*:')
_RESULT = Fields({"custom_id": ID, "response": Nullable(OBJECT)})
_BODY = Fields({"choices": ListOf(Fields({"message": OBJECT}), least=1)})
_COLUMNS = ("id", "prediction")
_LINES, _BATCH, _TABLE = 'lines with "id" and "reply"', "results of a batch", "a table of VLMEvalKit"

_FAILED = "Failed to obtain answer"
"""What VLMEvalKit writes for a request without a reply."""

_IF_CUT = "if the file was cut off here, --partial uses what is before"
_WORKBOOK = b"PK\x03\x04"
_MOST_OF_ID = 64
"""The most characters of a `custom_id`; some vendors of batches take no more."""


class Reply(NamedTuple):
    """What one line of a file says."""

    place: str
    """The file and the line."""
    id: str
    texts: Sequence[str] = ()
    """The replies, several if the model was sampled several times; none if the request failed."""
    failure: str = ""
    form: str = ""
    """The form of the file; "" where a line was cut off."""
    person: str = ""
    model: str = ""
    instruction: str = ""
    """The label of the instruction that was answered, where the file says it."""
    n_cut: int = 0
    """How many of the replies end only because they have the most tokens that were allowed."""
    digest: bytes = b""
    """Of a line of a batch's results: what tells it from others."""


@dataclass(frozen=True)
class Replies:
    """The replies to requests."""

    samples: Sequence[Mapping[str, str]]
    """The text of each request's first reply, of its second one, and so on, as far as all requests with
    replies have them."""
    failed: Sequence[str]
    """What is known of each request that failed and has no reply: file, line, id and error."""
    model: str
    """The model that the results of a batch name, or ""."""
    agreement: Agreement | None
    """How far people agree, if several answered; their majorities are then the only sample."""
    n_left_out: int = 0
    """The number of replies left out of the samples, since other requests have fewer."""
    n_cut: int = 0
    """The number of replies that were cut off at the most tokens."""


def custom_id(request: str, instruction: str = "") -> str:
    """The id of a request in a batch: at most 64 letters, digits, hyphens and underscores.

    An id that cannot be spelled so without doubt, since it has a hyphen or is too long, becomes a digest.

    Args:
        request: the request's id.
        instruction: the label of its instruction, which ends the id.
    """
    request = "@".join(filter(None, (request, instruction.replace("-", "_"))))
    plain = re.sub("[/@]", "-", request)
    if "-" not in request and re.fullmatch(rf"[A-Za-z0-9_-]{{1,{_MOST_OF_ID}}}", plain):
        return plain
    return sha256(request.encode()).hexdigest()[:_MOST_OF_ID]


def read_replies(
    paths: Sequence[Path], requests: Path, instructions: Mapping[str, str], *, partial: bool
) -> Replies:
    """The replies in files of one of the three forms.

    Args:
        paths: the files. If lines of this package's form have `person`, or come in several files, several
            people may have answered. All other repeated replies are samples, in the order of files and lines.
        requests: the file of requests, for messages.
        instructions: the id of each request -> the label of its instruction, or "".
        partial: whether to use what is there if requests failed or a file ends within a line.

    Raises:
        PredictionsError: a line is malformed, a request failed, a file or a result is given twice, a person
            gave two replies to one, or a reply is not to a request, or not of the same form or model as
            others.
    """
    names = {custom_id(name, label): name for name, label in instructions.items()}
    names |= {spelling: name for name in instructions for spelling in (custom_id(name), name)}
    by_person: dict[str, dict[str, list[str]]] = {}
    failures: dict[str, str] = {}
    first: Reply | None = None
    of_model: Reply | None = None
    places: dict[bytes, str] = {}
    n_cut = 0
    for path in _distinct(paths):
        for reply in _read(path, partial=partial, several=len(paths) > 1):
            if reply.failure and not reply.id:
                failures[reply.place] = f"{reply.place}: {reply.failure}"
                continue
            first = first or reply
            if reply.form != first.form:
                raise PredictionsError(
                    f"{reply.place}: the form is {reply.form}, but that of {first.place} is {first.form}; "
                    "give all replies in one form, so that it is known whose they are"
                )
            if reply.id not in names:
                raise PredictionsError(
                    f"{reply.place}: {shown(reply.id)} is not a request of {requests}; give --requests the "
                    "file that these replies answer"
                )
            name = names[reply.id]
            if reply.instruction and reply.instruction != instructions[name]:
                raise PredictionsError(
                    f"{reply.place}: the instruction was {shown(reply.instruction)}, but that of {requests} "
                    f"is {shown(instructions[name])}; give --requests the file that these replies answer"
                )
            if of_model and reply.model and reply.model != of_model.model:
                raise PredictionsError(
                    f"{reply.place}: the reply is of the model {shown(reply.model)}, but that of "
                    f"{of_model.place} of {shown(of_model.model)}; give each model's results by themselves"
                )
            of_model = of_model or (reply if reply.model else None)
            if reply.failure:
                failures[name] = f"{reply.place}: the request {shown(name)} failed ({reply.failure})"
                continue
            if reply.digest and places.setdefault(reply.digest, reply.place) != reply.place:
                raise PredictionsError(
                    f"{reply.place}: the same result as {places[reply.digest]}; give each result once"
                )
            texts = by_person.setdefault(reply.person, {}).setdefault(name, [])
            if texts and reply.person:
                raise PredictionsError(
                    f"{reply.place}: there are two replies by {shown(reply.person)} to {shown(name)}; "
                    "keep one"
                )
            texts += reply.texts
            n_cut += reply.n_cut
    answered = {name for texts in by_person.values() for name in texts}
    failed = [sentence for name, sentence in failures.items() if name not in answered]
    if failed and not partial:
        raise PredictionsError(
            f"{failed[0]}; {len(failed):,} of {len(instructions):,} requests failed: send them again "
            "and give their results, too, or --partial to leave them out"
        )
    if len(by_person) > 1:
        if "" in by_person:
            raise PredictionsError(
                f"{paths[0]}: some replies name a person, and others do not; give those of people and those "
                "of a model by themselves"
            )
        of_each = {
            person: {name: text for name, (text,) in texts.items()} for person, texts in by_person.items()
        }
        decided, agreement = majorities(of_each)
        return Replies([decided], failed, "", agreement)
    given = next(iter(by_person.values()), {})
    n_samples = min(map(len, given.values()), default=1)
    n_left_out = sum(len(texts) - n_samples for texts in given.values())
    if n_left_out and not partial:
        most = max(given, key=lambda name: len(given[name]))
        fewest = min(given, key=lambda name: len(given[name]))
        raise PredictionsError(
            f"{paths[0]}: {shown(most)} has {len(given[most])} replies, but {shown(fewest)} {n_samples}; "
            f"give as many to each request, or --partial to use {n_samples} of each"
        )
    samples = [{name: texts[k] for name, texts in given.items()} for k in range(n_samples)]
    return Replies(samples, failed, of_model.model if of_model else "", None, n_left_out, n_cut)


def _distinct(paths: Sequence[Path]) -> Sequence[Path]:
    """The paths, none of which may name the same file as another."""
    known: set[Path] = set()
    for path in paths:
        if (resolved := path.resolve()) in known:
            raise PredictionsError(f"{path}: the file is given twice; give each file once")
        known.add(resolved)
    return paths


def numbered_rows(path: Path, form: Fields) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file of JSON lines, each with its file and line.

    Raises:
        PredictionsError: a line is malformed.
    """
    with reading(path, "JSON lines", error=PredictionsError), open_text(path, error=PredictionsError) as file:
        for number, line in numbered_lines(path, file):
            if not line.isspace():
                yield f"{path}:{number}", _row(line, path, number, form)


def _row(line: str, path: Path, number: int, form: Fields) -> dict[str, Any]:
    """The object that a line is."""
    example = ", ".join(f'"{key}": ...' for key in form.needed)
    of_batch = " of a batch of chat completions" if form is _RESULT else ""
    remedy = f"each line{of_batch} is {{{example}}}"
    row: dict[str, Any] = parse_json(line, path, line=number, error=PredictionsError, remedy=remedy)
    check_form(row, form, f"{path}:{number}", error=PredictionsError, remedy=remedy)
    return row


def _read(path: Path, *, partial: bool, several: bool) -> Iterator[Reply]:
    """The replies of a file of any form; arguments and errors as for `read_replies`."""
    with reading(path, "replies in UTF-8", error=PredictionsError):
        check_regular(path, error=PredictionsError)
        with path.open("rb") as content:
            if content.read(len(_WORKBOOK)) == _WORKBOOK:
                raise PredictionsError(
                    f"{path}: a workbook, which is not read; set PRED_FORMAT=tsv for VLMEvalKit, or save the "
                    "sheet as text with tabs"
                )
        with open_text(path, error=PredictionsError) as file:
            header = file.readline(MAX_LINE)
            file.seek(0)
            if "\t" in header and not header.lstrip().startswith("{"):
                yield from _read_table(path, file, partial=partial)
            else:
                yield from _read_lines(path, file, partial=partial, person=path.stem if several else "")


def _read_lines(path: Path, file: TextIO, *, partial: bool, person: str) -> Iterator[Reply]:
    """The replies of JSON lines; those of this package's form that name nobody are by `person`."""
    for number, line in numbered_lines(path, file):
        if line.isspace():
            continue
        form = _RESULT if _HAS_CUSTOM_ID.search(line) else _REPLY
        place = f"{path}:{number}"
        try:
            row = _row(line, path, number, form)
        except PredictionsError as problem:
            if line.endswith("\n") or not line.lstrip().startswith("{"):
                raise
            if not partial:
                raise PredictionsError(f"{problem}; {_IF_CUT}") from problem
            yield Reply(place, "", failure="the file ends within this line")
            continue
        if form is _RESULT:
            yield _result(row, place)._replace(form=_BATCH, digest=sha256(line.strip().encode()).digest())
        else:
            text = "" if row["reply"] is None else str(row["reply"])
            yield Reply(place, str(row["id"]), [text], form=_LINES, person=row.get("person", person))


def _result(row: Mapping[str, Any], place: str) -> Reply:
    """What a line of a batch's results says."""
    name, response = str(row["custom_id"]), row["response"] or {}
    body: Any = response.get("body")
    error = row.get("error") or (body.get("error") if isinstance(body, dict) else None)
    status = response.get("status_code", 200)
    if error or str(status) != "200" or not response:
        said = error
        if isinstance(error, dict):
            said = error.get("message") or error.get("code") or error.get("type") or shown(error)
        return Reply(place, name, failure=str(said or (f"status {status}" if response else "no response")))
    remedy = "only results of chat completions are read"
    check_form(body, _BODY, place, place="response.body", error=PredictionsError, remedy=remedy)
    texts = [_text(choice["message"]) for choice in body["choices"]]
    n_cut = sum(choice.get("finish_reason") == "length" for choice in body["choices"])
    return Reply(place, name, texts, model=str(body.get("model") or ""), n_cut=n_cut)


def _text(message: Mapping[str, Any]) -> str:
    """The text of a message, which may come in parts; that of a refusal if there is none."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return str(content or message.get("refusal") or "")


def _read_table(path: Path, file: TextIO, *, partial: bool) -> Iterator[Reply]:
    """The replies of a table of VLMEvalKit; with `partial`, those of whole rows."""
    table = csv.DictReader(file, delimiter="\t", strict=True)
    for name in _COLUMNS:
        if name not in (table.fieldnames or ()):
            raise PredictionsError(
                f"{path}:1: no column {name}; expected VLMEvalKit's results on a table that clevrhope ask "
                "--format vlmeval wrote"
            )
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))  # a thought may have any length
    while True:
        try:
            row = next(table, None)
        except csv.Error as problem:  # where the next row begins is not known
            place = f"{path}:{table.reader.line_num}"
            if not partial:
                raise PredictionsError(f"{place}: a broken row ({problem}); {_IF_CUT}") from problem
            yield Reply(place, "", failure=f"a broken row ({problem})")
            return
        if row is None:
            return
        place = f"{path}:{table.line_num}"
        if None in row or None in row.values():
            problem_of_row = "a broken row (it has more or fewer cells than the header)"
            if not partial:
                raise PredictionsError(f"{place}: {problem_of_row}; --partial leaves it out")
            yield Reply(place, "", failure=problem_of_row)
            continue
        failure = _FAILED if _FAILED in row["prediction"] else ""
        texts = [] if failure else [row["prediction"]]
        yield Reply(place, row["id"], texts, failure, _TABLE, instruction=row.get("instruction", ""))
