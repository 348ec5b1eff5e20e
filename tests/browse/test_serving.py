"""The command as a process: its address, a port in use, two at once, browsers, and how it ends."""

import asyncio
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from building import Cli
from site_client import HOP

from clevrhope.browse import connections, serving
from clevrhope.browse.folder import SiteFolder
from clevrhope.browse.models import read_models
from clevrhope.browse.server import Site
from clevrhope.browse.serving import bound, opened
from clevrhope.runtime.progress import Silent
from waiting import HANG_S, wait_until
from wording import check_words


@contextmanager
def served(dataset: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """A running server, its address, and what it said before that."""
    command = [sys.executable, "-m", "clevrhope", "browse", str(dataset), "--no-browser", *more]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = []
            while not (found := re.search(r"http://\S+", line := process.stderr.readline())):
                assert line, "it ended"
                said.append(line)
            yield process, found[0], said
        finally:
            process.kill()


def get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=HANG_S) as answer:
        return answer.read().decode()


def test_it_serves_until_it_is_interrupted(dataset: Path) -> None:
    with served(dataset, "--port", "0") as (process, address, _):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", address)
        assert HOP in get(address)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            get(address[: address.index("/", 8) + 1])
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=HANG_S) == 130
        rest = process.stderr.read()
        assert "Traceback" not in rest
        assert rest.endswith("clevrhope: stopped\n")


@pytest.mark.slow
def test_the_page_of_a_question_may_be_opened(dataset: Path) -> None:
    with served(dataset, "--port", "0", "--question", f"{HOP}/complex_ood/3") as (_, address, _):
        assert f"{HOP}/complex_ood, question 3" in get(address)


WHILE_READING = """
import os, signal, sys
from clevrhope.__main__ import run_command
from clevrhope.browse import index

real = index._Reader._tokens

def interrupted(*given):
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        real(*given)

index._Reader._tokens = interrupted
sys.exit(run_command(sys.argv[1:]))
"""


def test_it_ends_while_an_index_is_made(dataset: Path) -> None:
    """A process that ends within a call of HDF5 in another thread waits for the library's lock forever."""
    arguments = ["browse", str(dataset), "--no-browser", "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-c", WHILE_READING, *arguments], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            address = re.search(r"http://\S+", process.stderr.readline())[0]
            assert "Making the index" in get(f"{address}questions?hop={HOP}")
            assert process.wait(timeout=HANG_S) == 130
        finally:
            process.kill()


@pytest.mark.slow
def test_two_at_once_have_ports_and_tokens_of_their_own(dataset: Path) -> None:
    with served(dataset, "--port", "0") as (_, first, _):
        port = first.split(":")[2].split("/")[0]
        with served(dataset, "--port", port) as (_, second, said):
            assert said == [
                f"Port {port} cannot be used (address already in use), so a free one takes its place.\n"
            ]
            tokens = {address.split("/")[3] for address in (first, second)}
            assert len(tokens) == 2
            assert HOP in get(first)
            assert HOP in get(second)
            with pytest.raises(urllib.error.HTTPError, match="403"):
                get(second.replace(second.split("/")[3], first.split("/")[3]))


def test_only_loopback_listens() -> None:
    with bound(0, print) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_pages_are_sent_without_waiting_for_acknowledgements() -> None:
    """By Nagle's algorithm the second part of an answer would wait for 40 ms."""
    options: list[int] = []

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        options.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    async def visit() -> None:
        with bound(0, print) as listening:
            async with await asyncio.start_server(answer, sock=listening):
                reader, writer = await asyncio.open_connection(*listening.getsockname())
                await reader.read()
                writer.close()

    asyncio.run(visit())
    assert options
    assert options[0] != 0


def test_a_port_in_use_is_replaced() -> None:
    said: list[str] = []
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with bound(other.getsockname()[1], said.append) as listening:
            assert listening.getsockname()[1] != other.getsockname()[1]
    assert len(said) == 1


