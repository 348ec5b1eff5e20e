"""docs/models.md names every setting of every model, with its default."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from clevrhope.models.film import FilmConfig
from clevrhope.models.lxmert.config import LxmertConfig
from clevrhope.models.mac import MacConfig
from clevrhope.models.maps import MapsConfig
from clevrhope.models.object_transformer import ObjectTransformerConfig
from clevrhope.models.question_only import QuestionOnlyConfig
from clevrhope.models.tensor_nmn.config import TensorNmnConfig
from clevrhope.models.vector_nmn import VectorNmnConfig

PAGE = (Path(__file__).parents[2] / "docs/models.md").read_text("utf-8")
LXMERT = PAGE.split("## LXMERT")[1].split("\n## ")[0]
NMN = PAGE.split("## Tensor-NMN")[1].split("\n## ")[0]
OTHERS = PAGE.split("## Other models")[1].split("| updates |")[0]
SHARED = {each.name for each in fields(MapsConfig)}


def settings(kind: Any) -> list[Any]:
    return [each for each in fields(kind) if each.name not in SHARED]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("film", FilmConfig),
        ("mac", MacConfig),
        ("vector_nmn", VectorNmnConfig),
        ("object_transformer", ObjectTransformerConfig),
        ("question_only", QuestionOnlyConfig),
    ],
)
def test_settings_of_the_others_are_told_with_their_defaults(name: str, kind: Any) -> None:
    (row,) = re.findall(rf"^\| `{name}` \| (.*) \|$", OTHERS, re.MULTILINE)
    told = re.findall(r"`(\w+)` ([\d.]+)", row)
    assert told == [(each.name, str(each.default)) for each in settings(kind)]


def test_settings_of_lxmert_are_told_with_their_defaults() -> None:
    said = LXMERT.replace("\n", " ")
    for each in settings(LxmertConfig):
        assert "weights=FILE" in said if each.name == "weights" else f"`{each.name}` {each.default}" in said


def test_settings_of_tensor_nmn_are_told_with_their_defaults_and_origins() -> None:
    told: dict[str, str] = {}
    for names, defaults, origin in re.findall(r"^\| (`.*?`) \| (.*?) \| (.*?) \|", NMN, re.MULTILINE):
        several = re.findall(r"`(\w+)`", names)
        if origin.split(",")[0] in ("paper", "public code", "choice"):
            told |= dict(zip(several, defaults.replace("`", "").split(", "), strict=True))
    assert told.pop("features") == "resnet101"
    assert told.pop("channels") == str(TensorNmnConfig().channels)
    assert told == {each.name: str(each.default) for each in settings(TensorNmnConfig)}


@pytest.mark.parametrize("name", sorted(SHARED - {"features"}))
def test_what_models_of_maps_share_is_told(name: str) -> None:
    assert f"`{name}`" in PAGE.split("## Tensor-NMN")[0]
