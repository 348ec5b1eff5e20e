"""Whole files, the folder's lock, the manifest: what a kill, a full disk and a second run meet."""

import errno
import json
import signal
import socket
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from clevrhope.dataset.binding import check_binding
from clevrhope.dataset.manifest import FILES_TABLE, Manifest, read_manifest, read_plainly, write_manifest
from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import FileRecord, record, whole_file, write_whole
from clevrhope.runtime.lock import LOCK_FILE, FolderInUseError, locked
from systems import needs_flock, needs_kill, needs_limits, needs_sys
from wording import check_refused, refused

CONSTRAINTS = {"min_objects": 3, "max_objects": 10, "width": 480, "height": 320, "min_pixels": 100}
RENDERING = {"renderer": "blender", "samples": 16}


def manifest(**changes: object) -> Manifest:
    settings: dict[str, object] = {
        "version": "1",
        "seed": 3,
        "world": {"fingerprint": "aa", "constraints": CONSTRAINTS, "attributes": {"size": ["large"]}},
        "templates": {"fingerprint": "bb", "files": ["one_hop.json"]},
        "questions": {"window": 250, "an_image": {"train": 9}},
    }
    return Manifest(**(settings | changes))  # type: ignore[arg-type]


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.json"

    def fail() -> None:
        with whole_file(path) as temporary:
            temporary.write_bytes(b"half")
            assert not path.exists()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(path.parent.iterdir()) == []
    write_whole(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert record(path).bytes == 5


def test_equal_content_leaves_the_file_untouched_and_other_content_replaces_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_whole(path, b"one")
    before = path.stat()
    write_whole(path, b"one")
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    write_whole(path, b"two")
    assert path.stat().st_ino != before.st_ino
    assert path.read_bytes() == b"two"


@needs_limits
def test_a_full_disk_gets_a_sentence_and_leaves_no_half_file(tmp_path: Path) -> None:
    script = """
        import resource, signal, sys
        from pathlib import Path
        from clevrhope.runtime.atomic import write_whole
        from clevrhope.errors import DatasetError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_whole(Path(sys.argv[1]), b"x" * 5000)
        except DatasetError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "big")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "big: no space left" in done.stdout
    assert list(tmp_path.iterdir()) == []


@needs_sys
def test_a_folder_that_cannot_be_made_gets_a_sentence(tmp_path: Path) -> None:
    """Nobody makes folders in /sys, root included, and none where a file is."""
    (tmp_path / "out").write_bytes(b"")
    for path in (Path("/sys/clevrhope/file"), tmp_path / "out" / "b"):
        check_refused(DatasetError, write_whole, path, b"")


@needs_kill
def test_a_second_run_is_told_so_and_the_lock_goes_with_a_killed_process(tmp_path: Path) -> None:
    script = """
        import sys, time
        from pathlib import Path
        from clevrhope.runtime.lock import locked
        with locked(Path(sys.argv[1])):
            print("locked", flush=True)
            time.sleep(3600)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    (tmp_path / LOCK_FILE).write_text("process 1 on a machine that was switched off")
    with process:
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(FolderInUseError) as told, locked(tmp_path):
            pass
        who = f"process {process.pid} on {socket.gethostname()}: -c {tmp_path}"
        assert str(told.value).startswith(f"{tmp_path}: another run is writing here ({who}"[:200])
        process.send_signal(signal.SIGKILL)
        process.wait()
    with locked(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [LOCK_FILE]
    assert list(tmp_path.iterdir()) == []


@needs_flock
def test_a_disk_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def refuse(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with refused(DatasetError), locked(tmp_path):
        pass


def test_a_manifest_comes_back_as_it_was_written_and_lists_a_file_a_line(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    files = {"b.h5": FileRecord(2, "22" * 32), "a/b-c.png": FileRecord(1, "11" * 32)}
    written = manifest(files=files, rendering=RENDERING)
    write_manifest(path, written)
    assert read_manifest(path) == written
    assert json.loads(path.read_text())["files"]["b.h5"] == {"bytes": 2, "sha256": "22" * 32}
    assert len([line for line in path.read_text().splitlines() if '"sha256"' in line]) == 2
    write_manifest(
        tmp_path / "again.json", manifest(files=dict(reversed(files.items())), rendering=RENDERING)
    )
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_thousands_of_files_are_in_a_table_of_their_own(tmp_path: Path) -> None:
    path, table = tmp_path / "manifest.json", tmp_path / FILES_TABLE
    many = {f"images/train/HOPE_train_{k:06d}.png": FileRecord(1000 + k % 7, "11" * 32) for k in range(1_001)}
    many["hops/none/suites/rad/test.h5"] = FileRecord(5, "22" * 32)
    written = manifest(files=many)
    write_manifest(path, written)
    assert table.read_text().splitlines()[1] == f"hops/none/suites/rad/test.h5,5,{'22' * 32}"
    assert b"HOPE_train" not in path.read_bytes()
    assert read_manifest(path) == written
    assert read_plainly(path)["files"].keys() == many.keys()
    assert written.bytes_by_folder() == {"images": sum(1000 + k % 7 for k in range(1_001)), "suites": 5}
    # A run that was stopped after it wrote the table: only a build, which repairs it, goes on.
    table.write_text(table.read_text() + f"vocab.json,3,{'33' * 32}\n")
    check_refused(DatasetError, read_manifest, path)
    assert read_manifest(path, repairs=True) == replace(written, files={})
    for row in ("vocab.json,3", f"../x,3,{'33' * 32}"):
        table.write_text(f"file,bytes,sha256\n{row}\n")
        raw = json.loads(path.read_text())
        raw["files_table"]["sha256"] = record(table).sha256
        path.write_text(json.dumps(raw))
        check_refused(DatasetError, read_manifest, path)
    write_manifest(path, replace(written, files={}))
    assert not table.exists()
    assert read_manifest(path) == replace(written, files={})


@pytest.mark.parametrize(
    "text", ['{"format": 2,\n "seed"}', '{"format": 99}', '{"format": 1}', '{"format": 2}', "[]"]
)
def test_a_file_that_is_no_manifest_gets_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    check_refused(DatasetError, read_manifest, tmp_path / "manifest.json")


def test_a_folder_takes_extensions_of_what_it_is_bound_to_only(tmp_path: Path) -> None:
    check_binding(manifest(), manifest(splits={"rubber_cylinder": {}}, rendering=RENDERING), tmp_path)
    constraints = {**CONSTRAINTS, "max_objects": 8}
    for wanted in (
        manifest(seed=4),
        manifest(world={**manifest().world, "fingerprint": "cc", "constraints": constraints}),
        manifest(templates={"fingerprint": "dd", "files": []}),
    ):
        check_refused(DatasetError, check_binding, manifest(), wanted, tmp_path)
    with refused(DatasetError):
        check_binding(
            manifest(rendering=RENDERING), manifest(rendering={**RENDERING, "samples": 512}), tmp_path
        )


def test_folders_made_for_a_lock_go_where_nothing_came_of_it(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with locked(tmp_path / "there/a/b"):
        assert (tmp_path / "there/a/b").is_dir()
    assert list((tmp_path / "there").iterdir()) == []
    with locked(tmp_path / "there/a/b"):
        (tmp_path / "there/a/file").touch()
    assert (tmp_path / "there/a/file").exists()
    assert not (tmp_path / "there/a/b").exists()
    with locked(tmp_path / "there"):
        pass
    assert (tmp_path / "there").is_dir()
