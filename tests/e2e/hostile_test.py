"""A server that means no good, or only says odd things: numbers nobody can count, bytes that move
the terminal's cursor, redirects. What it says is shown harmlessly and believed no further."""

import http.server
import json
import unittest

from harness import Case, SAMPLE, mock
from keeper import served

DONE, PREFLIGHT = 0, 4
NASTY = "\x1b]0;owned\x07\x1b[2Jbad\nkey\x9b31m"


class Odd(http.server.BaseHTTPRequestHandler):
    """Answers as the server object says."""

    protocol_version = "HTTP/1.1"

    def answer(self, status, body, kind="application/json", **headers):
        text = body.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):  # noqa: N802: the name that http.server calls
        if self.server.location:
            return self.answer(308, "", Location=self.server.location)
        if self.server.refusal:
            return self.answer(401, json.dumps({"error": {"message": self.server.refusal}}))
        return self.answer(200, json.dumps({"data": [{"id": self.server.model}]}))

    def do_POST(self):  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            return self.answer(404, "{}")
        asked = body["max_completion_tokens"]
        words = len(body["messages"][0]["content"].split())
        event = {"choices": [{"index": 0, "delta": {"content": "a"}}]}
        usage = {"prompt_tokens": self.server.count(words), "completion_tokens": asked}
        events = [event] * asked + [{"choices": [], "usage": usage}]
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        return self.answer(200, text, "text/event-stream")

    def log_message(self, *_):
        pass


class Hostile(Case):
    def beside(self, *flags, model="m", refusal="", location="", count=lambda words: words + 4):
        server = self.enterContext(served(Odd, model=model, refusal=refusal, location=location,
                                          count=count))  # fmt: skip
        return self.replay(SAMPLE, "--url", server.url, "--limit", 3, "--speed", 50, *flags)

    def test_terminal_gets_no_control_byte(self):
        for flags, server in (
            ((), {"refusal": NASTY}),
            ((), {"model": NASTY}),
            (("--model", "m"), {"model": "other" + NASTY}),
        ):
            run = self.beside(**server)
            for byte in "\x1b\x07\x9b":
                self.assertNotIn(byte, run.said + run.complained, flags)
            self.assertNotIn("bad\nkey", run.said + run.complained)
            self.assertIn("bad\\u000akey", run.said + run.complained)
        self.assertEqual(self.beside(model=NASTY).code, DONE)  # and rows name it as it is

    def test_impossible_counts_are_not_believed(self):
        """Beyond 32 bits, beyond 64, negative for some: no overhead is made of them."""
        for count in (
            lambda words: words + 4 + 2**32,
            lambda words: 2**63 - 1 - words,
            lambda words: -1 if words == 1 else words - 2,
        ):
            run = self.beside(count=count)
            self.assertEqual(run.code, DONE, run.complained)
            self.assertIn("overhead (tokens around each prompt) unknown, counted as 0", run.said)
            for record in run.records().values():
                counted = record["prompt_tokens"]
                self.assertTrue(counted is None or counted < 2**27, counted)

    def test_counts_that_come_and_go_make_no_overhead(self):
        """One word is 5 tokens, then unknown; more of them are 2 less than they are."""
        first = iter([5])
        run = self.beside(count=lambda words: next(first, words - 2))
        self.assertEqual(run.code, PREFLIGHT, run.said)
        self.assertNotIn("429496729", run.said + run.complained)

    def test_a_redirect_leads_to_a_url_that_works(self):
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.beside(location=server.url + "/v1/models")
            self.assertEqual(run.code, PREFLIGHT)
            self.assertIn("use --url " + server.url + "\n", run.complained)
            flags = ("--limit", 3, "--speed", 50)
            self.replay_well(SAMPLE, "--url", run.complained.split()[-1], *flags)
        run = self.beside(location="/v1/models/")
        self.assertIn("on the same server; check the paths", run.complained)


if __name__ == "__main__":
    unittest.main(verbosity=2)
