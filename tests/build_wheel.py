"""Builds a wheel as it is published: with licences of crates, a man page, and no path of this machine.

    python tests/build_wheel.py --out dist

Needs cargo, maturin and click. All arguments are maturin's.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
#: What pyproject.toml puts beside the package's own licence, if it is there.
NOTICES = REPOSITORY / "THIRD_PARTY_CRATES.txt"
STANDARD_LIBRARY = REPOSITORY / "THIRD_PARTY_RUST.html"
#: The man page, in a folder whose content a wheel installs in that of the environment.
WHEEL_DATA = REPOSITORY / "clevrhope._core.data"
MANUAL = WHEEL_DATA / "data/share/man/man1/clevrhope.1"
#: Prints the page for a version; it needs click, but not the native module.
PRINT_MANUAL = """
import sys
sys.path.insert(0, "python")
from clevrhope.__main__ import commands
from clevrhope.cli.manual import manual
sys.stdout.reconfigure(encoding="utf-8", newline="\\n")
print(manual(commands, sys.argv[1]))
"""
LICENSE_NAMES = ("licen", "unlicense", "copying", "copyright", "notice")


def output_of(*command: str) -> str:
    """What a program prints."""
    return subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, encoding="utf-8").stdout


def read_metadata() -> dict[str, Any]:
    """What cargo tells of the workspace and its dependencies on this system."""
    host = output_of("rustc", "-vV").partition("host: ")[2].split()[0]
    told = output_of("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host)
    found: dict[str, Any] = json.loads(told)
    return found


def linked_crates(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """The crates of others whose code is in the native module, by name: no macros, build tools or tests."""
    crates = {each["id"]: each for each in metadata["packages"]}
    edges = {each["id"]: each["deps"] for each in metadata["resolve"]["nodes"]}
    reached = set[str]()
    waiting = [key for key, crate in crates.items() if crate["name"] == "clevrhope-py"]
    while waiting:
        key = waiting.pop()
        if key in reached or any("proc-macro" in each["kind"] for each in crates[key]["targets"]):
            continue
        reached.add(key)
        waiting += [
            each["pkg"] for each in edges[key] if any(kind["kind"] is None for kind in each["dep_kinds"])
        ]
    others = (crates[key] for key in reached if key not in metadata["workspace_members"])
    return sorted(others, key=lambda crate: (crate["name"], crate["version"]))


def license_files(folder: Path) -> Iterator[Path]:
    """The files of licences in a crate's folder, also those of C sources below it."""
    for path in sorted(folder.rglob("*")):
        is_text = path.suffix in ("", ".txt", ".md") and path.is_file()
        if is_text and path.name.lower().startswith(LICENSE_NAMES):
            yield path


def notices(metadata: dict[str, Any]) -> str:
    """The licences of the crates, as text; a text that many have is there once."""
    texts: dict[str, int] = {}
    lines = [
        "The native module of clevrhope contains code of these projects; the texts of their licences follow.",
        f"{STANDARD_LIBRARY.name} has those of Rust's standard library.",
        "",
    ]
    for crate in linked_crates(metadata):
        files = license_files(Path(crate["manifest_path"]).parent)
        contents = (path.read_text("utf-8", "replace").strip() for path in files)
        numbers = sorted({texts.setdefault(content, len(texts) + 1) for content in contents})
        which = f"texts {', '.join(map(str, numbers))}" if numbers else "comes without a text"
        lines.append(f"{crate['name']} {crate['version']}: {crate['license']}; {which}")
    for text, number in texts.items():
        lines += ["", f"---- text {number} ----", "", text]
    return "\n".join(lines) + "\n"


def remapping(metadata: dict[str, Any]) -> str:
    """A setting of cargo by which the module names sources as they are called on every machine.

    It is joined with the flags of .cargo/config.toml, which the variable RUSTFLAGS would replace.
    """
    home = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    root, target = metadata["workspace_root"], metadata["target_directory"]
    places = {home: "/cargo", root: "/clevrhope", target: "/target"}
    flags = [f"--remap-path-prefix={place}={name}" for place, name in places.items()]
    return f"target.'cfg(all())'.rustflags={json.dumps(flags)}"


def main() -> int:
    """Writes licences and man page, and calls maturin, beside this Python or on the path; gives its code."""
    metadata = read_metadata()
    NOTICES.write_text(notices(metadata), "utf-8")
    of_rust = Path(output_of("rustc", "--print", "sysroot").strip(), "share/doc/rust/COPYRIGHT-library.html")
    shutil.copyfile(of_rust, STANDARD_LIBRARY)
    (version,) = (each["version"] for each in metadata["packages"] if each["name"] == "clevrhope-py")
    MANUAL.parent.mkdir(parents=True, exist_ok=True)
    MANUAL.write_bytes(output_of(sys.executable, "-c", PRINT_MANUAL, version).encode())
    command = ["maturin", "build", "--release", "--locked", "--config", remapping(metadata), *sys.argv[1:]]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    try:
        return subprocess.run(
            command, cwd=REPOSITORY, env={**os.environ, "PATH": path}, check=False
        ).returncode
    finally:  # what is installed in a checkout, or built from its sources, is no wheel that is published
        NOTICES.unlink()
        STANDARD_LIBRARY.unlink()
        shutil.rmtree(WHEEL_DATA)


if __name__ == "__main__":
    sys.exit(main())