def test_without_a_browser_there_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    pages: list[str] = []

    def open_nothing(page: str) -> bool:
        pages.append(Path(page.removeprefix("file://")).read_text())
        return False

    monkeypatch.setattr("webbrowser.open", open_nothing)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with opened("http://127.0.0.1:1/secret/", said.append):
        wait_until(lambda: bool(said), "a sentence")
        (page,) = tmp_path.iterdir()
        assert page.stat().st_mode & 0o077 == 0
    assert said == ["No browser could be opened, so open the address above in one."]
    assert "url=http://127.0.0.1:1/secret/" in pages[0]
    assert [*tmp_path.iterdir()] == []
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with opened("http://127.0.0.1:1/secret/", said.append):
        assert "no such file" in said[1]


def test_the_token_is_on_no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda page: asked.append(page) or True)
    with opened("http://127.0.0.1:1/secret/", print):
        wait_until(lambda: bool(asked), "the browser is opened")
    assert "secret" not in asked[0]


def test_other_input_is_a_sentence(tmp_path: Path, dataset: Path, cli: Cli) -> None:
    (tmp_path / "bad.jsonl").write_text("{")
    predictions = [[dataset, "--predictions", tmp_path / name] for name in ("none", "bad.jsonl")]
    for words in ([tmp_path], [dataset, "--port", 70_000], *predictions):
        check_words(cli("browse", *words, code=2).err)


def test_a_missing_extra_is_named(dataset: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    check_words(cli("browse", dataset, code=2).err)


def connected(address: str, sent: bytes = b"") -> socket.socket:
    """A connection to the server, without the token."""
    made = socket.create_connection(("127.0.0.1", int(address.split(":")[2].split("/")[0])))
    made.settimeout(HANG_S)
    made.sendall(sent)
    return made


@contextmanager
def quick_server(dataset: Path, **limits: float) -> Iterator[str]:
    """A server in this process, with other limits; nothing may reach the terminal."""
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch, bound(0, said.append) as listening:
        for name, value in limits.items():
            patch.setattr(connections, name, value)
        site = Site(
            SiteFolder(dataset), read_models([], SiteFolder(dataset)), predictions=[], progress=Silent()
        )
        server = serving.server(site, "token", said.append)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/token/"
        finally:
            server.should_exit = True
            thread.join()
    assert said == []


HALF = {
    "nothing": b"",
    "half a head": b"GET / HTTP/1.1\r\nHost: localhost\r\n",
    "no body": b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n",
    "half a second one": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HT",
}


@pytest.mark.parametrize("sent", HALF.values(), ids=HALF)
def test_a_request_that_does_not_come_in_time_ends(dataset: Path, sent: bytes) -> None:
    with quick_server(dataset, REQUEST_S=0.3) as address, connected(address, sent) as half:
        with suppress(ConnectionResetError):
            while half.recv(1 << 16):
                pass
        assert HOP in get(address)


def test_connections_that_wait_keep_nobody_out(dataset: Path) -> None:
    with ExitStack() as stack:
        address = stack.enter_context(quick_server(dataset, MOST=4))
        kept = stack.enter_context(connected(address, HALF["half a head"]))
        for _ in range(20):
            stack.enter_context(connected(address, HALF["half a head"]))
            assert HOP in get(address)
        with suppress(ConnectionResetError):
            assert kept.recv(1) == b""


def test_connections_that_take_no_answers_keep_nobody_out(dataset: Path) -> None:
    """They ask again and again without reading, until the server's answers fill all buffers."""
    asked = b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1_000
    with ExitStack() as stack:
        address = stack.enter_context(quick_server(dataset, MOST=4))
        for _ in range(6):
            deaf = stack.enter_context(connected(address, b""))
            deaf.settimeout(0.5)
            with suppress(OSError):  # nothing more is taken, or the connection was closed for another one
                while True:
                    deaf.sendall(asked)
            assert HOP in get(address)


def test_without_files_for_connections_the_terminal_stays_quiet(dataset: Path) -> None:
    with served(dataset, "--port", "0") as (process, address, _), ExitStack() as stack:
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (40, 40))
        for _ in range(200):
            stack.enter_context(connected(address))
        stack.close()
        wait_until(lambda: can_get(address), "the server takes connections again")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=HANG_S) == 130
        check_words(process.stderr.read())


def can_get(address: str) -> bool:
    try:
        return HOP in get(address)
    except OSError:
        return False
