"""A server on this machine that speaks the part of the Hugging Face hub's interface that downloads need.

`files`: {"owner/name": {"file": bytes}}. `answers`: what befalls the next GETs, in turn: "whole", "slow" (nothing comes
until `released`), "corrupt", "cut" (half of it, then the connection ends).
"""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import threading

NOWHERE = "http://127.0.0.1:9"  # no server listens at the port of `discard`


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self._answer(body=False)

    def do_GET(self):
        self._answer(body=True)

    def _answer(self, body):
        server, parts = self.server, self.path.split("?")[0].strip("/").split("/")
        server.requests.append((self.command, self.path))
        if parts == [""]:
            return self._end(200, b"hub", body)
        if len(parts) < 5 or parts[2] != "resolve":
            return self._end(404, b"", body, {"X-Error-Code": "RepoNotFound"})
        repo, revision, file = "/".join(parts[:2]), parts[3], "/".join(parts[4:])
        if repo not in server.files:
            return self._end(404, b"", body, {"X-Error-Code": "RepoNotFound"})
        if revision not in ("main", server.commit):
            return self._end(404, b"", body, {"X-Error-Code": "RevisionNotFound"})
        content = server.files[repo].get(file)
        if content is None:
            return self._end(404, b"", body, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": server.commit})
        etag = hashlib.sha256(content).hexdigest()
        headers = {"ETag": f'"{etag}"', "X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(len(content))}
        headers |= {"X-Repo-Commit": server.commit, "Accept-Ranges": "bytes"}
        return self._end(200, content, body, headers)

    def _end(self, status, content, body, headers=None):
        begin = 0
        wanted = self.headers.get("Range")
        if body and status == 200 and wanted:
            begin = int(wanted.removeprefix("bytes=").split("-")[0])
            status, headers = (
                206,
                {**(headers or {}), "Content-Range": f"bytes {begin}-{len(content) - 1}/{len(content)}"},
            )
        answer = self.server.answers.pop(0) if body and content != b"hub" and self.server.answers else "whole"
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        if not body:
            return
        if answer == "slow":
            self.server.released.wait(30)
        if answer == "corrupt":
            content = bytes(len(content))
        if answer == "cut":
            self.wfile.write(content[begin : (begin + len(content)) // 2])
            self.wfile.flush()
            self.close_connection = True
            return
        self.wfile.write(content[begin:])

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Clients that went away are no news."""


@contextlib.contextmanager
def hub():
    """The server, until the end of the block; `url` is its address."""
    with Server(("127.0.0.1", 0), Handler) as server:
        server.files, server.answers, server.requests = {}, [], []
        server.commit, server.released = "0123456789abcdef0123456789abcdef01234567", threading.Event()
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.released.set()
        server.shutdown()
