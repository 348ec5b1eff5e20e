"""Nothing in; what this machine makes a second of questions, programs, scenes and images, out.

The workloads are those for which the project states its numbers:

- questions: the train and complex_ood splits of rubber_cylinder, all 90 families, 9 (or 1) a scene, windows
  of 250 scenes, texts and programs included. Scenes are sampled before the clock starts.
- programs: those questions' programs on scenes of another pool, no pair of program and scene twice; parsed
  once, and from rows of tokens as HDF5 holds them.
- scenes: with exact visibility at 480 x 320.
- a build: the text of two pairs at preset small, into a folder on the disk for temporary files, every check
  and datasheet included.
- images: reference scenes against 512 samples without denoiser, at the default settings and at 8 samples.

Rates are medians over repetitions, on all cores that this process may use.
"""

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clevrhope import _core
from clevrhope.errors import RenderError
from clevrhope.images.device_choice import parse_device
from clevrhope.questions import read_templates
from clevrhope.scenes import read_world
from clevrhope.splits import PoolScan, SplitStream
from clevrhope.splits.kinds import OOD, SPLITS, TRAIN, SplitKind

if TYPE_CHECKING:
    from clevrhope.images.quality import Quality

SEED = 0
PAIR = (("material", "rubber"), ("shape", "cylinder"))
WINDOW = 250
BUILD_HOPS = ("cyan_cylinder", "large_rubber")

Ints = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Work:
    """How much is done for each number."""

    windows: int
    """Windows of questions a repetition, for each split."""
    scenes: int
    """Scenes sampled a repetition."""
    pairs: int
    """Pairs of program and scene a repetition."""
    images: int
    """Reference scenes rendered; 0 for none."""
    repetitions: int


QUICK = Work(windows=32, scenes=1_000, pairs=4_000_000, images=4, repetitions=3)
"""Under a minute on two cores."""

FULL = Work(windows=128, scenes=4_000, pairs=10_000_000, images=16, repetitions=5)


@dataclass(frozen=True)
class BenchResult:
    """What was measured; None where it could not be, and `notes` says why."""

    questions_per_second: float
    """Train split of rubber_cylinder."""
    ood_questions_per_second: float
    """Its complex_ood split."""
    states_per_question: float
    """Search states for each train question kept: assignments of values, partial or whole, evaluated."""
    ood_states_per_question: float
    options_per_question: float
    """Options drawn or listed for each question kept, most of them ruled out by what they lead to."""
    ood_options_per_question: float
    slowest_attempt_us: float
    """The slowest 0.1% of attempts at a train question take at least so many microseconds."""
    ood_slowest_attempt_us: float
    programs_per_second: float
    """Parsed once."""
    token_programs_per_second: float
    """From rows of tokens."""
    scenes_per_second: float
    seconds_per_small_build: float
    """Of `BUILD_HOPS`, preset small, without images; Python's start is not in it."""
    seconds_per_picture: float | None
    """At the default settings, as the next."""
    psnr_db: float | None
    """Mean against 512 samples of the same scenes."""
    seconds_at_8_samples: float | None
    psnr_db_at_8_samples: float | None
    cores: int
    machine: str
    device: str | None
    """What images were rendered on."""
    seconds: float
    """What the whole bench took."""
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """Name -> value, for `--json`."""
        return asdict(self)


def run(
    *,
    full: bool = False,
    images: bool = True,
    device: str = "auto",
    advance: Callable[[str], None] = lambda _: None,
) -> BenchResult:
    """Measures everything; under a minute on two cores unless `full`.

    Args:
        full: more repetitions, and all sixteen reference images.
        images: whether to render; needs Blender and a checkout, without which `notes` says so.
        device: where Blender renders, see `parse_device`.
        advance: is told what is measured next.

    Raises:
        ConfigError: there is no such device here.
    """
    parse_device(device)
    began = time.perf_counter()
    work = FULL if full else QUICK
    world = read_world()
    templates = read_templates(world)
    advance("scenes")
    scenes_per_second = _scenes_per_second(world, work)
    # One pool serves both splits: what they ask is what counts, and scenes take most of the time.
    scan = PoolScan(world, seed=SEED, pool="bench")
    train, ood = (_Splits(scan, templates, SPLITS[name]) for name in (TRAIN.name, OOD))
    advance("questions")
    train_rate, train_work, questions = train.measure(work)
    ood_rate, ood_work, _ = ood.measure(work)
    advance("programs")
    programs_per_second, token_programs_per_second = _programs_per_second(world, questions, work)
    advance("a small build")
    seconds_per_small_build = _seconds_per_small_build(work)
    notes: list[str] = []
    default = fewer = None
    if images and work.images:
        advance("images")
        try:
            default, fewer = _images(work.images, device)
        except RenderError as error:
            notes.append(f"no images: {error}")
    return BenchResult(
        questions_per_second=train_rate,
        ood_questions_per_second=ood_rate,
        states_per_question=train_work["states"],
        ood_states_per_question=ood_work["states"],
        options_per_question=train_work["options"],
        ood_options_per_question=ood_work["options"],
        slowest_attempt_us=train.slowest_attempt_us(work),
        ood_slowest_attempt_us=ood.slowest_attempt_us(work),
        programs_per_second=programs_per_second,
        token_programs_per_second=token_programs_per_second,
        scenes_per_second=scenes_per_second,
        seconds_per_small_build=seconds_per_small_build,
        seconds_per_picture=default.seconds_per_picture if default else None,
        psnr_db=default.psnr_db if default else None,
        seconds_at_8_samples=fewer.seconds_per_picture if fewer else None,
        psnr_db_at_8_samples=fewer.psnr_db if fewer else None,
        cores=_cores(),
        machine=f"{platform.system()} {platform.machine()}",
        device=default.device if default else None,
        seconds=time.perf_counter() - began,
        notes=tuple(notes),
    )


