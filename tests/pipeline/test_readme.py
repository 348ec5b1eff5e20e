"""README's code does what README says."""

import re
from pathlib import Path

import pytest
from building import Make

README = Path(__file__).parents[2] / "README.md"


def snippet_with(words: str) -> str:
    """The one piece of Python in README that holds these words."""
    (found,) = (
        each for each in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if words in each
    )
    return str(found)


def test_reading_it_runs_as_it_stands(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "out" / "demo")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(snippet_with("clevrhope.load("), names)
    assert len(names["train"]) == 100  # type: ignore[arg-type]


def test_the_check_by_hand_runs_as_it_stands(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snippet = snippet_with("assert all(")
    make(tmp_path / "out" / "demo", render=False)
    monkeypatch.chdir(tmp_path)
    exec(snippet, {})
    # It sees a wrong answer.
    questions = tmp_path / "out/demo/hops/rubber_cylinder/train_questions.json"
    questions.write_text(re.sub(r'"answer": ?"yes"', '"answer":"no"', questions.read_text()))
    with pytest.raises(AssertionError):
        exec(snippet, {})
