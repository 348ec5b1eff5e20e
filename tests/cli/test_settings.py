"""What `train --set NAME=VALUE` is read as."""

import click
import pytest

from clevrhope.cli.models import read_size, read_train_request, train


def settings(*given: str) -> dict[str, object]:
    words = ["film", "folder", "--hop", "none", "--size", "300", "--seed", "1"]
    for each in given:
        words += ["--set", each]
    return dict(read_train_request(train.make_context("train", words).params).settings)


def test_values_are_of_toml_or_texts() -> None:
    assert settings("a=32", "b=1e-4", "c=true", 'd="text"', "e=[1, 2]", "f=text") == {
        "a": 32,
        "b": 1e-4,
        "c": True,
        "d": "text",
        "e": [1, 2],
        "f": "text",
    }


@pytest.mark.parametrize("text", ["1979-05-27", "12:30:00", "9" * 5_000, "[" * 5_000, '"\\u0000"', "{", "="])
def test_what_toml_does_not_read_is_a_text(text: str) -> None:
    assert settings(f"a={text}") == {"a": text}


@pytest.mark.parametrize("text", ["1x0", "96", "x", "\u0661x\u0661", "9" * 5_000 + "x1", "96x64 "])
def test_what_is_no_size_of_images_is_said(text: str) -> None:
    assert (read_size("96x64"), read_size("image"), read_size(None)) == ((96, 64), "image", None)
    with pytest.raises(
        click.UsageError, match=r"--size: .* should be width and height in pixels, such as 96x64"
    ):
        read_size(text)
