"""The splits of questions about sets of up to five images (COVR, Bogin et al. 2021), by name."""

_PREFIX = "covr_"

COVR_TRAIN = "covr_train"
"""What models of several images learn from."""

COVR_DEV = "covr_dev"
"""The split that their weights may be chosen by."""

COVR_SPLITS = (COVR_TRAIN, COVR_DEV, "covr_test", "covr_test_paraphrased", "covr_test_ood")
"""All of them, in the order in which lists of splits have them."""


def is_covr(split: str) -> bool:
    """Whether a split's questions are about sets of images."""
    return split.startswith(_PREFIX)


def covr_file(split: str) -> str:
    """The name of a split's file in its folder: train for covr_train."""
    return split.removeprefix(_PREFIX)
