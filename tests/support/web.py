"""A web server on this machine that counts what it sends, and misbehaves on demand."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Web:
    """What a server has, and what it has done.

    `files` are bytes by path. `ranges`: whether parts are sent; `length`: whether the length is
    said. `raw`: whole answers by path, which need not be HTTP. `broken`: so many answers from now
    on end in the middle. `redirects`: addresses by path. `statuses`: numbers by path that are
    answered instead, and words for them. With `hangs_up` there are no answers. While `hold` is set,
    only the first bytes are sent. With `too_much` parts are as long as the rest of the file; `took`
    counts what of them was taken.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.statuses: dict[str, tuple[Any, ...]] = {}
        self.raw: dict[str, bytes] = {}
        self.hangs_up = False
        self.ranges = self.length = True
        self.broken = 0
        self.sent = 0
        self.asked: list[str] = []
        self.too_much = False
        self.took = 0
        self.hold = threading.Event()
        self.base = ""

    def put(self, name: str, data: bytes) -> str:
        """Serve bytes; return their address."""
        self.files[f"/{name}"] = data
        return f"{self.base}/{name}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: Web

    def log_message(self, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(False)

    def do_GET(self) -> None:
        self._answer(True)

    def _answer(self, body: bool) -> None:
        web, path = self.web, self.path.partition("?")[0]
        web.asked.append(self.path)
        if path in web.raw:
            self.wfile.write(web.raw[path])
            self.close_connection = True
            return
        if web.hangs_up:
            self.close_connection = True
            return
        status, *words = web.statuses.get(path, (200 if path in web.files else 404,))
        if path in web.redirects or status != 200:
            self.send_response(302 if path in web.redirects else status, *words)
            if path in web.redirects:
                self.send_header("Location", web.redirects[path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        data = web.files[path]
        tag = f'"{hash(data)}"'
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked and web.ranges:
            first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            data = data[first:] if web.too_much else data[first : last + 1]
        else:
            self.send_response(200)
        self.send_header("ETag", tag)
        if web.length:
            self.send_header("Content-Length", str(len(data)))
        else:
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()
        if not body:
            return
        if web.broken:
            web.broken -= 1
            data = data[: len(data) // 2]
            self.close_connection = True
        web.sent += len(data)
        try:
            self.wfile.write(data[:9])
            self.wfile.flush()
            while web.hold.is_set():
                time.sleep(0.02)
            for place in range(9, len(data), 1 << 16):
                self.wfile.write(data[place : place + (1 << 16)])
                web.took += 1 << 16
        except OSError:  # whoever asked has gone
            self.close_connection = True


@contextmanager
def served() -> Iterator[Web]:
    """Run a server as long as the block runs."""
    web = Web()
    kind = type("Handler", (_Handler,), {"web": web})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    web.base = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
