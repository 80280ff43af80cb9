"""Servers of a test's own, and one that keeps every request and answers it with one token."""

import contextlib
import http.server
import json
import threading

from harness import row_of


class Keeper(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answer = (
        b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n'
        b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\n'
        b"data: [DONE]\n\n"
    )

    def do_POST(self):  # noqa: N802: the name that http.server calls
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.kept.append((self.path, dict(self.headers), body))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512  # of 5, a busy machine drops connections


@contextlib.contextmanager
def served(handler, **members):
    """A server of that handler, at its `url`, with these members for the handler to use."""
    server = Server(("127.0.0.1", 0), handler)
    server.url = f"http://127.0.0.1:{server.server_port}"
    for name, value in members.items():
        setattr(server, name, value)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def keeper():
    """Its `kept` has (path, head, body) of each request."""
    return served(Keeper, kept=[])


def kept_bodies(server):
    """What the server got of each row."""
    return {row_of(head["X-Request-Id"]): json.loads(body) for _, head, body in server.kept}
