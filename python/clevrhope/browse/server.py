"""Serves the pages on this machine to anyone who has the token.

All users of a machine share its loopback addresses, so every request needs a token that is drawn for each
run. It comes first in the path of every address, and all links are relative: a cookie would be sent to all
other ports of the machine, whoever listens there, and a token in the query would have to be added to every
link, image and form. Only GET requests that address this machine by name are answered, and no page may load
or run anything that this server did not send.
"""

import secrets
from collections.abc import Callable, Mapping
from functools import partial
from threading import Lock

from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clevrhope.browse.addresses import IMAGE_KINDS, Links, Query
from clevrhope.browse.folder import SiteFolder, SplitKey
from clevrhope.browse.indexes import Indexes
from clevrhope.browse.models import Models, read_models
from clevrhope.browse.pages import ASSETS, Pages, asset
from clevrhope.errors import ClevrhopeError, ConfigError
from clevrhope.runtime.paths import is_name
from clevrhope.runtime.progress import Progress

HOSTS = ("127.0.0.1", "localhost", "[::1]")
"""Names by which a browser may address the server; any other name may belong to a foreign page that was made
to resolve to this machine. The port may differ, for example through a tunnel."""

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""The headers of every response."""


class RowConvertor(IntegerConvertor):
    """A question's number in an address; a longer one is of no question, and too long for int."""

    regex = "[0-9]{1,18}"


register_url_convertor("row", RowConvertor())

#: Address below the token -> the method that makes the page, from the place, the number and the query.
PAGES: Mapping[str, Callable[..., str]] = {
    "/": Pages.home,
    "/questions": Pages.questions,
    "/question/{hop}/{split}/{number:row}": Pages.question,
    "/pairs/{hop}/{suite}/{split}": Pages.pairs,
    "/pair/{hop}/{suite}/{split}/{number:row}": Pages.pair,
}


class Site:
    """A dataset's folder and the pages about it, reread when the folder's manifest changes.

    Attributes:
        pages: the pages of the folder as last read, which also report what is wrong with it now.
    """

    def __init__(
        self, folder: SiteFolder, models: Models, *, predictions: list[str], progress: Progress
    ) -> None:
        self._root, self._predictions = folder.layout.root, predictions
        self._progress = progress
        self._lock = Lock()
        self._set(folder, models)

    def _set(self, folder: SiteFolder, models: Models) -> None:
        self._folder = folder
        self._indexes = Indexes(folder, self._progress)
        self.pages = Pages(folder, models, self._indexes)

    def close(self) -> None:
        """Ends the making of indexes."""
        self._indexes.close()

    def now(self) -> tuple[SiteFolder, Pages]:
        """The current folder and its pages.

        Raises:
            DatasetError: the folder is gone, or is no longer a dataset.
            PredictionsError: the predictions no longer fit the folder.
        """
        with self._lock:
            if not self._folder.is_current():
                folder = SiteFolder(self._root)
                self._indexes.close()
                self._set(folder, read_models(self._predictions, folder))
            return self._folder, self.pages


def application(site: Site, token: str) -> ASGIApp:
    """The server's application, for requests whose path begins with the token."""

    def page(depth: int, make: Callable[..., str], request: Request) -> Response:
        links, given = Links(depth), request.path_params
        place = [SplitKey(given["hop"], given["split"], given.get("suite"))] if "split" in given else []
        number = [given["number"]] if "number" in given else []
        try:
            _, pages = site.now()
            content = make(pages, links, *place, *number, Query.read(request.query_params))
            return HTMLResponse(content)
        except ClevrhopeError as error:
            wrong_address = isinstance(error, ConfigError)
            title = "There is no such page" if wrong_address else "This page cannot be shown"
            content = site.pages.message(links, title, f"{error}.")
            return HTMLResponse(content, status_code=404 if wrong_address else 500)

    def image(kind: str, request: Request) -> Response:
        pool, index = request.path_params["pool"], request.path_params["index"]
        try:
            folder, _ = site.now()
            content = getattr(folder, kind)(pool, index) if is_name(pool) else None
        except ClevrhopeError as error:
            return PlainTextResponse(f"{error}.", status_code=500)
        if content is None:
            return PlainTextResponse("There is no such image.", status_code=404)
        return Response(content, media_type="image/svg+xml" if kind == "sketch" else "image/png")

    routes = [
        *(
            Route(path, partial(page, path.count("/") - 1, make), methods=["GET"])
            for path, make in PAGES.items()
        ),
        *(
            Route(f"/{kind}/{{pool}}/{{index:row}}.{suffix}", partial(image, kind), methods=["GET"])
            for kind, suffix in IMAGE_KINDS.items()
        ),
        *(Route(f"/{name}", partial(_asset, name), methods=["GET"]) for name in ASSETS),
    ]

    def missing(request: Request, _: Exception) -> Response:
        depth = request.url.path.count("/") - 1
        content = site.pages.message(
            Links(depth),
            "There is no such page",
            "The address leads to nothing here; check it, or begin at the overview.",
        )
        return HTMLResponse(content, status_code=404)

    app = Starlette(routes=routes, exception_handlers={404: missing})
    app.router.redirect_slashes = False
    return Guard(app, token)


def _asset(name: str, _: Request) -> Response:
    return Response(asset(name), media_type=ASSETS[name])


class Guard:
    """Passes on GET requests for this machine whose path begins with the token, and sets response headers."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or passes it on without the token."""
        if scope["type"] != "http":
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", []),
                    *((name.lower().encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        answer = self._refusal(scope)
        if answer is not None:
            answer.headers["Connection"] = "close"  # without the token nobody asks again and again
            await answer(scope, receive, marked)
            return
        rest = str(scope["path"])[len(self._token) + 1 :]
        await self._app({**scope, "path": rest, "raw_path": rest.encode(), "root_path": ""}, receive, marked)

    def _refusal(self, scope: Scope) -> Response | None:
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or _host_name(hosts[0]) not in HOSTS:
            return PlainTextResponse(f"This server answers only as {', '.join(HOSTS)}.", status_code=403)
        if scope["method"] != "GET":
            return PlainTextResponse("Only GET is answered.", status_code=405, headers={"Allow": "GET"})
        first, slash, _ = str(scope["path"])[1:].partition("/")
        if not secrets.compare_digest(first.encode(), self._token.encode()):
            return PlainTextResponse(
                "The address lacks the token, which is drawn anew for each run: open the whole address that "
                "clevrhope browse printed.",
                status_code=403,
            )
        if not slash:
            return Response(status_code=307, headers={"Location": f"{self._token}/"})
        return None


def _host_name(host: str) -> str:
    """A Host header without its port."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower()
