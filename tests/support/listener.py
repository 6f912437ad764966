"""Somebody who listens on a port of this machine: a stranger, or a proxy."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class Listener:
    """Answers every request with a page, and writes down what came: its first line, and the key
    that it brought.

    A proxy that is asked for an address gets the whole address in the first line.
    """

    def __init__(self, page: bytes = b"<html>") -> None:
        lines = self.lines = list[str]()
        keys = self.keys = list[str | None]()

        class Page(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                lines.append(self.requestline)
                keys.append(self.headers["Authorization"])
                self.rfile.read(int(self.headers["Content-Length"] or 0))
                self.send_response(200)
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

            def do_POST(self) -> None:
                self.do_GET()

            def do_CONNECT(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        turn = {"poll_interval": 0.01}
        threading.Thread(target=self._server.serve_forever, kwargs=turn).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
