"""Every outcome of the contract, provoked over real sockets, with its record and exit code."""

import json
import pathlib
import socket
import time
import unittest

from harness import Case, row_of
from raw_server import DONE, END, HEAD, OPEN, RawServer, chunk, field, stream, token, usage

NO_SUCCESS = 5
ASKED = 4
BLIND = ("--no-preflight", "--model", "m")
ROOT = pathlib.Path(__file__).resolve().parents[2]

# Who provokes the others: what has a test already is not tested twice.
ELSEWHERE = {
    "timeout_idle": "limits_test.py",
    "timeout_total": "limits_test.py",
    "http_429": "mock_test.py",
    "http_5xx": "refusal_test.py",
    "stream_error": "mock_test.py",
    "bad_event": "mock_test.py",
    "abandoned": "abandon_test.py",
    "cancelled": "interrupt_test.py",
    "interrupted": "resume_test.py",
    "not_sent": "interrupt_test.py",
    "tls_failed": "tls_test.py",
    "client_failed": "lacks_test.py",
}

GOOD = stream(token(), token(), token(), token(), usage(600, ASKED), DONE)
EVENTS_MAX = 4 * ASKED + 64
EVENT_BYTES_MAX = (1 << 20) + 64 * (600 + ASKED)
BYTES_MAX = EVENTS_MAX * 4096 + (16 << 20) + EVENT_BYTES_MAX
COMMENT = b":" + b"x" * 65533 + b"\n\n"


def answer(status, content_type, body, *fields):
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", *fields]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""])
    return head.encode() + body


def page(status, body, *fields):
    return answer(status, "application/json", json.dumps(body).encode(), *fields)


def endless(peer, piece):
    peer.say(OPEN)
    peer.say_until_told_to_stop(chunk(piece))


def large(piece, count):
    return lambda peer: [peer.say(part) for part in (OPEN, *[chunk(piece)] * count, END)]


# (what the server does, outcome, status, part of `error`, tokens)
WHOLE = "whole"  # the framing is complete: every byte counts and `done_ns` stands
CASES = {
    "a good answer": (GOOD, "ok", 200, None, WHOLE),
    "interim answers": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + GOOD,
        "ok", 200, None, WHOLE,
    ),
    "fewer tokens than asked": (
        stream(token(), token(), usage(600, 2), DONE), "short_output", 200, None, WHOLE,
    ),
    "more tokens than asked": (
        stream(*[token()] * (ASKED + 1), usage(600, ASKED + 1), DONE), "long_output", 200, None,
        WHOLE,
    ),
    "a role and no token": (
        stream(b'data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n', DONE),
        "no_tokens", 200, None, WHOLE,
    ),
    "a redirect": (
        page("307 Temporary Redirect", {}, "Location: /elsewhere"), "http_3xx", 307, None, WHOLE,
    ),
    "a refusal": (
        page("404 Not Found", {"error": {"message": "no such model"}}),
        "http_4xx", 404, "no such model", WHOLE,
    ),
    "an answer that is no stream": (
        page("200 OK", {"choices": []}), "bad_content", 200, '{"choices": []}', WHOLE,
    ),
    "a proxy's page": (
        answer("200 OK", "text/html", b"<html>sign in</html>"),
        "bad_content", 200, "sign in", WHOLE,
    ),
    "a compressed stream": (
        HEAD + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08",
        "bad_content", 200, "content-encoding: gzip", WHOLE,
    ),
    "another success": (
        b"HTTP/1.1 204 No Content\r\n\r\n", "bad_content", 204, None, WHOLE,
    ),
    "another protocol": (b"SSH-2.0-OpenSSH_9.2\r\n", "bad_http", None, None, None),
    "a broken chunk size": (OPEN + b"zz\r\n", "bad_http", 200, None, None),
    "a close before the head": (b"", "truncated", None, None, None),
    "a close inside the head": (b"HTTP/1.1 200 OK\r\nConten", "truncated", None, None, None),
    "a close inside the stream": (OPEN + chunk(token()), "truncated", 200, None, None),
    "a close without the end marker": (
        HEAD + b"Connection: close\r\n\r\n" + token(), "truncated", 200, None, WHOLE,
    ),
    "a close behind the end marker": (
        HEAD + b"Connection: close\r\n\r\n" + token() * 4 + usage(600, 4) + DONE,
        "ok", 200, None, WHOLE,
    ),
    "a head that never ends": (
        lambda peer: [peer.say(b"HTTP/1.1 200 OK\r\n"),
                      peer.say_until_told_to_stop(b"X-Cookie: %s\r\n" % (b"c" * 1000))],
        "limit_exceeded", None, "65536 bytes", None,
    ),
    "too many fields": (
        HEAD + b"X-A: b\r\n" * 300 + b"\r\n", "limit_exceeded", None, "256 fields", None,
    ),
    "an event over its limit": (
        large(b"data: " + b"x" * EVENT_BYTES_MAX, 1), "limit_exceeded", 200,
        f"its limit of {EVENT_BYTES_MAX}", WHOLE,
    ),
    "events without end": (
        lambda peer: endless(peer, token()), "limit_exceeded", 200,
        f"more events than its limit of {EVENTS_MAX}", None,
    ),
    "bytes without end": (
        lambda peer: endless(peer, COMMENT * 4), "limit_exceeded", 200,
        f"more bytes than its limit of {BYTES_MAX}", None,
    ),
    "an event without end": (
        lambda peer: endless(peer, b"x" * 65536), "limit_exceeded", 200,
        f"more bytes than its limit of {BYTES_MAX}", None,
    ),
    "silence": (lambda peer: peer.read_head(), "timeout_first_byte", None, None, None),
}


