"""Measures how fast this machine makes questions, programs, scenes and images.

The workloads are those of the speeds that the project states:

- questions: the train and complex_ood splits of rubber_cylinder, all 90 families, 9 (or 1) per scene, windows
  of 250 scenes, including texts and programs. Scenes are sampled before the clock starts.
- programs: the programs of these questions on scenes of another pool, with no pair of program and scene
  repeated; parsed once, and from rows of tokens as in HDF5.
- steps: the sentences that lead to the answers of these questions, on their own scenes.
- questions over several images: their train split for the same pair, and its programs on sets.
- scenes: with exact visibility at 480 x 320.
- pairs: paired tests, made from question files; scored with answers in arrays, and in a file.
- a build: the text of two pairs at preset small, into a temporary folder, with all checks and datasheets.
- images: reference scenes against 512 samples without denoiser, at the default settings and at 8 samples.

Rates are medians over repetitions, on all cores that this process may use.
"""

import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.pairs import file_pairs_per_second, pairs_per_second
from benchmarks.sets import set_rates
from clevrhope import _core
from clevrhope.errors import RenderError
from clevrhope.images.settings import parse_device
from clevrhope.questions import read_templates
from clevrhope.runtime.resources import available_cores
from clevrhope.scenes import read_world
from clevrhope.splits import PoolScenes, QuestionStream
from clevrhope.splits.kinds import OOD, SPLITS, TRAIN, SplitKind

SEED = 0
PAIR = (("material", "rubber"), ("shape", "cylinder"))
WINDOW = 250
BUILD_HOPS = ("cyan_cylinder", "large_rubber")

Ints = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Work:
    """The amount of work for each measurement.

    Attributes:
        windows: windows of questions per repetition, for each split.
        scenes: scenes sampled per repetition.
        pairs: pairs of program and scene per repetition.
        scored_pairs: pairs of questions scored per repetition from arrays, and a tenth of them from a file.
        images: reference scenes rendered; 0 for none.
        repetitions: number of times that each rate is measured.
    """

    windows: int
    scenes: int
    pairs: int
    scored_pairs: int
    images: int
    repetitions: int


QUICK = Work(windows=32, scenes=1_000, pairs=4_000_000, scored_pairs=1_000_000, images=4, repetitions=3)
"""Takes less than a minute on two cores."""

FULL = Work(windows=128, scenes=4_000, pairs=10_000_000, scored_pairs=2_000_000, images=16, repetitions=5)


ROWS: Mapping[str, tuple[str, str]] = {
    "questions_per_second": ("questions per second, train", "{:,.0f}"),
    "ood_questions_per_second": (f"questions per second, {OOD}", "{:,.0f}"),
    # States are assignments of values, partial or complete, that the search evaluates for each question kept.
    "states_per_question": ("search states per question, train", "{:.1f}"),
    "ood_states_per_question": (f"search states per question, {OOD}", "{:.1f}"),
    # Options are drawn or listed for each question kept; most are ruled out by their consequences.
    "options_per_question": ("options looked at per question, train", "{:.0f}"),
    "ood_options_per_question": (f"options looked at per question, {OOD}", "{:.0f}"),
    "slowest_attempt_us": ("slowest 0.1% of attempts, train, us", "{:,.0f}"),
    "ood_slowest_attempt_us": (f"slowest 0.1%, {OOD}, us", "{:,.0f}"),
    "programs_per_second": ("programs per second, parsed once", "{:,.0f}"),
    "token_programs_per_second": ("programs per second, from tokens", "{:,.0f}"),
    "steps_per_second": ("questions per second whose steps are written", "{:,.0f}"),
    "scenes_per_second": ("scenes per second", "{:,.0f}"),
    "set_questions_per_second": ("questions over several images per second", "{:,.0f}"),
    "set_programs_per_second": ("programs per second, on sets of images", "{:,.0f}"),
    "made_pairs_per_second": ("pairs of questions made per second", "{:,.0f}"),
    "scored_pairs_per_second": ("pairs of questions scored per second", "{:,.0f}"),
    "line_pairs_per_second": ("the same from JSON lines", "{:,.0f}"),
    # `BUILD_HOPS` at preset small, without images, and without the time for starting Python.
    "seconds_per_small_build": ("seconds for two pairs' text, small", "{:.1f}"),
    # Both PSNRs are means against 512 samples of the same scenes.
    "seconds_per_image": ("seconds per image, 480 x 320", "{:.2f}"),
    "psnr_db": ("PSNR against 512 samples, dB", "{:.1f}"),
    "seconds_at_8_samples": ("seconds per image, 8 samples", "{:.2f}"),
    "psnr_db_at_8_samples": ("PSNR of these, dB", "{:.1f}"),
}
"""Name of a number -> its title and format, in the order of the table."""


