"""A server that says what a test wants, byte by byte. Standard library only."""

import contextlib
import socket
import struct
import threading

from harness import row_of

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
OPEN = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"


def chunk(body):
    return b"%x\r\n%s\r\n" % (len(body), body)


def token(text=b"a"):
    return b'data: {"id":"r","choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' % text


def usage(prompt, output):
    return (
        b'data: {"id":"r","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}\n\n'
        % (prompt, output)
    )


def stream(*events):
    """A whole chunked answer of these events."""
    return OPEN + b"".join(chunk(event) for event in events) + END


class Peer:
    """The server's end of one connection."""

    def __init__(self, connection):
        self.connection = connection
        self.stored = b""
        self.head = ""
        self.sent = 0

    def read_head(self):
        """The next request's head; empty where the client has left."""
        while b"\r\n\r\n" not in self.stored:
            received = self.connection.recv(65536)
            if not received:
                return ""
            self.stored += received
        head, self.stored = self.stored.split(b"\r\n\r\n", 1)
        self.head = head.decode()
        return self.head

    def read_body(self):
        """That of the head that was read last."""
        left = int(field(self.head, "content-length")) - len(self.stored)
        self.stored = b""
        while left > 0:
            left -= len(self.connection.recv(min(left, 1 << 20))) or left

    def say(self, answer):
        self.connection.sendall(answer)
        self.sent += len(answer)

    def say_until_told_to_stop(self, piece):
        """As long as the client listens: it must be the client who ends this."""
        while True:
            self.say(piece)

    def hang_up(self):
        """Reset, whatever is in the buffers."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()


def field(head, name):
    for line in head.split("\r\n")[1:]:
        key, value = line.split(":", 1)
        if key.lower() == name:
            return value.strip()
    raise AssertionError(f"no {name} in {head!r}")


class RawServer:
    """Answers row N by `answers[N](peer)`, or with those bytes; then the connection is closed. A
    row of `unread` is answered at its head. `sent[N]` are the bytes of its answer that left."""

    def __init__(self, answers, unread=(), receive_buffer=None):
        self.answers = answers
        self.unread = set(unread)
        self.sent = {}
        self.asked = []
        self.listening = socket.socket()
        if receive_buffer:  # inherited by what is accepted
            self.listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.listening.bind(("127.0.0.1", 0))
        self.listening.listen(1024)
        self.url = "http://127.0.0.1:%d" % self.listening.getsockname()[1]
        self.connections = []
        self.threads = [threading.Thread(target=self.accept)]

    def __enter__(self):
        self.threads[0].start()
        return self

    def __exit__(self, *_):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.threads[0].join()
        self.listening.close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self.threads[1:]:
            thread.join()

    def accept(self):
        with contextlib.suppress(OSError):  # the listening socket was shut down
            while True:
                connection, _ = self.listening.accept()
                self.connections.append(connection)
                self.threads.append(threading.Thread(target=self.serve, args=(connection,)))
                self.threads[-1].start()

    def serve(self, connection):
        peer = Peer(connection)
        with contextlib.suppress(OSError), connection:  # the client may leave at any time
            head = peer.read_head()
            if not head:
                return
            row = row_of(field(head, "x-request-id"))
            self.asked.append(row)
            if row not in self.unread:
                peer.read_body()
            answer = self.answers[row]
            try:
                answer(peer) if callable(answer) else peer.say(answer)
            finally:
                self.sent[row] = peer.sent
