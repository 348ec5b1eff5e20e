"""Instructions are named, versioned and recorded; a file's text is known by its digest."""

import hashlib
from pathlib import Path

import pytest

from clevrhope.errors import ConfigError
from clevrhope.replies.instructions import INSTRUCTIONS, find_instruction
from wording import check_refused


def test_named_instructions_have_labels_of_their_own() -> None:
    labels = [find_instruction(name).label for name in INSTRUCTIONS]
    assert labels == ["short-1", "think-1"]
    assert find_instruction("short").after("Is it?") == "Is it? Answer with one word or number."


def test_texts_change_only_with_their_versions() -> None:
    text = "\n".join(f"{each.label} {each.text}" for each in INSTRUCTIONS.values())
    assert hashlib.sha256(text.encode()).hexdigest()[:12] == "a9f6709687e3"


def test_text_of_file_is_known_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes("\ufeffSay one word.\n".encode())
    found = find_instruction(path)
    assert found.text == "Say one word."
    assert found.label == f"file-{hashlib.sha256(b'Say one word.').hexdigest()[:12]}"


@pytest.mark.parametrize("content", [None, b" \n", b"\xff\xfe"], ids=["missing", "empty", "utf-16"])
def test_file_that_is_no_instruction_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "mine.txt"
    if content is not None:
        path.write_bytes(content)
    check_refused(ConfigError, find_instruction, path)