@dataclass(frozen=True)
class BenchResult:
    """The measurements.

    Attributes:
        numbers: the numbers, by the names of `ROWS`; None for one that could not be measured, as `notes`
            explains.
        cores: number of CPU cores available to this process.
        machine: operating system and processor.
        device: the device that images were rendered on; None without images.
        seconds: duration of the whole benchmark.
        notes: what could not be measured, and why.
    """

    numbers: Mapping[str, float | None]
    cores: int
    machine: str
    device: str | None
    seconds: float
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """Name -> value, for `--json`."""
        rest = asdict(self)
        return {**rest.pop("numbers"), **rest}


def run(
    *,
    full: bool = False,
    images: bool = True,
    device: str = "auto",
    advance: Callable[[str], None] = lambda _: None,
) -> BenchResult:
    """Measures everything; takes less than a minute on two cores unless `full`.

    Args:
        full: more repetitions, and all sixteen reference images.
        images: whether to render, which needs Blender and a checkout; if these are missing, `notes` says so.
        device: where Blender renders, see `parse_device`.
        advance: called with the name of the next measurement.

    Raises:
        ConfigError: this machine has no such device.
    """
    parse_device(device)
    began = time.perf_counter()
    work = FULL if full else QUICK
    world = read_world()
    templates = read_templates(world)
    numbers: dict[str, float | None] = dict.fromkeys(ROWS)
    advance("scenes")
    numbers["scenes_per_second"] = _scenes_per_second(world, work)
    # One pool serves both splits, because scenes take most of the time but only questions are measured.
    pool_scenes = PoolScenes(world, seed=SEED, pool="bench")
    advance("questions")
    found, questions = _measured_split(pool_scenes, templates, TRAIN, work)
    numbers |= found
    found, _ = _measured_split(pool_scenes, templates, SPLITS[OOD], work)
    numbers |= {f"ood_{name}": number for name, number in found.items()}
    advance("programs")
    numbers |= _programs_per_second(world, questions, work)
    numbers["steps_per_second"] = _steps_per_second(world, questions, work)
    advance("questions over several images")
    numbers["set_questions_per_second"], numbers["set_programs_per_second"] = set_rates(
        world, windows=work.windows, executions=work.pairs // 2, repetitions=work.repetitions
    )
    advance("pairs of questions")
    numbers["scored_pairs_per_second"] = pairs_per_second(work.scored_pairs, work.repetitions)
    n_in_lines = work.scored_pairs // 10
    rates = file_pairs_per_second(n_in_lines, work.repetitions)
    numbers["made_pairs_per_second"], numbers["line_pairs_per_second"] = rates
    advance("a small build")
    numbers["seconds_per_small_build"] = _seconds_per_small_build(work)
    notes: list[str] = []
    rendered_on = None
    if images and work.images:
        from benchmarks.render import measure_cycles

        advance("images")
        try:
            (default, fewer), rendered_on = measure_cycles(work.images, ("standard", "8"), device=device)
        except RenderError as error:
            notes.append(f"no images: {error}")
        else:
            numbers |= {"seconds_per_image": default.seconds_per_image, "psnr_db": default.psnr_db_mean}
            numbers["seconds_at_8_samples"] = fewer.seconds_per_image
            numbers["psnr_db_at_8_samples"] = fewer.psnr_db_mean
    return BenchResult(
        numbers,
        cores=available_cores(),
        machine=f"{platform.system()} {platform.machine()}",
        device=rendered_on,
        seconds=time.perf_counter() - began,
        notes=tuple(notes),
    )


def text_rows(result: BenchResult) -> list[tuple[str, str]]:
    """Titles and numbers, for a table."""
    return [
        (title, "not measured" if number is None else form.format(number))
        for (title, form), number in zip(ROWS.values(), result.numbers.values(), strict=True)
    ]


