"""The rows of the kinds of split fit each other and what the rest of the package knows."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

import clevrhope
from clevrhope.config.presets import Sizes
from clevrhope.splits.kinds import (
    GAPS,
    IID,
    OOD,
    PAIR_SPLITS,
    PLAIN_SPLITS,
    SECOND_SPLITS,
    SPLITS,
    SYSTEMATICITY_GAPS,
    VALUE_SPLITS,
    SplitKind,
)


def test_every_split_belongs_to_a_dataset() -> None:
    assert set(SPLITS) == {*PAIR_SPLITS, *PLAIN_SPLITS, *SECOND_SPLITS, *VALUE_SPLITS}
    assert PAIR_SPLITS == ("train", "val_iid", "complex_iid", "complex_ood", "minimal_iid", "minimal_ood")
    assert PLAIN_SPLITS == ("train", "val", "test")


@pytest.mark.parametrize("kind", SPLITS.values(), ids=lambda kind: kind.name)
def test_a_row_fits(kind: SplitKind) -> None:
    assert kind.size in {each.name for each in fields(Sizes)}
    assert (kind.drawn == "stream") == bool(kind.pool) == bool(kind.questions_per_scene)
    assert bool(kind.gap) == bool(kind.baseline)
    assert not kind.baseline or SPLITS[kind.baseline].drawn == kind.drawn
    assert (kind.group == 0) == (kind.drawn == "places")


def test_groups_grow_with_the_values_held_out() -> None:
    kind = SPLITS["minimal_ood"]
    assert [kind.group_of(n) for n in (2, 3, 4)] == [4, 8, 16]
    assert kind.caption_of(3).endswith("in one image of 8.")
    assert SPLITS["train"].caption_of(0) == "Nothing held out."
    assert SPLITS["counting"].group_of(1) == 6


def test_gaps_are_between_splits_drawn_alike() -> None:
    assert list(SYSTEMATICITY_GAPS) == ["complex", "minimal"]
    assert (OOD, IID) == ("complex_ood", "complex_iid")
    assert {name: (gap.name, gap.baseline) for name, gap in GAPS.items()} == {
        "complex": ("complex_ood", "complex_iid"),
        "minimal": ("minimal_ood", "minimal_iid"),
        "val": ("val_b", "val"),
        "test": ("test_b", "test"),
    }


AMBIGUOUS = {"train", "val", "test", "counting"}
"""Names of splits that are names of pools, roles, stages, CLEVR's own splits, or a word of replies, too."""

MAY_QUOTE = ("splits/kinds.py", "splits/covr/kinds.py", "config/presets.py", "sources/official/names.py")


NAMES = re.compile("|".join(rf"\b{name}\b" for name in SPLITS if "_" in name))
"""The names that cannot be other words, wherever in a sentence they are."""


def names_split(constant: object) -> bool:
    if not isinstance(constant, str):
        return False
    return constant in set(SPLITS) - AMBIGUOUS or NAMES.search(constant) is not None


def quoted_splits(source: str) -> list[str]:
    """Names of splits that Python source quotes, and comparisons of anything called a split with a string."""
    found = []
    tree = ast.parse(source)
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in docstrings and names_split(node.value):
            found.append(f"{node.lineno}: {node.value!r}")
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            strings = [each for side in sides for each in ast.walk(side) if isinstance(each, ast.Constant)]
            names = [ast.unparse(side) for side in sides if not isinstance(side, ast.Constant)]
            if any("split" in name.lower() and not name.endswith(".role") for name in names) and any(
                each.value in AMBIGUOUS for each in strings
            ):
                found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


@pytest.mark.slow
def test_no_other_file_asks_for_a_split_by_name() -> None:
    package = Path(clevrhope.__file__).parent
    found = {
        name: quoted
        for path in sorted(package.rglob("*.py"))
        if (name := path.relative_to(package).as_posix()) not in MAY_QUOTE
        and (quoted := quoted_splits(path.read_text()))
    }
    assert found == {}


def test_the_scan_finds_what_it_looks_for() -> None:
    assert quoted_splits('a = b["complex_iid"]') == ["1: 'complex_iid'"]
    assert quoted_splits('f"{n} of val_b"; """On val_b."""') == ["1: ' of val_b'"]
    assert quoted_splits('if split.name == "train": pass') == ["1: split.name == 'train'"]
    assert quoted_splits('if each.split in ("val", NAME): pass') == ["1: each.split in ('val', NAME)"]
    assert quoted_splits('stage == "train"; SPLITS[a].role != "test"; f"{split} of train"') == []
