"""The server's connections: how many there may be, and how long each may take to ask for something.

Anyone on this machine can connect without knowing the token, and should not be able to keep others out.
"""

import asyncio
import errno
from collections.abc import Callable
from socket import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 64
"""The most connections; a browser opens six."""

REQUEST_S = 10.0
"""Seconds within which a connection has to send a whole request, or take more of an answer."""

_OUT_OF_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Connection(H11Protocol):
    """A connection that is closed if it asks or takes nothing in time, or if it waits longest of too many."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Makes room for the connection, and starts its time."""
        super().connection_made(transport)
        self._waits_since = self.loop.time()
        self._check_time()
        if len(self.connections) > MOST:
            others = [each for each in self.connections if isinstance(each, Connection) and each is not self]
            waiting = [each for each in others if each.is_waiting]
            longest = min(waiting, key=lambda each: each._waits_since, default=self)
            self.connections.discard(longest)  # at once, as others may come before it is lost
            longest.transport.abort()

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered, or nobody takes the answer."""
        return self.cycle is None or self.cycle.response_complete or self.flow.write_paused

    def pause_writing(self) -> None:
        """Starts the time within which the answer has to be taken."""
        self._waits_since = self.loop.time()
        super().pause_writing()

    def on_response_complete(self) -> None:
        """Starts the time for the next request."""
        self._waits_since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the time."""
        self._timer.cancel()
        super().connection_lost(exc)

    def _check_time(self) -> None:
        if self.is_waiting and self.loop.time() - self._waits_since >= REQUEST_S:
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(REQUEST_S / 10, self._check_time)


class Server(uvicorn.Server):
    """A server that says once, not at each connection, that the system has no files left for connections."""

    def __init__(self, config: uvicorn.Config, say: Callable[[str], None]) -> None:
        super().__init__(config)
        self._say = say
        self._is_said = False

    async def serve(self, sockets: list[socket] | None = None) -> None:
        """Serves until the process is interrupted."""
        asyncio.get_running_loop().set_exception_handler(self._note)
        await super().serve(sockets)

    def _note(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        if not (isinstance(problem, OSError) and problem.errno in _OUT_OF_RESOURCES):
            loop.default_exception_handler(context)
        elif not self._is_said:
            self._is_said = True
            self._say("Too many files are open to take more connections; some pages have to wait.")