def _measured_split(
    pool_scenes: PoolScenes, templates: _core.Templates, kind: SplitKind, work: Work
) -> tuple[dict[str, float], _core.QuestionBatch]:
    """The numbers of a split by their names in `ROWS`, and its questions; scenes are sampled once."""
    new_stream = partial(
        QuestionStream.about_images,
        pool_scenes,
        templates,
        split=kind.name,
        held_out=PAIR,
        scenes=kind.rule,
        questions=kind.rule,
        questions_per_scene=kind.questions_per_scene,
    )
    rates = []
    for _ in range(work.repetitions):
        stream = new_stream()
        stream.prepare(work.windows)
        began = time.perf_counter()
        questions = stream.next(work.windows)
        rates.append(len(questions) / (time.perf_counter() - began))
    nanoseconds = new_stream().time_attempts(work.windows)
    return {
        "questions_per_second": statistics.median(rates),
        "states_per_question": stream.work["states"] / len(questions),
        "options_per_question": stream.work["options"] / len(questions),
        "slowest_attempt_us": float(np.quantile(nanoseconds, 0.999)) / 1_000,
    }, questions


def _scenes_per_second(world: _core.World, work: Work) -> float:
    rates = []
    for repetition in range(work.repetitions):
        indices = np.arange(work.scenes, dtype=np.uint64) + np.uint64(repetition * work.scenes)
        began = time.perf_counter()
        _core.sample_scenes(world, seed=SEED, pool="bench scenes", indices=indices)
        rates.append(work.scenes / (time.perf_counter() - began))
    return statistics.median(rates)


def _seconds_per_small_build(work: Work) -> float:
    """The time to write, check and describe the text of two pairs in a new folder."""
    from clevrhope.config.presets import PRESETS
    from clevrhope.pipeline import Request, build

    seconds = []
    for _ in range(work.repetitions):
        with tempfile.TemporaryDirectory(prefix="clevrhope-bench-") as folder:
            request = Request(Path(folder, "out"), BUILD_HOPS, PRESETS["small"], seed=SEED, render=False)
            seconds.append(build(request).seconds)
    return statistics.median(seconds)


def _programs_per_second(world: _core.World, questions: _core.QuestionBatch, work: Work) -> dict[str, float]:
    """The numbers of programs by their names in `ROWS`."""
    n_scenes = work.scenes
    indices = np.arange(n_scenes, dtype=np.uint64)
    graphs = _core.sample_scenes(world, seed=SEED, pool="bench programs", indices=indices).graphs
    tokens = _core.ProgramTokens(world.vocabulary)
    rows, lengths = questions.program_tokens(tokens, 64)
    rows = np.ascontiguousarray(rows[:, : lengths.max()])
    programs = _core.Programs.from_tokens(tokens, rows)
    program_idxs, scene_idxs = distinct_pairs(len(programs), n_scenes, work.pairs)
    parsed, from_tokens = [], []
    for _ in range(work.repetitions):
        began = time.perf_counter()
        _core.execute_batch(programs, graphs, program_idxs, scene_idxs)
        parsed.append(len(program_idxs) / (time.perf_counter() - began))
        first = np.ascontiguousarray(scene_idxs[: len(rows)])
        began = time.perf_counter()
        _core.execute_tokens(tokens, rows, graphs, first)
        from_tokens.append(len(rows) / (time.perf_counter() - began))
    return {
        "programs_per_second": statistics.median(parsed),
        "token_programs_per_second": statistics.median(from_tokens),
    }


def _steps_per_second(world: _core.World, questions: _core.QuestionBatch, work: Work) -> float:
    """Questions per second whose steps are written; scenes and programs are read before."""
    tokens = _core.ProgramTokens(world.vocabulary)
    programs = _core.Programs.from_tokens(tokens, questions.program_tokens(tokens, 64)[0])
    indices, places = np.unique(questions.column("image_idxs"), return_inverse=True)
    scenes = _core.sample_scenes(world, seed=SEED, pool="bench", indices=indices.astype(np.uint64))
    rows = places.astype(np.int32).reshape(-1, 1)
    rates = []
    for _ in range(work.repetitions):
        began = time.perf_counter()
        _core.write_steps(programs, scenes, rows, width=480, height=320)
        rates.append(len(programs) / (time.perf_counter() - began))
    return statistics.median(rates)


def distinct_pairs(n_programs: int, n_scenes: int, n_pairs: int) -> tuple[Ints, Ints]:
    """Distinct pairs of program and scene, (n,) and (n,), in an order that jumps about in both.

    n is `n_pairs`, or the number of all pairs if that is smaller.
    """
    number = np.arange(min(n_pairs, n_programs * n_scenes), dtype=np.int64)
    program = number % n_programs
    turn = number // n_programs
    # In each pass through the programs, every program meets another scene.
    scene = (program * 7919 + turn) % n_scenes
    return program.astype(np.uint32), scene.astype(np.uint32)
