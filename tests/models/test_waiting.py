"""No update reads a number back from its device, for which it would wait on a GPU."""

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from small_batches import small_batch
from test_image_sets import KINDS, made, sets_of
from test_other_models import TINY, tiny
from torch.nn.utils import clip_grad_norm_

from clevrhope.models.batch import Batch
from clevrhope.training.optimisers import make_optimiser

CASES = [(name, False) for name in TINY] + [(name, True) for name, _, _ in KINDS]


def model_and_batch(name: str, of_sets: bool) -> tuple[Any, Batch]:
    if of_sets:
        config, kind = next((config, kind) for each, config, kind in KINDS if each == name)
        return made(name, config), sets_of(kind)
    # On a GPU "auto" is "gathered".
    model = tiny(name, **({"form": "gathered"} if name == "tensor_nmn" else {}))
    return model, small_batch(8, 8, kind=getattr(model, "feature_kind", "pixels"))


@pytest.mark.parametrize(("name", "of_sets"), CASES)
@pytest.mark.slow
def test_no_update_reads_a_number_from_its_device(name: str, of_sets: bool) -> None:
    """The device is torch's meta: its tensors have no values, and whatever reads one raises an error."""
    model, on_cpu = model_and_batch(name, of_sets)
    model = model.to("meta")
    batch = replace(on_cpu.to("meta"), plan=model.plan(on_cpu))  # as the loader makes it
    for stage in model.recipe.stages:
        if stage.name == "reinforce":  # the programs that it draws are the one thing that it waits for
            with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
                model.reinforce_loss(batch)
            model.engine.plan = lambda programs: batch.plan.true_programs
        model.zero_grad()
        loss = getattr(model, stage.loss)(batch)
        loss.backward()
        assert loss.device.type == clip_grad_norm_(model.parameters(), 1.0).device.type == "meta"


STATIC = (("lxmert_s", False), ("visualbert", False))
"""Models that know all numbers without a plan: their questions are padded to one length."""


@pytest.mark.parametrize(("name", "of_sets"), [case for case in CASES if case not in STATIC])
def test_an_update_that_has_no_plan_reads_numbers(name: str, of_sets: bool) -> None:
    model, batch = model_and_batch(name, of_sets)
    with pytest.raises((NotImplementedError, RuntimeError), match="meta"):
        model.to("meta").loss(batch.to("meta"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no NVIDIA GPU")
@pytest.mark.parametrize(("name", "of_sets"), CASES)
def test_no_update_waits_for_a_gpu(name: str, of_sets: bool) -> None:
    """Torch then raises an error wherever the processor waits for the GPU."""
    model, on_cpu = model_and_batch(name, of_sets)
    model = model.to("cuda")
    on_gpu = on_cpu.to("cuda")
    for stage in model.recipe.stages:
        weights = [each for each in model.parameters() if each.requires_grad]
        optimiser = make_optimiser(stage.optimiser, weights)
        for number in range(3):
            batch = replace(on_gpu, plan=model.plan(on_cpu))
            watched = number > 0 and stage.name != "reinforce"  # the first update loads kernels
            torch.cuda.set_sync_debug_mode("error" if watched else "default")
            try:
                optimiser.zero_grad()
                getattr(model, stage.loss)(batch).backward()
                clip_grad_norm_(weights, 1.0)
                optimiser.step()
            finally:
                torch.cuda.set_sync_debug_mode("default")
