"""Measures how fast questions over several images are made, and their programs executed.

The workload is the train split of rubber_cylinder, with tokens of texts and programs; scenes are sampled
before the clock starts. Its programs are executed on other sets of the same split, each of which is assembled
for this purpose.
"""

import statistics
import time
from functools import partial

import numpy as np

from clevrhope import _core
from clevrhope.dataset.vocab import SPECIAL_TOKENS
from clevrhope.questions import read_phrasings
from clevrhope.splits.covr.kinds import COVR_KINDS, COVR_TRAIN

SEED = 0
PAIR = (("material", "rubber"), ("shape", "cylinder"))


def set_rates(world: _core.World, *, windows: int, executions: int, repetitions: int) -> tuple[float, float]:
    """Questions made per second, and programs executed on sets per second: medians.

    Args:
        world: the world of the scenes.
        windows: windows of questions per repetition.
        executions: pairs of a program and a set per repetition.
        repetitions: how often each is measured.
    """
    phrasings = read_phrasings(world.vocabulary)
    kind = COVR_KINDS[COVR_TRAIN]
    new_stream = partial(
        _core.QuestionStream.about_sets,
        _core.PoolScenes(world, seed=SEED, pool="bench"),
        phrasings,
        split=kind.name,
        held_out=list(PAIR),
        scenes=kind.scenes("both"),
        places=kind.places("both"),
        implied=False,
        distractors="edited",
        half=kind.half,
        paraphrased=False,
    )
    new_stream().next(windows)  # samples the scenes before the clock starts
    words = [*SPECIAL_TOKENS, *phrasings.words]
    tokens = _core.ProgramTokens(world.vocabulary).extended(phrasings.functions)
    made, executed = [], []
    for _ in range(repetitions):
        stream = new_stream()
        began = time.perf_counter()
        questions = stream.next(windows)
        questions.question_tokens(words, phrasings.question_width)
        rows, _ = questions.program_tokens(tokens, phrasings.program_width)
        made.append(len(questions) / (time.perf_counter() - began))
    programs = _core.Programs.from_tokens(tokens, rows)
    image_idxs = questions.column("image_idxs")
    indices = np.arange(image_idxs.max() + 1, dtype=np.uint64)
    scenes = _core.sample_scenes(world, seed=SEED, pool="bench", indices=indices)
    sets = _core.SceneSets(scenes.graphs, image_idxs)
    number = np.arange(executions, dtype=np.int64)
    program_idxs = (number % len(programs)).astype(np.uint32)
    set_idxs = ((number * 7919) % len(sets)).astype(np.uint32)
    for _ in range(repetitions):
        began = time.perf_counter()
        _core.execute_batch(programs, sets, program_idxs, set_idxs)
        executed.append(executions / (time.perf_counter() - began))
    return statistics.median(made), statistics.median(executed)
