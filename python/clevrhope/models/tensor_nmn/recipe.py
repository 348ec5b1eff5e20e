"""How a Tensor-NMN is trained: in the three stages of the public code, or only in the engine's. No torch."""

from clevrhope.models.recipe import Optimiser, Recipe, Stage

_BATCH = 64

GENERATOR = Stage(
    name="generator",
    updates=200_000,
    batch_size=_BATCH,
    loss="generator_loss",
    trains=("generator",),
    optimiser=Optimiser(rate=7e-4),
)

ENGINE = Stage(
    name="engine",
    updates=500_000,
    batch_size=_BATCH,
    loss="engine_loss",
    trains=("engine",),
    optimiser=Optimiser(rate=1e-4),
    # No paper states the learning rate of the next stage, so the weights before it are evaluated as well.
    evaluated=True,
)

REINFORCE = Stage(
    name="reinforce",
    updates=100_000,
    batch_size=_BATCH,
    loss="reinforce_loss",
    trains=("generator", "engine"),
    optimiser=Optimiser(rate=5e-4),
    evaluated=True,
    # The learning rate is the public trainer's default, five times that of the engine's own stage.
)

THREE_STAGES = Recipe(stages=(GENERATOR, ENGINE, REINFORCE))
ENGINE_ALONE = Recipe(stages=(ENGINE,))
