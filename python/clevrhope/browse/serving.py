"""Runs the server until it is stopped: finds a port, opens a browser, and cleans up."""

import secrets
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from html import escape
from pathlib import Path

import uvicorn

from clevrhope.browse.connections import MOST, Connection, Server
from clevrhope.browse.folder import SiteFolder
from clevrhope.browse.models import read_models
from clevrhope.browse.server import Site, application
from clevrhope.errors import DatasetError
from clevrhope.runtime.progress import Progress
from clevrhope.runtime.reading import os_reason

ADDRESS = "127.0.0.1"

PORT = 8765
"""The default port."""


def serve(
    root: Path,
    *,
    predictions: Sequence[str],
    question: str | None,
    port: int,
    open_browser: bool,
    progress: Progress,
    say: Callable[[str], None],
) -> None:
    """Serves pages about a dataset on this machine until the process is interrupted.

    Args:
        root: a dataset made by `clevrhope build`; it is only read.
        predictions: runs and files of predictions about it.
        question: the question whose page is opened, as HOP/SPLIT/NUMBER; None for the overview.
        port: the port to listen on; if another program uses it, a free port is used instead.
        open_browser: whether to open the first page.
        progress: shows the progress of indexes.
        say: is called with each sentence for the user.

    Raises:
        DatasetError: the folder is not a dataset, or no port is free.
        PredictionsError: predictions cannot be read, or are about another dataset.
    """
    folder = SiteFolder(root)
    models = read_models(predictions, folder)
    for note in models.notes:
        say(note)
    token = secrets.token_urlsafe(24)
    site = Site(folder, models, predictions=[*predictions], progress=progress)
    with closing(site), bound(port, say) as listening:
        page = f"question/{question}" if question else ""
        address = f"http://{ADDRESS}:{listening.getsockname()[1]}/{token}/{page}"
        say(f"Pages about {root}: {address}")
        say("Anyone who has this address can look at the dataset while this runs. Ctrl-C ends it.")
        with opened(address, say) if open_browser else nullcontext():
            server(site, token, say).run(sockets=[listening])


def server(site: Site, token: str, say: Callable[[str], None]) -> Server:
    """The server of a site's pages, for `run` with the socket on which it listens."""
    config = uvicorn.Config(
        application(site, token),
        http=Connection,
        backlog=MOST,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
    )
    return Server(config, say)


@contextmanager
def bound(port: int, say: Callable[[str], None]) -> Iterator[socket.socket]:
    """A socket that listens on the port, or else on a free one; raises DatasetError if there is none."""
    try:
        listening = _listening(port)
    except OSError as error:
        say(f"Port {port} cannot be used ({os_reason(error)}), so a free one takes its place.")
        try:
            listening = _listening(0)
        except OSError as problem:
            raise DatasetError(f"{ADDRESS}: no free port ({os_reason(problem)})") from problem
    with listening:
        yield listening


def _listening(port: int) -> socket.socket:
    # If the protocol is given, asyncio sends the parts of a page at once instead of 40 ms after the first.
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((ADDRESS, port))
        made.listen()
    except BaseException:
        made.close()
        raise
    return made


@contextmanager
def opened(address: str, say: Callable[[str], None]) -> Iterator[None]:
    """Opens a page in the user's browser through a file that only the user can read.

    All users of a machine can see its processes' command lines, so the address must not be on one.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(
                tempfile.NamedTemporaryFile("w", prefix="clevrhope-", suffix=".html", encoding="utf-8")
            )
            file.write(
                '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>clevrhope</title>\n'
                f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
                f'<p><a href="{escape(address)}">The pages about the dataset</a></p></html>\n'
            )
            file.flush()
        except OSError as error:
            say(f"{NO_BROWSER} ({os_reason(error)}).")
        else:
            threading.Thread(target=_open, args=(Path(file.name).as_uri(), say), daemon=True).start()
        yield


NO_BROWSER = "No browser could be opened, so open the address above in one"


def _open(page: str, say: Callable[[str], None]) -> None:
    found = False
    with suppress(webbrowser.Error, OSError):
        found = webbrowser.open(page)
    if not found:
        say(f"{NO_BROWSER}.")
