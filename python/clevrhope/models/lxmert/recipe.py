"""How LXMERT is trained, from published weights and from scratch. No torch."""

from clevrhope.models.recipe import Optimiser, Recipe, Schedule, Stage


def _recipe(*, rate: float, updates: int) -> Recipe:
    stage = Stage(
        name="train",
        updates=updates,
        batch_size=32,
        optimiser=Optimiser(
            kind="bert_adam", rate=rate, betas=(0.9, 0.999), epsilon=1e-6, decay=0.01, clip_norm=5.0
        ),
        # As in the public code, the first update of the warm-up has the learning rate 0.
        schedule=Schedule(kind="warmup_linear", warmup=0.1),
        evaluated=True,
    )
    return Recipe(stages=(stage,), precision="bf16")


PRETRAINED = _recipe(rate=5e-5, updates=218_750)
SCRATCH = _recipe(rate=1e-5, updates=481_000)
