"""A preflight obeys the time limits of the flags, and says what it waited for and what may help."""

import contextlib
import socket
import threading
import time
import unittest

from harness import Case, SAMPLE

PREFLIGHT = 4
LISTED = b'{"data":[{"id":"m"}]}'
MODELS = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(LISTED), LISTED)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
# The limits of these tests are 1 s. The preflight's own are 60 s for each of its requests.
ENOUGH_S = 45


class Silent:
    """Accepts connections, and says `post` to a POST, `get` to a GET, and then nothing more."""

    def __init__(self, get=b"", post=b""):
        self.get, self.post = get, post
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.connections = []
        self.thread = threading.Thread(target=self.accept)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        for one in [self.listening, *self.connections]:
            one.close()

    def accept(self):
        with contextlib.suppress(OSError):  # the listening socket was shut down
            while True:
                connection, _ = self.listening.accept()
                self.connections.append(connection)
                asked = connection.recv(65536)
                connection.sendall(self.get if asked.startswith(b"GET") else self.post)


class PreflightLimits(Case):
    def fail(self, server, scheme, *flags):
        begun = time.monotonic()
        run = self.replay(SAMPLE, "--url", f"{scheme}://127.0.0.1:{server.port}", *flags)
        self.assertEqual(run.code, PREFLIGHT, run.complained)
        self.assertLess(time.monotonic() - begun, ENOUGH_S)
        return run.complained

    def test_a_port_that_never_answers(self):
        with Silent() as server:
            said = self.fail(server, "http", "--timeout-first-byte", "1s")
        self.assertIn("the first byte of an answer did not come within 1 s (--timeout-first-byte); check",
                      said)

    def test_https_to_a_plain_port(self):
        with Silent() as server:
            said = self.fail(server, "https", "--timeout-connect", "1s")
        self.assertIn("the TLS handshake did not end within 1 s (--timeout-connect); if the server speaks "
                      "plain http, use http:// in --url", said)

    def test_headers_and_then_nothing(self):
        with Silent(get=MODELS, post=HEAD) as server:
            said = self.fail(server, "http", "--timeout-first-byte", "1s", "--timeout-idle", "1s",
                             "--timeout-total", "2s")
        self.assertIn("probe of one word", said)
        self.assertIn("nothing more of it came for 1 s (--timeout-idle); see the log of the server", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
