"""Splits: the first N questions on the scenes of a pool that satisfy a predicate.

Each question satisfies a predicate too. Questions are balanced over windows of 250 eligible scenes, which are
independent of each other, so a larger split only extends a smaller one.
"""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Literal, TypeAlias

from clevrhope._core import MinimalPool, PoolScan, QuestionBatch, SplitStream, Templates, World

__all__ = ["MinimalPool", "PoolScan", "QuestionBatch", "SplitStream", "select_split"]

Pair: TypeAlias = Sequence[tuple[str, str]]
Rule: TypeAlias = Literal["any", "without", "with"]
QuestionRule: TypeAlias = Literal["any", "without", "unimplied", "with"]

WINDOWS_A_BATCH = 16
"""Windows that are made at once: enough for all cores, few enough to keep memory flat."""


def select_split(
    n_questions: int,
    *,
    seed: int,
    world: World,
    templates: Templates,
    split: str,
    pool: str,
    pair: Pair | None = None,
    scenes: Rule = "any",
    questions: QuestionRule = "any",
    questions_per_scene: int = 9,
    scan: PoolScan | None = None,
) -> Iterator[QuestionBatch]:
    """Makes the first questions of a split, in batches; the last one is cut at `n_questions`.

    CLEVR-HOPE's train split of rubber_cylinder is `split="train", pool="train", pair=[("material", "rubber"),
    ("shape", "cylinder")], scenes="without", questions="without"`; its complex_ood is on pool `test_ood`,
    both "with", one question a scene.

    Args:
        n_questions: number of questions.
        seed: from 0 to 2**64 - 1; the scenes' seed too.
        world: decides the pool's scenes.
        templates: made for the same world.
        split: the split's name, which helps to decide the questions.
        pool: the stream of scenes.
        pair: held-out values as (attribute type, value), of different types.
        scenes: the eligible scenes: any, those "without" an object that has the values, or "with" one.
        questions: the rule for questions, as of `instantiate_questions`.
        questions_per_scene: number of questions wanted; some scenes give fewer.
        scan: a scan of the same pool, shared by splits so that scenes are made once.

    Raises:
        SplitError: the split cannot be filled; says which predicate starves it, after a bounded search.
        SceneError: a scene could not meet the constraints.
    """
    stream = SplitStream(
        scan or PoolScan(world, seed=seed, pool=pool),
        templates,
        split=split,
        pair=pair,
        scenes=scenes,
        questions=questions,
        questions_per_scene=questions_per_scene,
    )
    left = n_questions
    while left > 0:
        # So many windows are enough if every scene gives as many questions as wanted.
        batch = stream.next(min(WINDOWS_A_BATCH, ceil(left / (250 * questions_per_scene))))
        yield batch.take(0, min(left, len(batch)))
        left -= len(batch)
