"""Calls from Python print nothing; what they say is in the log of `clevrhope`."""

import logging
from pathlib import Path

import pytest
from building import Cli, build_demo


def test_a_build_from_python_prints_nothing_and_logs_its_stages(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO, logger="clevrhope"):
        build_demo(tmp_path / "made", splits=("minimal_ood",))
    assert capfd.readouterr() == ("", "")
    assert {record.name for record in caplog.records} == {"clevrhope"}
    begun = [text.partition(":")[0] for text in caplog.messages if text.endswith((" to do", " begins"))]
    ended = [text.partition(":")[0] for text in caplog.messages if text.endswith(" done")]
    assert len(begun) > 1
    assert sorted(begun) == sorted(ended)


def test_a_command_logs_nothing_on_the_terminal(cli: Cli, tmp_path: Path) -> None:
    build = ("build", "--hop", "rubber_cylinder", "--splits", "minimal_ood", "--seed", 1, "--no-render")
    assert cli(*build, "--out", tmp_path / "made", "--quiet") == ("", "")
