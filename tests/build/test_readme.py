"""README's code does what README says."""

import re
from pathlib import Path

import pytest
from building import Make

README = Path(__file__).parents[2] / "README.md"


def test_the_check_by_hand_runs_as_it_stands(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert "assert all(" in snippet
    make(tmp_path / "out" / "demo", render=False)
    monkeypatch.chdir(tmp_path)
    exec(snippet, {})
    # It sees a wrong answer.
    questions = tmp_path / "out/demo/hops/rubber_cylinder/train_questions.json"
    questions.write_text(re.sub(r'"answer": ?"yes"', '"answer":"no"', questions.read_text()))
    with pytest.raises(AssertionError):
        exec(snippet, {})
