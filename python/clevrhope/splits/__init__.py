"""A pool and predicates in, a split's questions out, window by window.

A split is the first N questions asked on those scenes of a pool that satisfy a predicate, each question
satisfying a predicate too. Balance is kept over windows of 250 eligible scenes, which know nothing of each
other, so a larger split only extends a smaller one.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from clevrhope._core import MinimalPool, PoolScan, QuestionBatch, SplitStream, Templates, World

__all__ = ["MinimalPool", "PoolScan", "QuestionBatch", "SplitStream", "select_split"]

Pair: TypeAlias = Sequence[tuple[str, str]]
Rule: TypeAlias = Literal["any", "without", "with"]
QuestionRule: TypeAlias = Literal["any", "without", "unimplied", "with"]

WINDOWS_A_BATCH = 16
"""Windows asked for at once: enough for all cores, few enough to keep memory flat."""


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
        n_questions: how many.
        seed: from 0 to 2**64 - 1; the scenes' seed too.
        world: what the pool's scenes are like.
        templates: made for the same world.
        split: its name, part of what decides the questions.
        pool: the stream of scenes.
        pair: held-out values as (attribute type, value), of different types.
        scenes: which scenes are eligible: any, those "without" an object that has the values, or "with" one.
        questions: which questions: any, those "without" a mention of the values, "unimplied" ones that ask
            for them by no likeness either, those "with" a mention.
        questions_per_scene: how many are wanted; a scene that gives fewer contributes fewer.
        scan: a scan of the same pool, shared by splits so that scenes are made once.

    Raises:
        SplitError: the split cannot be filled; says which predicate starves it, after a bounded search.
        SceneError: constraints that a scene could not meet.
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
        batch = stream.next(min(WINDOWS_A_BATCH, _windows_for(left, questions_per_scene)))
        yield batch.take(0, min(left, len(batch)))
        left -= len(batch)


def _windows_for(n_questions: int, questions_per_scene: int) -> int:
    """Windows that give so many questions if every scene gives what is wanted of it."""
    return -(-n_questions // (250 * questions_per_scene))
