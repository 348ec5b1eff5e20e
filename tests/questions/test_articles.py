"""Whatever values of a world are called, texts have the right articles, and the audit reads them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from building import build_demo

import clevrhope
from clevrhope.audit import audit
from clevrhope.dataset.nonce_text import in_real_words
from clevrhope.errors import with_article
from clevrhope.metrics.episodes import Episodes
from clevrhope.runtime import assets

HOP = "orange_unicorn"
NAMES = {"purple": "orange", "metal": "iron", "cube": "hourglass", "cylinder": "unicorn", "large": "uniform"}
"""Names of the package's values -> names whose sound decides their article."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    properties = json.loads((assets.blender_assets() / "properties.json").read_text())
    for kind in ("sizes", "colors", "materials", "shapes"):
        properties[kind] = {NAMES.get(name, name): value for name, value in properties[kind].items()}
    out = tmp_path_factory.mktemp("articles")
    (out / "own.json").write_text(json.dumps(properties))
    build_demo(out / "data", render=False, hops=(HOP,), properties=out / "own.json", covr=True, nonce=60)
    return out / "data"


def wrong_articles(texts: list[str]) -> list[str]:
    """What has another article than it should have."""
    found = (each for text in texts for each in re.findall(r"\b([Aa]n?) ([\w-]+)", text))
    return [
        f"{article} {word}"
        for article, word in found
        if not with_article(word).startswith(f"{article.lower()} ")
    ]


def texts_of(folder: Path, kind: str) -> Iterator[str]:
    if kind == "episodes":
        episodes = Episodes(folder)
        for split in ("nonce_unseen", "nonce_seen_real"):
            for row in range(60):
                asked = episodes.question(split, row)
                yield from (asked.text, *(text for _, text in asked.context))
    else:
        split = "covr_test" if kind == "sets" else "train"
        for item in clevrhope.load(folder, HOP, split, images=False, text=True, steps=kind == "steps"):
            yield from (
                [step["text"] for step in item["steps"]] if kind == "steps" else [item["question_text"]]
            )


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("questions", ("an orange", "an iron", "a uniform")),
        ("steps", ("an iron", "a uniform")),
        ("sets", ("an iron", "a uniform", "an hourglass")),
        ("episodes", ("an orange", "an iron", "a uniform")),
    ],
)
def test_articles_follow_the_sound_of_the_next_word(folder: Path, kind: str, words: tuple[str, ...]) -> None:
    texts = list(texts_of(folder, kind))
    assert wrong_articles(texts) == []
    said = re.sub("[?.,;]", " ", " ".join(texts).lower())
    assert [each for each in words if f" {each} " not in said] == []


def test_the_audit_reads_all_of_it(folder: Path) -> None:
    assert audit(folder, properties=folder.parent / "own.json").ok


def test_a_reply_in_real_words_has_their_articles() -> None:
    meanings = {"bemif": "orange", "sotun": "cube"}
    assert in_real_words("A bemif sotun is a sotun.", meanings) == "An orange cube is a cube."
