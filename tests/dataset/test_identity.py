"""What makes a dataset that dataset, for a run on one of its pairs."""

from dataclasses import replace
from typing import Any

import pytest

from clevrhope.dataset.folder import identity
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.vocab import Vocab, make_vocab

VOCAB = make_vocab(["are"], ["scene"], ["yes"])
A = {"types": ["color"], "rows": [[["red"]]]}
MANIFEST = Manifest(
    version="1",
    seed=5,
    world={"fingerprint": "w"},
    templates={"fingerprint": "t"},
    questions={"window": 250},
    rendering={"renderer": "native"},
    splits={"none-A": {"train": {"pool": "train-A"}}, "gray_cube": {"train": {"pool": "train"}}},
    palettes={"A": A},
)


def of(manifest: Manifest = MANIFEST, vocab: Vocab = VOCAB, **more: Any) -> dict[str, Any]:
    return identity(manifest, vocab, **{"hop": "none-A", "images": True, **more})


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "3"},
        {"seed": 6},
        {"world": {"fingerprint": "v"}},
        {"templates": {"fingerprint": "s"}},
        {"questions": {"window": 250, "strictness": "chain"}},
        {"rendering": {"renderer": "blender"}},
        {"palettes": {"A": {**A, "rows": [[["blue"]]]}}},
    ],
)
def test_what_changes_it(changes: dict[str, Any]) -> None:
    assert of(replace(MANIFEST, **changes)) != of()


def test_another_vocabulary_changes_it() -> None:
    assert of(vocab=make_vocab(["are", "is"], ["scene"], ["yes"])) != of()


def test_what_grows_does_not() -> None:
    """Sizes, other pairs, and test sets on another palette's images (val_b and test_b)."""
    splits = {
        **MANIFEST.splits,
        "none-A": {"train": {"pool": "train-A", "questions": 99}, "test_b": {"pool": "test_iid-B"}},
        "red_cube": {"train": {"pool": "train"}},
    }
    grown = replace(MANIFEST, splits=splits, palettes={"A": A, "B": {**A, "rows": [[["blue"]]]}})
    assert of(grown) == of()
    other = replace(MANIFEST, palettes={})
    assert of(other, hop="gray_cube") == of(hop="gray_cube")


def test_images_do_not_count_for_who_does_not_look_at_them() -> None:
    bare = replace(MANIFEST, rendering=None)
    assert of(bare, images=False) == of(images=False)
    assert of(bare) != of()
