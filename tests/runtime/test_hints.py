"""What a message suggests in place of an unknown name: never another name that may be meant itself."""

import pytest

from clevrhope.runtime.settings import suggestion

SPLITS = ("train", "val_iid", "complex_iid", "complex_ood", "minimal_iid", "covr_test_ood")


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("complex_odd", SPLITS, "complex_ood"),
        ("Complex-OOD", SPLITS, "complex_ood"),
        ("minmal_iid", SPLITS, "minimal_iid"),
        ("trian", SPLITS, "train"),
        ("grey", ["green", "gray"], "gray"),
        ("rde", ["red"], "red"),
        ("cylinders", ["cylinder"], "cylinder"),
        ("querry_colour", ["query_size", "query_color"], "query_color"),
        ("resnet_101", ["resnet101"], "resnet101"),
    ],
)
def test_a_slip_is_told(name: str, known: list[str], meant: str) -> None:
    assert suggestion(name, known) == f' (did you mean "{meant}"?)'


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("val_ood", SPLITS),
        ("covr_test", SPLITS),
        ("metal_cylinder", ["rubber_cylinder"]),
        ("rubber_cube", ["rubber_cylinder"]),
        ("cyan_cylinder-d8", ["cyan_cylinder-d4", "cyan_cylinder"]),
        ("resnet101-224", ["resnet101-448"]),
        ("gray", ["green", "red"]),
        ("12", ["1", "2"]),
        ("tiny-2", ["tiny-1"]),
        ("", ["red"]),
        ("]", ["cube"]),
    ],
)
def test_another_value_is_not(name: str, known: list[str]) -> None:
    assert suggestion(name, known) == ""
