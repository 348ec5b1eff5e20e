"""The page on which people answer requests: one file, which needs no server and sends nothing anywhere."""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from clevrhope.errors import ConfigError
from clevrhope.metrics.harness_files import image_url
from clevrhope.metrics.request_files import numbered_requests
from clevrhope.pages import render_page
from clevrhope.runtime.atomic import write_whole
from clevrhope.scenes.vocabulary import default_vocabulary


def paragraphs(text: str) -> list[str]:
    """The paragraphs of instructions, which blank lines separate."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def _is_of_clevr(attributes: Mapping[str, Sequence[str]]) -> bool:
    known = {kind: {*values} for kind, values in default_vocabulary().attribute_types}
    return known == {kind: {*values} for kind, values in attributes.items()}


def write_survey(
    requests: Path,
    out: Path,
    *,
    title: str = "{n} questions about images",
    instructions: Sequence[str] = (),
    page: str = "",
    attributes: Mapping[str, Sequence[str]] | None = None,
) -> int:
    """Writes the page for the requests of a file that have `asked`; returns the number of questions.

    Args:
        requests: the file, whose images are put into the page, each once.
        out: the page.
        title: its heading; `{n}` stands for the number of questions.
        instructions: paragraphs that come first; if empty, those that the page has.
        page: only requests of this page; "" for all.
        attributes: each attribute type of the world with its values; None for those of CLEVR.

    Raises:
        ConfigError: a request does not say among which answers it asks.
        DatasetError: an image cannot be read.
        PredictionsError: the file is not one of requests.
    """
    questions: list[dict[str, Any]] = []
    images: dict[str, tuple[int, str]] = {}
    """Path -> its number and data URL."""
    for place, row in numbered_requests(requests):
        if "asked" not in row:
            raise ConfigError(
                f"{requests}: the requests have no answers to choose from; write them for people"
            )
        if page not in ("", row.get("page")):
            continue
        context = row.get("context", ())
        paths = row["images"] if "images" in row else [row["image"]]
        for path in [*paths, *(each["image"] for each in context if "image" in each)]:
            if path not in images:
                images[path] = len(images), image_url(Path(path), place)
        question = {name: row[name] for name in ("id", "question", "asked")}
        question["images"] = [images[path][0] for path in paths]
        question["context"] = [
            {"text": each["text"], "image": images[each["image"]][0] if "image" in each else None}
            for each in context
        ]
        questions.append(question)
    urls = [url for _, url in images.values()]
    key = sha256(requests.read_bytes()).hexdigest()[:16]
    page = render_page(
        "survey.html",
        title=title.replace("{n}", f"{len(questions):,}"),
        instructions=instructions,
        n_questions=len(questions),
        attributes={} if attributes is None or _is_of_clevr(attributes) else attributes,
        data={"questions": questions, "images": urls, "key": f"clevrhope/{key}{page}"},
    )
    write_whole(out, page.encode())
    return len(questions)