ROWS: Mapping[str, tuple[str, str]] = {
    "questions_per_second": ("questions a second, train", "{:,.0f}"),
    "ood_questions_per_second": ("questions a second, complex_ood", "{:,.0f}"),
    "states_per_question": ("search states a question, train", "{:.1f}"),
    "ood_states_per_question": ("search states a question, complex_ood", "{:.1f}"),
    "options_per_question": ("options looked at a question, train", "{:.0f}"),
    "ood_options_per_question": ("options looked at, complex_ood", "{:.0f}"),
    "slowest_attempt_us": ("slowest 0.1% of attempts, train, us", "{:,.0f}"),
    "ood_slowest_attempt_us": ("slowest 0.1%, complex_ood, us", "{:,.0f}"),
    "programs_per_second": ("programs a second, parsed once", "{:,.0f}"),
    "token_programs_per_second": ("programs a second, from tokens", "{:,.0f}"),
    "scenes_per_second": ("scenes a second", "{:,.0f}"),
    "seconds_per_small_build": ("seconds for two pairs' text, small", "{:.1f}"),
    "seconds_per_picture": ("seconds an image, 480 x 320", "{:.2f}"),
    "psnr_db": ("PSNR against 512 samples, dB", "{:.1f}"),
    "seconds_at_8_samples": ("seconds an image, 8 samples", "{:.2f}"),
    "psnr_db_at_8_samples": ("PSNR of these, dB", "{:.1f}"),
}
"""Field -> what it is called and how it is written, in the order of the table."""


def text_rows(result: BenchResult) -> list[tuple[str, str]]:
    """The numbers with their names, for a table."""
    values = result.as_json()
    return [
        (name, form.format(values[field]) if values[field] is not None else "not measured")
        for field, (name, form) in ROWS.items()
    ]


@dataclass(frozen=True)
class _Splits:
    """A split that can be made anew again and again on scenes that were looked at once."""

    scan: PoolScan
    templates: _core.Templates
    kind: SplitKind

    def measure(self, work: Work) -> tuple[float, dict[str, float], _core.QuestionBatch]:
        """Questions a second, what the search did for each, and the questions."""
        self._stream().skip(work.windows)  # the scenes are there when the clock starts
        rates = []
        for _ in range(work.repetitions):
            stream = self._stream()
            stream.prepare(work.windows)
            began = time.perf_counter()
            questions = stream.next(work.windows)
            rates.append(len(questions) / (time.perf_counter() - began))
        done = {name: number / len(questions) for name, number in stream.work.items()}
        return statistics.median(rates), done, questions

    def slowest_attempt_us(self, work: Work) -> float:
        """What the slowest 0.1% of attempts take at least, in microseconds."""
        nanoseconds = self._stream().time_attempts(work.windows)
        return float(np.quantile(nanoseconds, 0.999)) / 1_000

    def _stream(self) -> SplitStream:
        return SplitStream(
            self.scan,
            self.templates,
            split=self.kind.name,
            pair=PAIR,
            scenes=self.kind.rule,
            questions=self.kind.rule,
            questions_per_scene=self.kind.questions_per_scene,
        )


def _scenes_per_second(world: _core.World, work: Work) -> float:
    rates = []
    for repetition in range(work.repetitions):
        indices = np.arange(work.scenes, dtype=np.uint64) + np.uint64(repetition * work.scenes)
        began = time.perf_counter()
        _core.sample_scenes(world, seed=SEED, pool="bench scenes", indices=indices)
        rates.append(work.scenes / (time.perf_counter() - began))
    return statistics.median(rates)


def _seconds_per_small_build(work: Work) -> float:
    """The text of two pairs, written, checked and described in a new folder."""
    from clevrhope.config.presets import PRESETS
    from clevrhope.pipeline import Request, build

    seconds = []
    for _ in range(work.repetitions):
        with tempfile.TemporaryDirectory(prefix="clevrhope-bench-") as folder:
            request = Request(Path(folder, "out"), BUILD_HOPS, PRESETS["small"], seed=SEED, render=False)
            seconds.append(build(request).seconds)
    return statistics.median(seconds)


def _programs_per_second(
    world: _core.World, questions: _core.QuestionBatch, work: Work
) -> tuple[float, float]:
    """Parsed once, and from rows of tokens."""
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
    return statistics.median(parsed), statistics.median(from_tokens)


def distinct_pairs(n_programs: int, n_scenes: int, n_pairs: int) -> tuple[Ints, Ints]:
    """Pairs of program and scene, none twice, in an order that jumps about in both: (n,) and (n,).

    At most as many as there are pairs.
    """
    number = np.arange(min(n_pairs, n_programs * n_scenes), dtype=np.int64)
    program = number % n_programs
    turn = number // n_programs
    # In each turn through the programs every program meets a scene further on.
    scene = (program * 7919 + turn) % n_scenes
    return program.astype(np.uint32), scene.astype(np.uint32)


def _images(n_images: int, device: str) -> tuple["Quality", "Quality"]:
    """At the default settings, and at 8 samples."""
    from clevrhope.images.quality import measure_quality
    from clevrhope.images.settings import RenderSettings

    default, fewer = RenderSettings(device=device), RenderSettings(device=device, samples=8)
    return measure_quality(n_images, settings=default), measure_quality(n_images, settings=fewer)


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