class Outcomes(Case):
    def trace(self, count, length=600):
        blocks = list(range(-(-length // 512)))
        rows = [
            {"timestamp": 20 * row, "input_length": length, "output_length": ASKED,
             "hash_ids": blocks}
            for row in range(count)
        ]
        return self.write("trace.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def keys(self):
        schema = json.loads((ROOT / "proto/run/record.schema.json").read_text())
        return {key: facts for key, facts in schema["properties"].items() if key != "shard"}  # of merged runs

    def check_failed_alone(self, run, outcome):
        """Every row failed in this way: exit code 5, and nothing that a success would say."""
        records = run.records()
        self.assertEqual(run.code, NO_SUCCESS, run.said + run.complained)
        self.assertEqual({record["outcome"] for record in records.values()}, {outcome})
        for record in records.values():
            self.assertEqual(set(record), set(self.keys()))
            for key in ("headers_ns", "first_token_ns", "done_ns", "ttft_ns", "status"):
                self.assertIsNone(record[key], key)
        return records

    def test_what_a_server_can_say(self):
        """One run, one row a case; the exit code is 0: failed requests are data."""
        answers = {row: case[0] for row, case in enumerate(CASES.values())}
        with RawServer(answers) as server:
            run = self.replay_well(
                self.trace(len(CASES)), "--url", server.url, *BLIND,
                "--timeout-first-byte", "3s",
            )
        records = run.records()
        self.assertEqual(len(records), len(CASES))
        for row, record in records.items():  # on a slow machine a connection may grow stale first
            self.assertEqual(server.asked.count(row), 1 + record["stale_retries"], "requests a row")
        for row, (name, case) in enumerate(CASES.items()):
            with self.subTest(name):
                self.check(records[row], case, server.sent[row])
        counts = run.json("summary.json")["outcomes"]
        for outcome in {case[1] for case in CASES.values()}:
            expected = sum(case[1] == outcome for case in CASES.values())
            self.assertEqual(counts[outcome], expected, outcome)

    def check(self, record, case, sent):
        _, outcome, status, says, framing = case
        self.assertEqual(record["outcome"], outcome, json.dumps(record)[:2000])
        self.assertEqual(record["status"], status)
        self.assertEqual(set(record), set(self.keys()))
        self.assertGreaterEqual(record["drift_ns"], 0)
        self.assertGreaterEqual(record["ended_ns"], record["fired_ns"])
        self.assertEqual(record["headers_ns"] is None, status is None)
        self.assertEqual(record["done_ns"] is not None, framing == WHOLE)
        if framing == WHOLE:
            self.assertEqual(record["bytes_received"], sent)
        self.assertLessEqual(record["bytes_received"], BYTES_MAX + (1 << 20))
        self.assertEqual(record["ttft_ns"] is None, record["first_token_ns"] is None)
        if outcome in ("ok", "short_output", "long_output"):
            self.assertIsNone(record["error"])
            self.assertEqual(record["output_tokens"], len(record["chunk_ns"]))
        elif says is not None:
            self.assertIn(says, record["error"])

    def test_limits_are_exact(self):
        """As many events as are allowed, and one more; as large an event as is allowed."""
        exact = b"data: " + b" " * (EVENT_BYTES_MAX - len(token())) + token()[6:]
        self.assertEqual(len(exact), EVENT_BYTES_MAX)
        answers = {
            0: stream(*[token()] * (EVENTS_MAX - 1), DONE),
            1: stream(*[token()] * EVENTS_MAX, DONE),
            2: stream(exact, DONE),
            3: stream(exact.replace(b"data: ", b"data:  "), DONE),
        }
        with RawServer(answers) as server:
            run = self.replay_well(
                self.trace(4), "--url", server.url, *BLIND, "--output", "cap"
            )
        outcomes = [record["outcome"] for _, record in sorted(run.records().items())]
        self.assertEqual(outcomes, ["ok", "limit_exceeded", "ok", "limit_exceeded"])

    def test_nobody_listens(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = "http://127.0.0.1:%d" % taken.getsockname()[1]
            run = self.replay(self.trace(3), "--url", url, *BLIND)
        for record in self.check_failed_alone(run, "connect_failed").values():
            self.assertIn("ECONNREFUSED", record["error"])
            self.check_never_left(record)

    def check_never_left(self, record):
        for key in ("fired_ns", "drift_ns", "connect_ns", "connection", "chunk_ns", "sent_ns"):
            self.assertIsNone(record[key], key)
        self.assertEqual(record["bytes_sent"], 0)
        self.assertIsNotNone(record["ended_ns"])

    def test_nobody_accepts(self):
        """A full queue of connections: the kernel drops every further SYN."""
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen(0)
            filled = [socket.socket() for _ in range(4)]
            for one in filled:
                one.setblocking(False)
                one.connect_ex(listening.getsockname())
            url = "http://127.0.0.1:%d" % listening.getsockname()[1]
            run = self.replay(
                self.trace(3), "--url", url, *BLIND, "--timeout-connect", "500ms"
            )
            for one in filled:
                one.close()
        for record in self.check_failed_alone(run, "timeout_connect").values():
            self.check_never_left(record)

    def test_a_request_that_nobody_reads(self):
        """Reset before the whole of a large body was accepted, and before any byte came back."""
        answers = {0: lambda peer: peer.hang_up(), 1: lambda peer: peer.hang_up()}
        with RawServer(answers, unread=answers, receive_buffer=65536) as server:
            run = self.replay(self.trace(2, length=4_000_000), "--url", server.url, *BLIND)
        for record in self.check_failed_alone(run, "send_failed").values():
            self.assertRegex(record["error"], "ECONNRESET|EPIPE")
            self.assertIsNotNone(record["fired_ns"])
            self.assertIsNone(record["sent_ns"])
            self.assertLess(record["bytes_sent"], 16_000_000)

    def test_a_server_that_dies_over_a_request(self):
        """Its close comes long after the request: the row failed, and is nobody's stale retry."""
        asked = []

        def dies(peer):
            peer.say(GOOD)
            while peer.read_head():
                peer.read_body()
                asked.append(row_of(field(peer.head, "x-request-id")))
                time.sleep(1.5)
                return

        rows = [{"timestamp": at, "input_length": 600, "output_length": ASKED, "hash_ids": [1, 2]}
                for at in (0, 700)]
        trace = self.write("two.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        with RawServer({0: dies, 1: GOOD}) as server:
            run = self.replay_well(trace, "--url", server.url, *BLIND, "--connections", "1")
        records = run.records()
        self.assertEqual([records[row]["outcome"] for row in (0, 1)], ["ok", "truncated"])
        self.assertEqual((asked, server.asked), ([1], [0]))
        self.assertTrue(records[1]["reused"])
        self.assertEqual(records[1]["stale_retries"], 0)
        self.assertIsNone(run.json("run.json")["end"]["idle_limit_ns"])

    def test_every_outcome_has_a_test(self):
        """The enum of the schema is what this suite provokes, here or where it says."""
        here = {case[1] for case in CASES.values()}
        here |= {"connect_failed", "timeout_connect", "send_failed"}
        self.assertEqual(here & set(ELSEWHERE), set())
        self.assertEqual(here | set(ELSEWHERE), set(self.keys()["outcome"]["enum"]))
        for outcome, name in ELSEWHERE.items():
            text = (pathlib.Path(__file__).parent / name).read_text()
            self.assertIn(f'"{outcome}"', text, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
