"""A server of the explorer, for this machine alone; Werkzeug is of an extra package."""

import json
import logging
import socket
from collections.abc import Iterable
from threading import Lock
from typing import Any

from werkzeug.exceptions import (
    BadRequest,
    HTTPException,
    MethodNotAllowed,
    NotFound,
    UnsupportedMediaType,
)
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

from datamodules.errors import UserError
from sweeps.explorer.page import Explorer

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
HOSTS = [LOOPBACK, "localhost"]
"""Names by which the server answers: a page of another name must not reach it (DNS rebinding)."""
MOST_BYTES = 2**18
"""Most bytes of a request: a sentence with all of its letters escaped."""
IDLE_SECONDS = 30.0
"""How long a connection may stay silent."""
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
ROUTES = {"/": "GET", "/trace": "POST"}
"""The method of each address."""


class ExplorerApp:
    """The WSGI application: ``GET /`` is the page, ``POST /trace`` translates.

    A request is JSON, ``{"system": number, "source": text}``; so is the answer, a record of
    ``trace_record`` or ``{"error": text}``. One sentence is translated at a time: a request that
    waits longer than ``seconds`` for its turn, or whose search takes longer, gets an error.
    """

    def __init__(self, explorer: Explorer, seconds: float) -> None:
        self._explorer, self._seconds = explorer, seconds
        self._page = explorer.served_page()
        self._turn = Lock()

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        """Answer a request; no request ends the server."""
        request = Request(environ)
        request.trusted_hosts, request.max_content_length = HOSTS, MOST_BYTES
        try:
            response = self._answer(request)
        except HTTPException as error:
            response = _as_json({"error": error.description}, error.code or 500)
        except Exception:
            log.exception("a request failed")
            response = _as_json({"error": "the explorer failed; its terminal says more"}, 500)
        response.headers.extend(HEADERS)
        return response(environ, start_response)

    def _answer(self, request: Request) -> Response:
        _ = request.host  # raises `SecurityError` for a name that is not trusted
        method = ROUTES.get(request.path)
        if method is None:
            raise NotFound("there is no such page")
        if request.method != method:
            raise MethodNotAllowed([method], f"{request.path} is for {method}")
        if method == "GET":
            return Response(self._page, mimetype="text/html")
        system, source = self._question(request)
        if not self._turn.acquire(timeout=self._seconds):
            return _as_json({"error": "another sentence is being translated; try again"}, 503)
        try:
            return _as_json(self._explorer.record(system, source, self._seconds))
        except UserError as error:
            return _as_json({"error": str(error)}, 400)
        finally:
            self._turn.release()

    def _question(self, request: Request) -> tuple[int, str]:
        """Return the number of the system and the sentence of a request.

        A page of another site can send no such request: for JSON a browser asks the server for its
        consent first, which it never gives.
        """
        if request.mimetype != "application/json":
            raise UnsupportedMediaType("give application/json")
        last = len(self._explorer.systems) - 1
        match request.get_json():
            case {"system": int(system), "source": str(source)} if 0 <= system <= last:
                return system, source
        raise BadRequest(f'give {{"system": 0 to {last}, "source": text}}')


def _as_json(content: Any, status: int = 200) -> Response:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    return Response(text, status, mimetype="application/json")


class QuietHandler(WSGIRequestHandler):
    """A handler that logs no request: the terminal is for the address."""

    timeout = IDLE_SECONDS

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""


def make_explorer_server(app: ExplorerApp, port: int) -> BaseWSGIServer:
    """Return a server on the loopback interface. Raises ``UserError`` for a port that is taken."""
    try:
        listening = socket.create_server((LOOPBACK, port))
    except OSError as error:
        why = error.strerror or "cannot be used"
        raise UserError(f"port={port}: {why}; give another, or port=0 for any") from None
    with listening:  # the server has its own copy
        given = listening.fileno()
        return make_server(LOOPBACK, port, app, True, request_handler=QuietHandler, fd=given)
