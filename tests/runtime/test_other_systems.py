"""What a user of Windows meets: modules and calls that only other systems have, taken away here."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import check_wheel

# The standard library and the libraries are loaded first, as they are for this system. Then everything that
# Windows does not have is removed, and `sys.platform` says Windows when clevrhope is loaded.
WINDOWS = """
import ctypes, hashlib, json, os, shutil, signal, socket, subprocess, sys, tempfile, threading
import click, h5py, numpy, PIL.Image, rich.console, rich.progress, concurrent.futures, importlib.metadata
import importlib.resources, multiprocessing, platform, types, asyncio, uuid, zipfile, http.client

held = {}
def locking(descriptor, mode, n_bytes):
    place = os.fstat(descriptor).st_ino
    if held.get(place, descriptor) != descriptor:
        raise PermissionError(13, "locked")
    held[place] = descriptor

sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
absent = ("fcntl", "grp", "pwd", "resource", "termios")
sys.modules.update(dict.fromkeys((*absent, "bpy", "torch"), None))  # these would be this system's
for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "getuid", "geteuid", "killpg", "pread", "pwrite",
             "sysconf", "sched_getaffinity", "fchmod", "mkfifo"):
    delattr(os, name)
for name in ("SIGKILL", "SIGALRM", "SIGHUP", "setitimer"):
    delattr(signal, name)
signal.SIGBREAK = 21
real_open = os.open
def open_no_folders(path, flags, *more, **named):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", str(path))
    return real_open(path, flags, *more, **named)
os.open = open_no_folders
sys.platform = "win32"
"""


def on_windows(script: str, *arguments: str) -> str:
    """What a script prints there."""
    code = WINDOWS + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_no_module_needs_what_windows_lacks() -> None:
    script = """
        import importlib, pkgutil, clevrhope
        refused = []
        for found in pkgutil.walk_packages(clevrhope.__path__, "clevrhope."):
            if found.name.startswith(("clevrhope._assets", "clevrhope.models", "clevrhope.training",
                                      "clevrhope.features", "clevrhope.images.ray",
                                      "clevrhope.inspect_tasks")):
                continue  # these load torch, Ray or Inspect, which are this system's
            try:
                importlib.import_module(found.name)
            except ImportError as error:
                if error.name in absent:
                    refused.append(found.name)
        print(json.dumps(refused))
    """
    assert json.loads(on_windows(script)) == []


@pytest.mark.slow
def test_a_dataset_is_built_without_blender_and_loaded(tmp_path: Path) -> None:
    script = """
        from clevrhope.__main__ import run_command
        out = sys.argv[1]
        arguments = ["build", "--hop", "rubber_cylinder", "--seed", "1", "--renderer", "native",
                     "--quality", "draft", "--train-questions", "9", "--test-questions", "9", "--out", out,
                     "--quiet"]
        assert run_command(arguments) == 0
        from clevrhope import load
        train = load(out, "rubber_cylinder", "train")
        print(len(train), train[0]["image"].shape, os.path.exists(os.path.join(out, ".clevrhope.lock")))
    """
    assert on_windows(script, str(tmp_path / "out")) == "9 (320, 480, 3) False\n"


def test_two_runs_there_do_not_write_to_one_folder(tmp_path: Path) -> None:
    script = """
        from pathlib import Path
        from clevrhope.runtime.lock import FolderInUseError, locked
        with locked(Path(sys.argv[1])):
            try:
                with locked(Path(sys.argv[1])):
                    print("twice")
            except FolderInUseError as error:
                print(f"process {os.getpid()} on " in str(error))
        print(os.path.exists(sys.argv[1]))
    """
    assert on_windows(script, str(tmp_path / "out")) == "True\nFalse\n"


# What macOS or Windows lacks, and what is not installed beside a wheel, is taken away from tests and from the
# programs that they run. The package and libraries choose by the system and keep it, all but /proc.
NO_LINUX = """
import builtins, importlib.util, os, sys

absent = ("fcntl", "grp", "pwd", "resource", "termios", "bpy", "inspect_ai", "torch")
real_import, real_spec, real_stat = builtins.__import__, importlib.util.find_spec, os.stat

def import_(name, globals=None, *rest, **named):
    asking = globals or {}
    of_tests = asking.get("__name__") == "__main__"
    if name in absent and (of_tests or str(asking.get("__file__")).startswith(TESTS)):
        raise ModuleNotFoundError(f"no module {name}", name=name)
    return real_import(name, globals, *rest, **named)

def refuse(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith("/proc"):
        raise FileNotFoundError(2, "No such file or directory", arguments[0])

def stat(path, **options):
    refuse("open", [path])
    return real_stat(path, **options)

builtins.__import__ = import_
importlib.util.find_spec = lambda name, package=None: None if name in absent else real_spec(name, package)
sys.addaudithook(refuse)
os.stat = stat
del os.mkfifo
"""


@pytest.mark.slow
def test_the_wheels_tests_need_nothing_of_linux_alone(tmp_path: Path) -> None:
    tests = Path(check_wheel.__file__).parent
    (tmp_path / "sitecustomize.py").write_text(f"TESTS = {str(tests)!r}\n{NO_LINUX}")
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *map(str, arguments)]
        variables = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(
            command, cwd=tests.parent, env=variables, capture_output=True, text=True, check=False
        )

    for code in ("import resource", "open('/proc/self/stat')", "import os; os.stat('/proc/self')"):
        assert "NotFoundError: " in run("-c", code).stderr.splitlines()[-1]
    pytest_ = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0")
    collected = run(*pytest_, "--collect-only", *(tests / each for each in check_wheel.TESTS))
    assert collected.returncode == 0, collected.stdout
    sample = ("bindings/test_boundary.py", "dataset/test_files.py", "dataset/test_image_store.py")
    done = run(*pytest_, *(tests / each for each in sample))
    assert done.returncode == 0, done.stdout
    for reason in ("no limits for a process", "no pipes with names", "locks in another way"):
        assert reason in done.stdout
