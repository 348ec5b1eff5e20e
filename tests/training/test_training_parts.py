"""The parts of the loop one by one: order, schedules, optimisers, recipes."""

import math
import os
import platform
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given
from hypothesis import strategies as st

from clevrhope.errors import ConfigError
from clevrhope.experiments.engines import Slot, environment
from clevrhope.experiments.plan import Chain
from clevrhope.models.recipe import Optimiser, Recipe, Schedule, Stage, WeightGroup
from clevrhope.training.optimisers import make_optimiser, weight_groups
from clevrhope.training.order import batch_rows, derived_seed, permutation
from clevrhope.training.recipe_settings import apply_settings, check_stage, split_settings
from clevrhope.training.request import TrainRequest, check_tune_on, parse_size
from wording import check_refused, refused

RECIPE = Recipe((Stage("parse", 200, 64), Stage("engine", 500, 64), Stage("both", 100, 32)))


@given(st.integers(0, 2**32), st.integers(0, 1000), st.integers(1, 300))
def test_an_epoch_has_each_question_once(seed: int, epoch: int, n: int) -> None:
    assert sorted(permutation(seed, epoch, n)) == list(range(n))


def test_order_is_of_seed_and_epoch_alone_and_never_moves() -> None:
    # Golden: a run that is resumed under another version of this package has to see the same order.
    assert permutation(3, 0, 10).tolist() == GOLDEN
    assert permutation(3, 1, 10).tolist() != GOLDEN
    assert permutation(4, 0, 10).tolist() != GOLDEN


GOLDEN = [0, 4, 9, 7, 1, 5, 6, 3, 8, 2]


def test_batches_are_those_of_whole_epochs_wherever_a_run_resumes() -> None:
    orders = [permutation(3, epoch, 11) for epoch in (4, 5, 6)]
    wanted = [order[first : first + 5].tolist() for order in orders for first in (0, 5)]
    for n_made in range(6):
        batches = batch_rows(3, 11, 5, epoch=4, n_made=n_made)
        assert [next(batches).tolist() for _ in range(6 - n_made)] == wanted[n_made:]


def test_each_part_of_each_run_has_a_seed_of_its_own() -> None:
    """So that runs that are trained together, and the stages of one, draw other numbers."""
    parts = ("weights", "stage 0", "stage 1", "drop-type")
    seeds = {derived_seed(seed, part) for seed in range(20) for part in parts}
    assert len(seeds) == 80
    assert all(0 <= seed < 1 << 63 for seed in seeds)


def test_schedules() -> None:
    warm = Schedule("warmup_linear", 0.1)
    assert [Schedule().factor(k, 10) for k in (0, 9)] == [1, 1]
    assert [Schedule("constant", 0.1).factor(k, 100) for k in (0, 5, 10, 99)] == pytest.approx([0, 0.5, 1, 1])
    assert [Schedule("linear").factor(k, 10) for k in (0, 5, 9)] == pytest.approx([1, 0.5, 0.1])
    cosine = [Schedule("cosine", 0.1).factor(k, 100) for k in (0, 5, 10, 55, 99)]
    assert cosine == pytest.approx([0, 0.5, 1, 0.5, 0.5 - math.cos(math.pi / 90) / 2])
    assert Schedule("cosine").factor(0, 10) == 1
    assert warm.factor(0, 100) == 0, "the first update of public LXMERT code has the rate 0"
    assert [warm.factor(k, 100) for k in (5, 10, 55, 99)] == pytest.approx([0.5, 1, 0.5, 1 / 90])


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_bert_adam_is_its_formula(decay: float) -> None:
    torch.manual_seed(0)
    weights = [
        torch.nn.Parameter(torch.randn(3, 2, dtype=torch.float64)),
        torch.nn.Parameter(torch.ones(2).double()),
    ]
    unused = torch.nn.Parameter(torch.ones(1).double())
    wanted = Optimiser("bert_adam", rate=0.01, betas=(0.9, 0.99), epsilon=1e-6, decay=decay)
    optimiser = make_optimiser(wanted, [*weights, unused])
    slow = [each.detach().numpy().copy() for each in weights]
    m = [np.zeros_like(each) for each in slow]
    v = [np.zeros_like(each) for each in slow]
    for step in range(5):
        for k, each in enumerate(weights):
            if (step + k) % 3 == 2:  # no gradient: no move, no decay, and its moments stay
                each.grad = None
                continue
            grad = each.grad = torch.randn_like(each)
            g = grad.numpy()
            m[k] = 0.9 * m[k] + 0.1 * g
            v[k] = 0.99 * v[k] + 0.01 * g * g
            slow[k] = slow[k] - 0.01 * (m[k] / (np.sqrt(v[k]) + 1e-6) + decay * slow[k])
        optimiser.step()
    for fast, expected in zip(weights, slow, strict=True):
        np.testing.assert_allclose(fast.detach().numpy(), expected, rtol=1e-12)
    assert unused.item() == 1, "a weight without a gradient does not even decay"


