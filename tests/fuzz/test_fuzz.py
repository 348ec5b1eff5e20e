"""Whatever is wrong with a file, every command that reads it says so in a sentence.

No traceback, no panic, no message of pages, nothing that takes a gigabyte or ten times the processor time of
the longest command on whole files (clocks would measure what else the machine does). CLEVRHOPE_FUZZ is the
number of inputs; `make fuzz` sets 2,000.
"""

import faulthandler
import json
import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from corpus import copy_corpus, make_corpus, renew
from mutations import spoil
from targets import TARGETS

import clevrhope
from clevrhope.__main__ import run_command
from clevrhope.errors import ClevrhopeError
from clevrhope.programs import execute
from waiting import HANG_S

pytestmark = pytest.mark.slow

INPUTS = int(os.environ.get("CLEVRHOPE_FUZZ", "150"))
SEED = int(os.environ.get("CLEVRHOPE_FUZZ_SEED", "1"))
MOST_TIMES, MOST_BYTES, LONGEST_MESSAGE = 10, 1 << 30, 1_200


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("fuzz") / "corpus")


@pytest.fixture(scope="module")
def seconds_of_whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> float:
    """The processor time of the longest command on the corpus itself.

    All commands but those whose weights are of another model do their work on it.
    """
    longest, folder = 0.0, tmp_path_factory.mktemp("whole")
    done = set()
    for name, target in TARGETS.items():
        for number, command in enumerate(target.commands):
            if name in ("weights", "YAML") or command in done:
                continue
            done.add(command)
            copy_corpus(corpus, folder / "c")
            began = time.process_time()
            assert execute_command(command, folder / "c", folder / f"out{number}") == 0, (name, command)
            longest = max(longest, time.process_time() - began)
            shutil.rmtree(folder / "c")
            shutil.rmtree(folder / f"out{number}", ignore_errors=True)
    return longest


def test_whole_files_are_read(seconds_of_whole: float) -> None:
    assert seconds_of_whole > 0


def test_spoilt_files_get_a_sentence(
    corpus: Path, seconds_of_whole: float, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    drawn = random.Random(f"order {SEED}").choices(
        list(TARGETS), weights=[each.weight for each in TARGETS.values()], k=INPUTS
    )
    failures: list[str] = []
    outcomes: Counter[str] = Counter()
    slowest: tuple[float, str] = (0.0, "")
    largest: tuple[int, str] = (0, "")
    for k, name in enumerate(drawn):
        rng = random.Random(f"{SEED} {k} {name}")
        target = TARGETS[name]
        place, out = tmp_path / "c", tmp_path / "out"
        copy_corpus(corpus, place)
        files = sorted(path for pattern in target.files for path in place.glob(pattern) if path.is_file())
        file = rng.choice(files)
        how = spoil(file, rng)
        if rng.random() < 0.5 and file.name != "manifest.json":
            renew(file)
            how = f"{how}, renewed"
        command = rng.choice(target.commands)
        what = f"{k}: {file.relative_to(place)} ({how}): {command}"
        faulthandler.dump_traceback_later(HANG_S, exit=True)
        reset_peak()
        before, began = memory_peak(), time.process_time()
        problem = ""
        try:
            code = execute_command(command, place, out)
        except BaseException as error:  # a panic of Rust's is no Exception
            code = -1
            problem = f"{type(error).__name__}: {str(error)[:300]}"
            if os.environ.get("CLEVRHOPE_FUZZ_RAISE"):
                raise
        seconds, grown = time.process_time() - began, memory_peak() - before
        faulthandler.cancel_dump_traceback_later()
        said = capfd.readouterr().err
        slowest, largest = max(slowest, (seconds, what)), max(largest, (grown, what))
        outcomes["done" if code == 0 else f"exit {code}"] += 1
        if "Traceback" in said or "panicked" in said:
            problem = problem or said[-300:]
        sentence = next((line for line in said.splitlines() if line.startswith("clevrhope: ")), "")
        if code > 0 and command.split()[0] not in ("audit", "verify") and not sentence:
            problem = problem or f"exit {code} without a sentence: {said[-200:]!r}"
        if len(sentence) > LONGEST_MESSAGE:
            problem = problem or f"a message of {len(sentence)} characters: {sentence[:200]}"
        if seconds > MOST_TIMES * seconds_of_whole:
            problem = (
                problem or f"took {seconds:.1f} CPU seconds, {seconds / seconds_of_whole:.0f} times the most"
            )
        if grown > MOST_BYTES:
            problem = problem or f"took {grown >> 20} MiB"
        if problem:
            failures.append(f"{what}: {problem}")
        shutil.rmtree(place)
        for left in tmp_path.glob("out*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    sys.stdout.write(
        f"\n{INPUTS} inputs, seed {SEED}: {dict(outcomes)}; slowest {slowest[0]:.1f} CPU seconds "
        f"({slowest[1]}), largest {largest[0] >> 20} MiB ({largest[1]})\n"
    )
    assert not failures, "\n".join(failures)


def execute_command(command: str, place: Path, out: Path) -> int:
    """Runs a command line; "load" and "execute" stand for what a notebook does."""
    words = [word.replace("{C}", str(place)).replace("{O}", str(out)) for word in command.split()]
    if words[0] == "load":
        return _load(Path(words[1]), *words[2:])
    if words[0] == "execute":
        return _execute(Path(words[1]), Path(words[2]))
    return run_command(words)


def _load(folder: Path, split: str = "train", suite: str | None = None) -> int:
    try:
        items: Sequence[object]
        if suite:
            items = clevrhope.load(folder, "rubber_cylinder", split, suite=suite, text=True)
        else:
            passes = ("mask",) if split == "train" else ()
            items = clevrhope.load(folder, "rubber_cylinder", split, text=True, passes=passes)
        for k in range(len(items)):
            items[k]
    except ClevrhopeError as error:
        return _told(error)
    return 0


def _execute(scenes: Path, programs: Path) -> int:
    """As far as json.load comes, the values are anybody's."""
    try:
        scene = json.loads(scenes.read_bytes())["scenes"][0]
        questions = json.loads(programs.read_bytes())["questions"]
        questions = list(questions)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return 0
    for question in questions:
        try:
            execute(question, scene)
        except ClevrhopeError as error:
            return _told(error)
    return 0


def _told(error: ClevrhopeError) -> int:
    sys.stderr.write(f"clevrhope: {error}\n")
    return 2


def reset_peak() -> None:
    """Forgets the largest memory of this process so far."""
    Path("/proc/self/clear_refs").write_text("5")


def memory_peak() -> int:
    """Bytes of the largest memory of this process since `reset_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
