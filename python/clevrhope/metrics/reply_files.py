"""Replies to requests, read from files of three forms, which their first line tells apart.

A line of this package is `{"id": ..., "reply": ...}`. A line of a batch's results has `custom_id` and
`response`, as OpenAI's batches and vLLM's `run-batch` write it. The results of VLMEvalKit are a table with
tabs, whose header has `id` and `prediction`. A request may fail, and a file may end too early: what is then
there is used only if it was asked for.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    person: str = ""
    model: str = ""


@dataclass(frozen=True)
class Replies:
    """The replies to requests."""

    samples: Sequence[Mapping[str, str]]
    """The text of each request's first reply, of its second one, and so on."""
    failed: Sequence[str]
    """What is known of each request that failed and has no reply: file, line, id and error."""
    model: str
    """The model that the results of a batch name, or ""."""
    agreement: Agreement | None
    """How far people agree, if several answered; their majorities are then the only sample."""


def custom_id(request: str) -> str:
    """The id of a request in a batch: at most 64 letters, digits, hyphens and underscores.

    An id that cannot be spelled so without doubt, since it has a hyphen or is too long, becomes a digest.
    """
    plain = re.sub("[/@]", "-", request)
    if "-" not in request and re.fullmatch(rf"[A-Za-z0-9_-]{{1,{_MOST_OF_ID}}}", plain):
        return plain
    return sha256(request.encode()).hexdigest()[:_MOST_OF_ID]


def read_replies(paths: Sequence[Path], requests: Path, ids: Iterable[str], *, partial: bool) -> Replies:
    """The replies in files of any of the three forms.

    Args:
        paths: the files. If lines of this package's form have `person`, or come in several files, several
            people may have answered. All other repeated replies are samples, in the order of files and lines.
        requests: the file of requests, for messages.
        ids: the ids of the requests.
        partial: whether to use what is there if requests failed or a file ends within a line.

    Raises:
        PredictionsError: a line is malformed, a request failed, a person gave two replies to one, or a reply
            is not to a request, or not of the same model as others.
    """
    names = {spelling: name for name in ids for spelling in (custom_id(name), name)}
    by_person: dict[str, dict[str, list[str]]] = {}
    failures: dict[str, str] = {}
    first: Reply | None = None
    for path in paths:
        for reply in _read(path, partial=partial, several=len(paths) > 1):
            if reply.failure and not reply.id:
                failures[reply.place] = f"{reply.place}: {reply.failure}"
                continue
            if reply.id not in names:
                raise PredictionsError(
                    f"{reply.place}: {shown(reply.id)} is not a request of {requests}; give --requests the "
                    "file that these replies answer"
                )
            if first and reply.model and reply.model != first.model:
                raise PredictionsError(
                    f"{reply.place}: the reply is of the model {shown(reply.model)}, but that of "
                    f"{first.place} of {shown(first.model)}; give each model's results by themselves"
                )
            first = first or (reply if reply.model else None)
            name = names[reply.id]
            if reply.failure:
                failures[name] = f"{reply.place}: the request {shown(name)} failed ({reply.failure})"
                continue
            texts = by_person.setdefault(reply.person, {}).setdefault(name, [])
            if texts and reply.person:
                raise PredictionsError(
                    f"{reply.place}: there are two replies by {shown(reply.person)} to {shown(name)}; "
                    "keep one"
                )
            texts += reply.texts
    answered = {name for texts in by_person.values() for name in texts}
    failed = [sentence for name, sentence in failures.items() if name not in answered]
    if failed and not partial:
        raise PredictionsError(
            f"{failed[0]}; {len(failed):,} of {len(set(names.values())):,} requests failed: send them again "
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
    n_samples = max(map(len, given.values()), default=1)
    samples = [{name: texts[k] for name, texts in given.items() if len(texts) > k} for k in range(n_samples)]
    return Replies(samples, failed, first.model if first else "", None)


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
    remedy = f"expected {{{example}}}"
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
            if line.endswith("\n"):
                raise
            if not partial:
                raise PredictionsError(f"{problem}; {_IF_CUT}") from problem
            yield Reply(place, "", failure="the file ends within this line")
            continue
        if form is _RESULT:
            yield _result(row, place)
        else:
            text = "" if row["reply"] is None else str(row["reply"])
            yield Reply(place, str(row["id"]), [text], person=row.get("person", person))


def _result(row: Mapping[str, Any], place: str) -> Reply:
    """What a line of a batch's results says."""
    name, response = str(row["custom_id"]), row["response"] or {}
    body: Any = response.get("body")
    error = row.get("error") or (body.get("error") if isinstance(body, dict) else None)
    status = response.get("status_code", 200)
    if error or status != 200 or not response:
        said = (error.get("message") or error.get("code")) if isinstance(error, dict) else error
        return Reply(place, name, failure=str(said or f"status {status}"))
    check_form(body, _BODY, place, place="response.body", error=PredictionsError)
    texts = [_text(choice["message"]) for choice in body["choices"]]
    return Reply(place, name, texts, model=str(body.get("model") or ""))


def _text(message: Mapping[str, Any]) -> str:
    """The text of a message, which may come in parts; that of a refusal if there is none."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return str(content or message.get("refusal") or "")


def _read_table(path: Path, file: TextIO, *, partial: bool) -> Iterator[Reply]:
    """The replies of a table of VLMEvalKit; with `partial`, those before the first broken row."""
    table = csv.DictReader(file, delimiter="\t", strict=True)
    for name in _COLUMNS:
        if name not in (table.fieldnames or ()):
            raise PredictionsError(
                f"{path}:1: no column {name}; expected VLMEvalKit's results on a table that clevrhope ask "
                "--format vlmeval wrote"
            )
    while True:
        try:
            row = next(table, None)
            if row is not None and (None in row or None in row.values()):
                raise csv.Error("it has more or fewer cells than the header")
        except csv.Error as problem:
            place = f"{path}:{table.reader.line_num}"
            if not partial:
                raise PredictionsError(f"{place}: a broken row ({problem}); {_IF_CUT}") from problem
            yield Reply(place, "", failure=f"a broken row ({problem})")
            return
        if row is None:
            return
        failure = _FAILED if _FAILED in row["prediction"] else ""
        texts = [] if failure else [row["prediction"]]
        yield Reply(f"{path}:{table.line_num}", row["id"], texts, failure)
