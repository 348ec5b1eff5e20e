"""Requests in the forms of other programs: OpenAI's batches, which vLLM reads, and VLMEvalKit's tables.

Both are made from a file of requests, which stays beside them, so that replies can be told by their ids.
"""

import base64
import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from clevrhope.errors import ConfigError, DatasetError, counted
from clevrhope.images.png import MAX_PNG_BYTES, is_whole_png, read_png
from clevrhope.metrics.nonce_requests import messages
from clevrhope.metrics.reply_files import custom_id
from clevrhope.metrics.request_files import numbered_requests
from clevrhope.runtime.atomic import whole_file
from clevrhope.runtime.reading import read_bytes

_COPIED = ("id", "hop", "split", "instruction")


def image_url(path: Path, place: str, *, jpeg: int | None = None) -> str:
    """An image as a data URL.

    Args:
        path: a PNG file.
        place: the file and line that name it, for messages.
        jpeg: if given, the image is encoded as JPEG of this quality, from 1 to 95, which changes pixels.

    Raises:
        DatasetError: the image is missing, or is not a whole PNG file.
    """
    try:
        if jpeg is not None:
            memory = BytesIO()
            Image.fromarray(read_png(path)).save(memory, "JPEG", quality=jpeg)
            return f"data:image/jpeg;base64,{base64.b64encode(memory.getvalue()).decode()}"
        content = read_bytes(path, "an image", max_bytes=MAX_PNG_BYTES)
        if not is_whole_png(path):
            raise DatasetError(f"{path}: not a whole PNG file")
    except DatasetError as problem:
        raise DatasetError(f"{place}: {problem}") from problem
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def write_batch(
    requests: Path,
    *,
    model: str,
    max_tokens: int,
    jpeg: int | None = None,
    max_lines: int = 50_000,
    max_bytes: int = 200_000_000,
) -> list[Path]:
    """Writes the lines of a batch for requests that have `prompt`, and returns the files beside theirs.

    Args:
        requests: the file of requests, such as hope.jsonl; the files are then hope_batch_1.jsonl and so on.
        model: the model that each line names.
        max_tokens: the most tokens of a reply, thoughts included.
        jpeg: as for `image_url`.
        max_lines: the most lines of a file; the default is OpenAI's limit.
        max_bytes: the most bytes of a file; as before.

    Raises:
        DatasetError: an image cannot be read.
        ConfigError: one line has too many bytes, or an earlier batch had more files. No file is written then.
    """
    lines = _batch_lines(requests, model, max_tokens, jpeg)
    paths: list[Path] = []
    line = next(lines, None)
    with ExitStack() as all_or_none:  # the files get their names together
        while line is not None:
            paths.append(_numbered(requests, len(paths) + 1))
            with all_or_none.enter_context(whole_file(paths[-1])).open("wb") as file:
                n_lines = n_bytes = 0
                while line is not None and n_lines < max_lines and n_bytes + len(line) <= max_bytes:
                    file.write(line)
                    n_lines, n_bytes = n_lines + 1, n_bytes + len(line)
                    line = next(lines, None)
                if not n_lines:
                    raise ConfigError(
                        f"{paths[-1]}: its first line would have {len(line or b''):,} bytes, more than the "
                        f"{max_bytes:,} of a file; make images smaller with --jpeg"
                    )
        if (earlier := _numbered(requests, len(paths) + 1)).exists():
            raise ConfigError(
                f"{earlier}: it belongs to an earlier batch of more than {counted(len(paths), 'file')}; "
                "remove that batch and run the same command again (no file of the new one was written)"
            )
    return paths


def _numbered(requests: Path, number: int) -> Path:
    return requests.with_name(f"{requests.stem}_batch_{number}.jsonl")


def _batch_lines(requests: Path, model: str, max_tokens: int, jpeg: int | None) -> Iterator[bytes]:
    urls: dict[str, str] = {}
    for place, row in numbered_requests(requests):
        said = messages(row)
        images = [content for _, parts in said for kind, content in parts if kind == "image"]
        # Questions about one image mostly follow each other.
        urls = {image: urls.get(image) or image_url(Path(image), place, jpeg=jpeg) for image in images}
        line = {
            "custom_id": custom_id(str(row["id"]), row.get("instruction", "")),
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {
                "model": model,
                "messages": [{"role": role, "content": _content(parts, urls)} for role, parts in said],
                "max_completion_tokens": max_tokens,
            },
        }
        yield f"{json.dumps(line, ensure_ascii=False)}\n".encode()


def _content(parts: Sequence[tuple[str, str]], urls: Mapping[str, str]) -> list[Any] | str:
    """A message's content; one text alone is a string, which servers take from an assistant."""
    if [kind for kind, _ in parts] == ["text"]:
        return parts[0][1]
    return [
        {"type": "image_url", "image_url": {"url": urls[content]}}
        if kind == "image"
        else {"type": "text", "text": content}
        for kind, content in parts
    ]


def write_table(requests: Path, out: Path, *, jpeg: int | None = None) -> None:
    """Writes VLMEvalKit's table for requests that have `prompt` and `right_answer`.

    An image stands in the first row about it; later rows have the index of that row in its place. A row
    about several images has a list of them, and in `image_path` a list of their names.

    Args:
        requests: the file of requests.
        out: the table.
        jpeg: as for `image_url`.

    Raises:
        DatasetError: an image cannot be read.
    """
    first_rows: dict[str, int] = {}
    with whole_file(out) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(("index", "image", "image_path", "question", "answer", *_COPIED))
        for index, (place, row) in enumerate(numbered_requests(requests)):
            ((_, parts),) = messages(row)
            *images, text = (content for _, content in parts)
            first = first_rows.setdefault(" ".join(images), index)
            cells: list[Any] = [first]
            if first == index:
                cells = [image_url(Path(image), place, jpeg=jpeg).partition(",")[2] for image in images]
            names = [Path(image).name for image in images]
            image, path = (each[0] if len(each) == 1 else json.dumps(each) for each in (cells, names))
            copied = (row[name] for name in _COPIED)
            table.writerow((index, image, path, text, row["right_answer"], *copied))