def test_muon_moves_convolutions_by_orthogonal_matrices_and_the_rest_as_adam_does() -> None:
    torch.manual_seed(0)
    convolution = torch.nn.Parameter(torch.randn(4, 3, 2, 2, dtype=torch.float64))
    bank = torch.nn.Parameter(torch.randn(3, 4, 2, 1, 1, dtype=torch.float64))  # tall matrices
    others = [torch.nn.Parameter(torch.randn(5, 3).double()), torch.nn.Parameter(torch.randn(4).double())]
    twins = [torch.nn.Parameter(each.detach().clone()) for each in others]
    optimiser = make_optimiser(Optimiser("muon", rate=0.01), [convolution, bank, *others])
    adam = make_optimiser(Optimiser("adam", rate=0.01), twins)
    momentum = np.zeros((4, 12))
    for step in range(4):
        before = convolution.detach().numpy().reshape(4, 12).copy(), bank.detach().numpy()[..., 0, 0].copy()
        for each in (convolution, bank, *others):
            each.grad = torch.randn_like(each)
        gone = 1 if step % 2 else 2  # a module that no question of the batch has
        bank.grad[gone] = 0
        for each, twin in zip(others, twins, strict=True):
            twin.grad = each.grad.clone()
        optimiser.step()
        adam.step()
        gradient = convolution.grad.numpy().reshape(4, 12)
        momentum = 0.95 * momentum + gradient
        u, _, vt = np.linalg.svd(gradient + 0.95 * momentum, full_matrices=False)
        move = (before[0] - convolution.detach().numpy().reshape(4, 12)) / (0.01 * 0.2 * math.sqrt(12))
        singular = np.diag(u.T @ move @ vt.T)
        assert singular == pytest.approx(np.ones(4), abs=0.35), "about 1, whatever the gradient's own are"
        assert np.abs(u.T @ move @ vt.T - np.diag(singular)).max() < 1e-9, "its directions are the gradient's"
        moves = before[1] - bank.detach().numpy()[..., 0, 0]
        for one in {0, 1, 2} - {gone}:
            sizes = np.linalg.svd(moves[one], compute_uv=False) / (0.01 * 0.2 * math.sqrt(4))
            assert sizes == pytest.approx(np.ones(2), abs=0.35)
        assert not moves[gone].any(), "each module is a matrix of its own; one without a gradient stays"
    for each, twin in zip(others, twins, strict=True):
        np.testing.assert_allclose(each.detach().numpy(), twin.detach().numpy(), rtol=1e-6)


def test_weights_are_in_the_first_group_that_their_name_fits() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 4))
    groups = ({"weights": "*.bias", "decay": 0}, {"weights": "1.*", "rate": 0.1}, {"weights": "0.bias"})
    (stage,) = apply_settings(
        Recipe((Stage("all", 5, 8, optimiser=Optimiser(decay=0.2)),)), {"groups": [*groups]}, None
    ).stages
    found = weight_groups(model, stage, model.parameters())
    assert [(each["factor"], each["weight_decay"]) for each in found] == [(1.0, 0), (0.1, 0.2), (1.0, 0.2)]
    names = {each: name for name, each in model.named_parameters()}
    of_groups = [[names[each] for each in group["params"]] for group in found]
    assert of_groups == [["0.bias", "1.bias"], ["1.weight"], ["0.weight"]]
    check_stage(model_with_loss(model), replace(stage, groups=stage.groups[:2]), 8)
    with refused(ConfigError):
        check_stage(model_with_loss(model), replace(stage, groups=(WeightGroup("head.*"),)), 8)


def model_with_loss(model: Any) -> Any:
    model.loss = lambda batch: batch
    return model


@pytest.mark.parametrize("updates", [3, 4, 7, 80, 800, 1000])
def test_updates_are_shared_out(updates: int) -> None:
    scaled = [stage.updates for stage in apply_settings(RECIPE, {}, updates).stages]
    assert sum(scaled) == updates
    assert min(scaled) >= 1
    for n, stage in zip(scaled, RECIPE.stages, strict=True):
        assert abs(n - stage.updates * updates / 800) <= 2


