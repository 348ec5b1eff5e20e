"""Splits: the first N questions on the scenes of a pool that satisfy a predicate.

Each question satisfies a predicate, too. Questions are balanced over windows of 250 eligible scenes, which
are independent of each other, so a larger split only extends a smaller one.
"""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Literal, TypeAlias

from clevrhope._core import MinimalPool, PoolScenes, QuestionBatch, QuestionStream, Templates, World

__all__ = ["MinimalPool", "PoolScenes", "QuestionBatch", "QuestionStream", "select_split"]

Pair: TypeAlias = Sequence[tuple[str, str]]
Rule: TypeAlias = Literal["any", "without", "with"]
QuestionRule: TypeAlias = Literal["any", "without", "unimplied", "with"]

WINDOWS_A_BATCH = 16
"""Windows that are made at once: enough for all cores, but few enough to limit memory."""


def select_split(
    n_questions: int,
    *,
    seed: int,
    world: World,
    templates: Templates,
    split: str,
    pool: str,
    held_out: Pair | None = None,
    scenes: Rule = "any",
    questions: QuestionRule = "any",
    questions_per_scene: int = 9,
    pool_scenes: PoolScenes | None = None,
) -> Iterator[QuestionBatch]:
    """Makes the first questions of a split, in batches; the last one is cut off at `n_questions`.

    CLEVR-HOPE's train split of rubber_cylinder is `split="train", pool="train", scenes="without",
    questions="without", held_out=[("material", "rubber"), ("shape", "cylinder")]`. Its complex_ood uses pool
    `test_ood`, "with" for both rules, and one question per scene.

    Args:
        n_questions: number of questions.
        seed: from 0 to 2**64 - 1; also the seed of the scenes.
        world: determines the pool's scenes.
        templates: made for the same world.
        split: the split's name, on which the questions depend.
        pool: the stream of scenes.
        held_out: held-out values as (attribute type, value), of different types.
        scenes: the eligible scenes: "any", those "without" an object that has the values, or those "with"
            one.
        questions: the rule for questions, as in `instantiate_questions`.
        questions_per_scene: number of questions wanted; some scenes yield fewer.
        pool_scenes: the scenes of the same pool, which splits can share so that scenes are made only once.

    Raises:
        SplitError: a bounded search could not fill the split; says which predicate excludes too much.
        SceneError: a scene could not meet the constraints.
    """
    stream = QuestionStream.about_images(
        pool_scenes or PoolScenes(world, seed=seed, pool=pool),
        templates,
        split=split,
        held_out=held_out,
        scenes=scenes,
        questions=questions,
        questions_per_scene=questions_per_scene,
    )
    left = n_questions
    while left > 0:
        # This number of windows suffices if every scene yields as many questions as wanted.
        batch = stream.next(min(WINDOWS_A_BATCH, ceil(left / (250 * questions_per_scene))))
        yield batch.take(0, min(left, len(batch)))
        left -= len(batch)
