"""Small datasets for the tests of commands that look into folders, made by the command line."""

from pathlib import Path

import pytest

from clevrhope.__main__ import run_command

FEW = ["--train-questions", "9", "--test-questions", "2", "--quiet"]
NATIVE = ["--renderer", "native", "--quality", "draft"]


def run(*arguments: str | Path) -> None:
    assert run_command([str(each) for each in arguments]) == 0


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pair, nothing held out, a single value and COVR, rendered into PNG and HDF5, with a suite."""
    out = tmp_path_factory.mktemp("mixed") / "set"
    settings = out.with_suffix(".toml")
    settings.write_text(
        "[sizes]\nminimal_places = 1\ncovr_train = 8\ncovr_dev = 4\ncovr_test = 4\nprelim_existence = 1\n"
        "prelim_counting = 1\n[world]\nmax_objects = 6\n[rendering]\nwidth = 96\nheight = 64\n"
    )
    options = [*FEW, *NATIVE, "--seed", "3", "--config", settings, "--passes", "mask", "--out", out]
    run("build", "--hop", "rubber_cylinder,none", "--prelim", "cyan", "--covr", *options)
    run("suite", "rad", out, "--quiet", "--from", "search", "--per-cell", "2", "--hop", "rubber_cylinder")
    run("suite", "carets", out, "--quiet", "--train", "--hop", "none")
    run("suite", "visual", out, "--quiet", "--visual", "2")
    return out


@pytest.fixture(scope="session")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two diversities of a pair in both modes, a plain pair with some splits, not rendered."""
    out = tmp_path_factory.mktemp("limited") / "set"
    options = [*FEW, "--no-render", "--seed", "5", "--no-json", "--out", out]
    run("build", "--hop", "cyan_cylinder", "--diversity", "4", *options)
    run("build", "--hop", "cyan_cylinder", "--diversity", "8", "--diversity-mode", "grid", *options)
    run("build", "--hop", "red_cube", "--splits", "train,complex_ood", *options)
    return out


@pytest.fixture(scope="session")
def only_h5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One split with its images in HDF5 alone."""
    out = tmp_path_factory.mktemp("only_h5") / "set"
    options = [*FEW, *NATIVE, "--seed", "7", "--images", "h5", "--splits", "complex_ood", "--out", out]
    run("build", "--hop", "red_cube", *options)
    return out