def test_settings_of_recipes() -> None:
    made = apply_settings(
        RECIPE, {"batch_size": 8, "engine.rate": 0.5, "schedule": "linear", "both.clip_norm": 2}, None
    )
    assert [stage.batch_size for stage in made.stages] == [8, 8, 8]
    assert [stage.optimiser.rate for stage in made.stages] == [1e-4, 0.5, 1e-4]
    assert {stage.schedule.kind for stage in made.stages} == {"linear"}
    assert [stage.optimiser.clip_norm for stage in made.stages] == [None, None, 2.0]
    (alone,) = apply_settings(RECIPE, {"stages": "engine", "engine.updates": 9}, None).stages
    assert (alone.name, alone.updates) == ("engine", 9)
    assert split_settings({"channels": 4, "recipe.rate": 1.0}) == ({"channels": 4}, {"rate": 1.0})


@pytest.mark.parametrize(
    "settings",
    [
        {"rat": 1},
        {"engin.rate": 1},
        {"stages": "parse,motor"},
        {"rate": -1},
        {"optimiser": "moun"},
        {"optimiser": "muon", "both.decay": 0.1},
        {"batch_size": 1.5},
        {"schedule": "cosinus"},
        {"accumulation": 5},
        {"accumulation": 0},
        {"groups": {"rate": 0.1}},
        {"groups": {"weights": "*", "rate": -1}},
        {"groups": {"weights": "*", "decay": 0.1}, "optimiser": "muon"},
        {"patience": 0},
        {"warmup": 1},
        {"updates": 0},
        {"updates": 10**30},
        {"objective": "reward"},
        {"objective": "rewards", "samples": 1},
        {"objective": "rewards", "entropy": -1},
        {"samples": 8},
        {"stop_at": 101},
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any]) -> None:
    check_refused(ConfigError, apply_settings, RECIPE, settings, None)


def test_fewer_updates_than_stages() -> None:
    check_refused(ConfigError, apply_settings, RECIPE, {}, 2)


def test_sizes() -> None:
    assert [parse_size(text) for text in ("25k", "560k", "25000", "7")] == [25_000, 560_000, 25_000, 7]
    for text in ("", "0", "25K", "2.5k", "-3", "many", "٣"):
        check_refused(ConfigError, parse_size, text)


@pytest.mark.parametrize(
    "name", ["complex_iid", "complex_ood", "minimal_iid", "minimal_ood", "test", "val_b", "test_b"]
)
def test_nothing_is_chosen_by_a_test_set(name: str) -> None:
    check_refused(ConfigError, check_tune_on, name)
    check_refused(ConfigError, check_tune_on, "vall")
    for allowed in (None, "val", "none:val"):
        check_tune_on(allowed)


def test_requests_that_make_no_sense(tmp_path: Any) -> None:
    usual = {"model": "m", "dataset": tmp_path, "hop": "none", "size": 5, "seed": 0, "out": tmp_path}
    for changes in (
        {"size": 0},
        {"seed": -1},
        {"split": "covr_train", "drop_types": {"count": 0.5}},
        {"keep_last": 5},
    ):
        check_refused(ConfigError, TrainRequest, **{**usual, **changes})


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's malloc takes these options")
@pytest.mark.slow
def test_freed_memory_is_kept() -> None:
    """In processes of experiments: what is freed and asked for again comes without a page fault."""
    code = """
import resource, torch
torch.set_num_threads(1)
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def update():
    tensors = [torch.ones(10 << 20) for _ in range(2)]  # 40 MiB each: by itself glibc keeps none
for _ in range(20):  # until the heap has grown to what it will be, which takes some updates, by chance
    update()
before = faults()
for _ in range(5):
    update()
print(faults() - before)
"""
    variables = {"kept": environment(Chain("a", ()), threads=1, slot=Slot()), "given back": {}}
    made = {
        how: int(
            subprocess.run(
                [sys.executable, "-c", code],
                stdout=subprocess.PIPE,
                check=True,
                env={**os.environ, **variables[how]},
            ).stdout
        )
        for how in ("kept", "given back")
    }
    assert made["kept"] < 0.3 * made["given back"]
    assert made["given back"] > 50_000, "a fault a page of 4 KiB"


@pytest.mark.slow
def test_a_command_says_that_it_loads_torch_before_it_does() -> None:
    """In a process of its own, as this one has torch already."""
    options = ["train", "film", "no_folder", "--hop", "none", "--size", "9"]
    command = [sys.executable, "-m", "clevrhope", *options]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr.splitlines()
    assert said[0] == "Loading torch"
    assert "no_folder" in said[-1]
    quiet = subprocess.run([*command, "--quiet"], capture_output=True, text=True, check=False).stderr
    assert "Loading" not in quiet
