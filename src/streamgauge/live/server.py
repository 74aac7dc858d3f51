"""The server of the live page: loopback only, read-only, for this machine's names only."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import time
from collections.abc import AsyncIterator
from importlib import resources
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from streamgauge.errors import NotReady
from streamgauge.live import exposition
from streamgauge.live.follow import PERIOD_S, Chosen, Follower
from streamgauge.live.server_events import message, waiting

HOST = "127.0.0.1"
REPORT_S = 60.0
"""How long to wait for a run's report after the run's end."""
LINGER_S = 5.0
"""How long viewers may take to fetch the report when the run that started us is over."""
_FETCH_S = 1.0
"""How long a viewer may take to ask for the report before it no longer counts as a viewer."""
_ALIVE_S = 15.0
"""The longest silence of a stream: writing to it shows whether its viewer is gone."""
_OUR_NAMES = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?", re.IGNORECASE)
_PAGE = {
    "/": ("index.html", "text/html"),
    "/live.css": ("live.css", "text/css"),
    "/live.js": ("live.js", "text/javascript"),
}
_OWN = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:"
_REPORT = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline';"
_REPORT += " img-src data: blob:; font-src data:"


class Page:
    """What the server answers, and how many viewers it has."""

    def __init__(self, chosen: Chosen, *, metrics: bool = False) -> None:
        self.chosen = chosen
        self.viewers = 0
        self.closing = False
        """Whether every stream is to end."""
        self._ending_s: float | None = None
        routes = [Route(path, self._asset) for path in _PAGE]
        routes += [Route("/events", self._events), Route("/report.html", self._report)]
        if metrics:
            routes.append(Route("/metrics", self._metrics))
        self.app = Starlette(routes=routes, middleware=[Middleware(_OnlyThisMachine)])

    def end(self) -> None:
        """Start to end: viewers of a finished run may still fetch its report."""
        self._ending_s = time.monotonic()

    def may_close(self) -> bool:
        """Return whether we were asked to end and no viewer needs us any more."""
        if self._ending_s is None:
            return False
        passed_s = time.monotonic() - self._ending_s
        if not self.viewers or passed_s > LINGER_S:
            return True
        follower = self.chosen.follower()
        unfinished = follower is None or follower.running
        return unfinished and passed_s > 2 * PERIOD_S  # it may have ended since the last look

    async def _asset(self, request: Request) -> Response:
        name, media_type = _PAGE[request.url.path]
        content = resources.files("streamgauge.live").joinpath("page", name).read_bytes()
        return Response(content, media_type=media_type, headers=_headers(_OWN))

    async def _report(self, _: Request) -> Response:
        follower = self.chosen.follower()
        if follower is None or follower.report is None:
            return PlainTextResponse("there is no report yet", 404, headers=_headers(_OWN))
        return FileResponse(follower.report, media_type="text/html", headers=_headers(_REPORT))

    async def _metrics(self, _: Request) -> Response:
        text = exposition.write(self.chosen.follower())
        return Response(text, headers={**_headers(_OWN), "content-type": exposition.CONTENT_TYPE})

    async def _events(self, request: Request) -> Response:
        headers = _headers(_OWN)
        if request.method == "HEAD":
            return Response(media_type="text/event-stream", headers=headers)
        stream = self._stream(request.headers.get("last-event-id"))
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    async def _stream(self, position: str | None) -> AsyncIterator[str]:
        """Send news until nothing more will come; cancelled when the viewer is gone."""
        self.viewers += 1
        try:
            yield "retry: 1000\n\n"
            before: object = ()
            said_s = time.monotonic()
            while not self.closing:
                follower = self.chosen.follower()
                last = follower is not None and self._is_last(follower)
                news = follower and (follower.position, follower.record, follower.report, last)
                if news != before:
                    yield self._message(follower, position, last=last)
                    position = follower.position if follower is not None else None
                    before, said_s = news, time.monotonic()
                elif time.monotonic() - said_s > _ALIVE_S:
                    yield ": still here\n\n"
                    said_s = time.monotonic()
                if last:
                    await asyncio.sleep(_FETCH_S)
                    return
                await asyncio.sleep(PERIOD_S)
        finally:
            self.viewers -= 1

    def _message(self, follower: Follower | None, position: str | None, *, last: bool) -> str:
        if follower is None:
            return waiting(str(self.chosen.runs), time.time())
        return message(follower, follower.since(position), time.time(), last=last)

    def _is_last(self, follower: Follower) -> bool:
        """Return whether a run is over and its report exists or is no longer expected."""
        if follower.running:
            return False
        expected = follower.over_for_s() < REPORT_S and self._ending_s is None
        return follower.report is not None or not expected


class _OnlyThisMachine:
    """Refuses requests to another host name: another site's page, sent here by its own DNS."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        hosts = [value for name, value in scope.get("headers", []) if name == b"host"]
        app = self._app
        if len(hosts) != 1 or not _OUR_NAMES.fullmatch(hosts[0]):
            text = "this page is for the machine it runs on: use http://127.0.0.1 or localhost"
            app = PlainTextResponse(text, 403, headers=_headers(_OWN))
        await app(scope, receive, send)


class _Server(uvicorn.Server):
    """Ends at once on Ctrl-C; on SIGTERM it gives the viewers a moment."""

    def __init__(self, config: uvicorn.Config, page: Page) -> None:
        super().__init__(config)
        self._page = page

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if sig == signal.SIGTERM:
            self._page.end()
        else:
            self.should_exit = self._page.closing = True

    async def on_tick(self, counter: int) -> bool:
        if self._page.may_close():
            self.should_exit = self._page.closing = True
        return await super().on_tick(counter)


def listen(port: int) -> socket.socket:
    """Listen on a port of this machine; 0 for any that is free.

    Raises:
        NotReady: The port is not available.
    """
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise NotReady(
            f"cannot listen on port {port}: {os.strerror(error.errno or 0)}",
            "choose another with --port, or leave it out for a free one",
        ) from None


def address(listening: socket.socket) -> str:
    """Return the address of the page."""
    return f"http://{HOST}:{listening.getsockname()[1]}/"


def serve(page: Page, listening: socket.socket) -> None:
    """Serve until we are asked to end."""
    config = uvicorn.Config(
        page.app,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    _Server(config, page).run(sockets=[listening])


def _headers(policy: str) -> dict[str, str]:
    return {
        "cache-control": "no-store",
        "content-security-policy": f"{policy}; frame-ancestors 'none'; base-uri 'none'",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
