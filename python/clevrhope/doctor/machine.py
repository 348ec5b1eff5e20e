"""Checks cores, memory, disk, GPUs and browsers."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from clevrhope.doctor.finding import BROKEN, NOTE, Finding
from clevrhope.images.blender.devices import gpus_are_possible
from clevrhope.images.blender.gpu_use import load_nvml
from clevrhope.runtime.resources import UNKNOWN_BYTES, available_bytes, available_cores

#: Less free disk space than this is reported as too little: a small dataset needs it.
LITTLE_DISK_BYTES = 1 << 30
#: Browser -> the names of its programs.
BROWSERS = {
    "Chromium": ("chromium", "chromium-browser"),
    "Chrome": ("google-chrome", "google-chrome-stable", "chrome"),
    "Edge": ("microsoft-edge", "msedge"),
    "Firefox": ("firefox", "firefox-esr"),
}
#: Where systems install browsers that are not on the path; "*" is any folder.
_PLACES = {
    "darwin": {
        "Chromium": "/Applications/Chromium.app",
        "Chrome": "/Applications/Google Chrome.app",
        "Edge": "/Applications/Microsoft Edge.app",
        "Firefox": "/Applications/Firefox.app",
        "Safari": "/Applications/Safari.app",
    },
    "win32": {
        "Chrome": r"C:\Program Files\Google\Chrome\Application\chrome.exe",
        "Edge": r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
        "Firefox": r"C:\Program Files\Mozilla Firefox\firefox.exe",
    },
}


def machine_findings() -> Iterator[Finding]:
    """Findings about the machine, within the limits of this process's container or job."""
    cores, here = available_cores(), os.cpu_count() or 1
    yield Finding("cores", f"{cores}" if cores == here else f"{cores} of {here}, by this process's limits")
    memory = available_bytes()
    yield Finding("memory", "unknown" if memory >= UNKNOWN_BYTES else f"{memory / (1 << 30):.1f} GiB")
    yield _disk()
    yield _gpus()
    yield _torch()
    yield _browsers()


def _disk() -> Finding:
    remedy = "cd to a folder of yours"
    try:
        folder = Path.cwd()
    except FileNotFoundError:
        return Finding("disk", "unknown: the current folder is gone", NOTE, remedy)
    free = shutil.disk_usage(folder).free
    value = f"{free / 1e9:.1f} GB free in {folder}"
    if not os.access(folder, os.W_OK):
        return Finding("disk", f"{value}, where you may not write", NOTE, remedy)
    if free < LITTLE_DISK_BYTES:
        return Finding("disk", value, NOTE, "free some space, or name another disk with --out")
    return Finding("disk", value)


def _gpus() -> Finding:
    """NVIDIA's GPUs as NVML reports them; for other makers, only whether the system exposes any."""
    nvml = load_nvml()
    if nvml is not None:
        with suppress(nvml.NVMLError):
            names = []
            for number in range(nvml.nvmlDeviceGetCount()):
                gpu = nvml.nvmlDeviceGetHandleByIndex(number)
                total = nvml.nvmlDeviceGetMemoryInfo(gpu).total
                names.append(f"{_text(nvml.nvmlDeviceGetName(gpu))} ({total / (1 << 30):.0f} GiB)")
            if names:
                driver = _text(nvml.nvmlSystemGetDriverVersion())
                return Finding("GPUs", f"{', '.join(names)}; driver {driver}")
    if not gpus_are_possible():
        return Finding("GPUs", "none")
    if nvml is None and find_spec("pynvml") is None:
        return Finding(
            "GPUs", "unknown without NVML's module", NOTE, "pip install nvidia-ml-py; clevrhope devices"
        )
    return Finding("GPUs", "none of NVIDIA's; clevrhope devices lists those that Blender finds")


def _torch() -> Finding:
    """The GPU support that torch was built with, read from a file, because importing torch takes seconds."""
    spec = find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return Finding("torch", "not here; models need it", NOTE, "pip install 'clevrhope[train]'")
    file = Path(spec.submodule_search_locations[0]) / "version.py"
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        return Finding(
            "torch",
            f"{file}: {error.strerror}",
            BROKEN,
            "pip install --force-reinstall torch",
        )
    said = {}
    for line in lines:
        name, _, value = line.partition("=")
        said[name.partition(":")[0].strip()] = value.strip().strip("'\"")
    for key, title in (("cuda", "CUDA"), ("hip", "ROCm"), ("xpu", "XPU")):
        if said.get(key, "None") != "None":
            return Finding("torch", f"{said.get('__version__', '')}, built for {title} {said[key]}")
    return Finding("torch", f"{said.get('__version__', '')}, built for the CPU")


def _browsers() -> Finding:
    places = _PLACES.get(sys.platform, {})
    found = {}
    for browser in dict.fromkeys((*BROWSERS, *places)):
        on_path = next(filter(None, map(shutil.which, BROWSERS.get(browser, ()))), None)
        where = on_path or places.get(browser)
        if where is not None and Path(where).exists():
            found[browser] = where
    if not found:
        return Finding(
            "browsers",
            "no known browser was found; you need one to open the pages of datasets and reports",
            NOTE,
            "apt-get install firefox-esr (Debian), or what your system calls it",
        )
    return Finding("browsers", ", ".join(f"{name} ({where})" for name, where in found.items()))


def _text(value: str | bytes) -> str:
    """Text from NVML's module, whose old versions return bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
