"""Servers that speak an API almost as others do: each is replayed, or refused before the first row
with what to do about it; and what is said of it is true."""

import gzip
import json
import unittest

from harness import Case
from preflight_test import AROUND, CHAT, LISTED, MODELS, Odd, whole
from raw_server import DONE, stream

ROWS = 4
LENGTH = 20  # tokens of each answer


def event(delta, **more):
    chunk = {"id": "r", "choices": [{"index": 0, "delta": delta}], **more}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def counts(prompt, output, **more):
    told = {"prompt_tokens": prompt, "completion_tokens": output, **more}
    return b"data: " + json.dumps({"id": "r", "choices": [], "usage": told}).encode() + b"\n\n"


def length_of(ask):
    return ask.body.get("max_completion_tokens") or ask.body["max_tokens"]


def answer(ask, deltas=None, told=True):
    """A stream of as many deltas as were asked for; `told`: with a usage, or with these bytes."""
    made = length_of(ask)
    deltas = deltas or (lambda i: {"content": "a"})
    last = counts(len(ask.words) + AROUND, made) if told is True else told or b""
    return stream(*(event(deltas(i)) for i in range(made)), *([last] if last else []), DONE)


def complete(ask, status="200 OK", kind="application/json"):
    """The same, not streamed."""
    made = length_of(ask)
    body = json.dumps({
        "id": "r-%d" % ask.times, "object": "chat.completion",
        "choices": [{"index": 0, "message": {"content": "a " * made}}],
        "usage": {"prompt_tokens": len(ask.words) + AROUND, "completion_tokens": made},
    }).encode()  # fmt: skip
    head = "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (status, kind, len(body))
    return head.encode() + body


def refusal(status, said):
    return whole(json.dumps({"error": {"message": said}}), status)


class Quirks(Case):
    def trace(self):
        rows = ({"timestamp": 20 * i, "input_length": 30, "output_length": LENGTH - i,
                 "hash_ids": [i]} for i in range(ROWS))  # fmt: skip
        return self.write("trace.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def run_of(self, chat, *flags, answers=None):
        with Odd({CHAT: chat, **(answers or {})}) as server:
            run = self.replay(self.trace(), "--url", server.url, *flags)
        self.asked = server.asked
        return run

    def outcomes(self, run):
        self.assertTrue(run.folder.exists(), run.complained)
        return [record["outcome"] for _, record in sorted(run.records().items())]

    def all_ok(self, run):
        self.assertEqual(run.code, 0, run.said + run.complained)
        self.assertEqual(self.outcomes(run), ["ok"] * ROWS)
        return list(run.records().values())

    def refused(self, run):
        """Exit code 4, no folder, one line."""
        self.assertEqual(run.code, 4, run.said + run.complained)
        self.assertFalse(run.folder.exists())
        (line,) = [line for line in run.complained.splitlines() if "preflight: " in line]
        return line

    def test_no_usage(self):
        """Nothing is counted: no flag can help, and the overhead is not measured."""
        run = self.run_of(lambda ask: answer(ask, told=None))
        self.all_ok(run)
        self.assertIn("overhead (tokens around each prompt) unknown, counted as 0", run.said)
        self.assertNotIn("0+0 tokens", run.said)
        self.assertIn("warning: the server counts no prompt tokens: its overhead is unknown",
                      run.complained)
        self.assertIn(f"{ROWS} rows: the server counts no tokens: its usage is missing or 0", run.said)
        self.assertNotIn("--continuous-usage", run.said + run.complained)
        told = self.run_of(lambda ask: answer(ask, told=None), "--overhead", "3,1")
        self.assertNotIn("warning: the server counts no prompt", told.complained)

    def test_parts_that_are_refused(self):
        """Each alone, two of them one after the other, and two without a word."""
        def strict(*members, words="Unknown parameter: '%s'.", status="400 Bad Request"):
            def chat(ask):
                for member in members:
                    if member in ask.body:
                        return refusal(status, words and words % member)
                return answer(ask, told=True if "stream_options" in ask.body else None)

            return chat

        for chat, options, eos, length in (
            (strict("stream_options"), False, True, None),
            (strict("stream_options", "ignore_eos"), False, False, None),
            (strict("stream_options", "ignore_eos", words="", status="422 No"), False, False, None),
            (strict("max_completion_tokens"), True, True, "max_tokens"),
            (strict("max_completion_tokens", "ignore_eos"), True, False, "max_tokens"),
            (strict("ignore_eos", "max_completion_tokens", "stream_options"), False, False,
             "max_tokens"),
        ):  # fmt: skip
            run = self.run_of(chat)
            self.all_ok(run)
            found = run.json("run.json")
            self.assertEqual(found["preflight"]["stream_options"], options)
            self.assertEqual(found["preflight"]["ignore_eos"], eos)
            self.assertEqual(found["request"]["length_member"], length)
            self.assertEqual("warning: the server refuses stream_options" in run.complained,
                             not options)
        detail = {"detail": [{"type": "extra_forbidden", "loc": ["body", "max_completion_tokens"],
                              "msg": "Extra inputs are not permitted"}]}  # fmt: skip
        run = self.run_of(lambda ask: whole(json.dumps(detail), "422 Unprocessable")
                          if "max_completion_tokens" in ask.body else answer(ask))
        self.all_ok(run)
        self.assertIn("rows are sent with max_tokens", run.said)

    def test_temperature_that_is_refused(self):
        def chat(ask):
            if ask.body.get("temperature") == 0:
                return refusal("400 Bad Request", "Unsupported value: 'temperature' does not "
                               "support 0 with this model.")  # fmt: skip
            return answer(ask)

        self.assertIn("--extra-body '{\"temperature\":1}'", self.refused(self.run_of(chat)))
        self.all_ok(self.run_of(chat, "--extra-body", '{"temperature":null}'))

    def test_pages_of_models(self):
        """A page that cannot be asked for, that is compressed, or that is a web page."""
        for status in ("404 Not Found", "405 Method Not Allowed", "501 Not Implemented"):
            page = whole('{"detail":"Not Found"}', status)
            said = self.refused(self.run_of(answer, answers={MODELS: page}))
            self.assertIn("named no model; name it with --model", said)
            self.assertNotIn("POST", said)
            self.all_ok(self.run_of(answer, "--model", "m", answers={MODELS: page}))
        packed = gzip.compress(LISTED.encode())
        head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
        said = self.refused(self.run_of(answer, answers={
            MODELS: (head % len(packed)).encode() + packed}))  # fmt: skip
        self.assertIn("answered 200 (content-encoding: gzip) and named no model; the server "
                      "compresses its answers", said)
        page = whole("<!DOCTYPE html><html><head><title>Sign in</title></head></html>")
        said = self.refused(self.run_of(answer, answers={MODELS: page}))
        self.assertIn("answered 200 (a web page: Sign in) and named no model; check --url", said)
        page = whole("<html><body>Forbidden</body></html>", "403 Forbidden")
        said = self.refused(self.run_of(answer, answers={MODELS: page}))
        self.assertIn("answered 403 (Forbidden) and named no model; check --api-key", said)
        self.assertIn("--header", said)

    def test_whole_answers(self):
        """Where a stream was asked for, with any type; and a stream where it was not."""
        for kind in ("application/json", "text/event-stream"):
            run = self.run_of(lambda ask, kind=kind: complete(ask, kind=kind))
            self.assertIn("was answered 200: a whole answer, though a stream was asked for; "
                          "--no-stream asks for unstreamed answers", self.refused(run))  # fmt: skip
            self.assertEqual(self.asked[CHAT], 1)
        self.all_ok(self.run_of(complete, "--no-stream"))
        self.assertIn("was answered 200: a stream, though a whole answer was asked for; remove "
                      "--no-stream", self.refused(self.run_of(answer, "--no-stream")))  # fmt: skip

    def test_answers_that_no_row_can_be_read_from(self):
        def packed(ask):
            return complete(ask).replace(b"Content-Type", b"Content-Encoding: br\r\nContent-Type")

        self.assertIn("was answered 200: content-encoding: br; the server compresses its answers",
                      self.refused(self.run_of(packed)))
        page = b"<html><title>Maintenance</title></html>"
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(page)
        self.assertIn("was answered 200: content-type: text/html, which says: Maintenance; check "
                      "--url, --endpoint and --api", self.refused(self.run_of(lambda _: head + page)))  # fmt: skip

    def test_errors_that_look_alike(self):
        """Whole answers that differ behind what the screen has room for are one line there."""
        run = self.run_of(complete, "--no-preflight", "--model", "m")
        self.assertEqual(self.outcomes(run), ["bad_content"] * ROWS)
        self.assertEqual(run.said.count("bad_content 200: "), 1)
        self.assertIn(f"{ROWS} rows, bad_content 200: ", run.said)

    def test_text_in_other_members(self):
        """Each chunk is a token, wherever its text is; where nobody knows the member, that is said."""
        for deltas in (
            lambda i: {"content": [{"type": "text", "text": "a"}]},
            lambda i: {"content": [{"type": "thinking", "thinking": [{"type": "text",
                                                                      "text": "a"}]}]},
            lambda i: {"refusal": "a"},
            lambda i: {"thinking": "a"} if i < 3 else {"content": "a"},
            lambda i: {"function_call": {"arguments": "a"}},
        ):  # fmt: skip
            run = self.run_of(lambda ask, deltas=deltas: answer(ask, deltas))
            for record in self.all_ok(run):
                self.assertEqual(len(record["chunk_ns"]), record["output_tokens"])
            self.assertNotIn("no text that driftless knows", run.said + run.complained)
        run = self.run_of(lambda ask: answer(ask, lambda i: {"musing": "a"}))
        self.all_ok(run)
        self.assertIn('warning: answers have text in "musing", which driftless does not read: '
                      "TTFT, TPOT and ITL stay unknown for such rows", run.complained)
        self.assertNotIn("no_tokens", run.said + run.complained)
        run = self.run_of(lambda ask: answer(ask, lambda i: {"musing" if i < 2 else "content": "a"}))
        self.assertIn('in "musing", which driftless does not read: its tokens have no stamps, and '
                      "TTFT may be too high", run.complained)
        self.assertNotIn("tokens came in", run.said)

    def test_usage_of_zeros(self):
        """It is no count: neither of the prompt nor of the answer."""
        run = self.run_of(lambda ask: answer(ask, told=counts(0, 0)))
        for record in self.all_ok(run):
            self.assertIsNone(record["prompt_tokens"])
            self.assertEqual(record["tokens_source"], "chunks")
            self.assertEqual(record["output_tokens"], LENGTH - record["row"])
        self.assertIn("the server's usage has no prompt_tokens", run.said)
        self.assertNotIn("per 1,000", run.said)
        run = self.run_of(lambda ask: answer(ask, told=counts(len(ask.words) + AROUND, 0)))
        for record in self.all_ok(run):
            self.assertEqual(record["prompt_tokens"], 30)
            self.assertEqual(record["output_tokens"], LENGTH - record["row"])

    def test_usage_in_floats(self):
        run = self.run_of(lambda ask: answer(
            ask, told=counts(float(len(ask.words) + AROUND), float(length_of(ask)))))  # fmt: skip
        for record in self.all_ok(run):
            self.assertEqual((record["prompt_tokens"], record["tokens_source"]), (30, "usage"))

    def test_a_cache_of_the_latest_prompt(self):
        """A slot of llama.cpp holds no other: the split is found all the same."""
        pre = 3
        latest = []

        def chat(ask):
            pairs = zip(ask.words, latest)
            same = next((i for i, (a, b) in enumerate(pairs) if a != b), len(ask.words))
            cached = pre + same if latest else 0
            latest[:] = ask.words
            return answer(ask, told=counts(len(ask.words) + AROUND, length_of(ask),
                                           prompt_tokens_details={"cached_tokens": cached}))  # fmt: skip

        run = self.run_of(chat)
        self.all_ok(run)
        self.assertIn(f"server: overhead {pre}+{AROUND - pre} tokens (usage, split by cached tokens)",
                      run.said)
        self.assertIn("server: cache blocks of 1 token (by cached tokens)", run.said)

    def test_reasoning_beside_the_count(self):
        """xAI and Gemini leave hidden tokens out of completion_tokens; the total has them."""
        def told(ask, **more):
            made = length_of(ask)
            return counts(len(ask.words) + AROUND, made - made // 2, **more)

        run = self.run_of(lambda ask: answer(ask, told=told(
            ask, total_tokens=len(ask.words) + AROUND + length_of(ask))))  # fmt: skip
        for record in self.all_ok(run):
            self.assertEqual(record["output_tokens"], LENGTH - record["row"])
        run = self.run_of(lambda ask: answer(ask, told=told(ask)))
        self.assertEqual(run.code, 0)
        self.assertIn("latencies cover only the 0 ok rows; --output cap accepts", run.said)
        self.assertEqual(self.outcomes(run), ["short_output"] * ROWS)
        self.assertIn("usage counts 4 tokens and 8 chunks had text: it leaves some out",
                      run.complained)

    def test_answers_of_a_least_length(self):
        """Rows that ask for less than the server was seen to accept are counted before the start."""
        def chat(ask):
            least = refusal("400 Bad Request", "max_tokens must be at least 16")
            return answer(ask) if length_of(ask) >= 16 else least

        rows = "".join(json.dumps({"timestamp": 20 * i, "input_length": 30, "hash_ids": [i],
                                   "output_length": 14 + i}) + "\n" for i in range(ROWS))  # fmt: skip
        with Odd({CHAT: chat}) as server:
            run = self.replay(self.write("least.jsonl", rows), "--url", server.url)
        self.assertIn("warning: 2 of 4 rows ask for fewer than the 16 tokens", run.complained)

    def test_answers_that_are_cut(self):
        """A limit that the probe does not reach: the screen says whose latencies are shown."""
        def chat(ask):
            made = min(length_of(ask), LENGTH - ROWS + 1)
            ask.body = {"max_tokens": made}
            return answer(ask)

        run = self.run_of(chat)
        self.assertEqual(self.outcomes(run), ["short_output"] * (ROWS - 1) + ["ok"])
        self.assertIn("latencies cover only the 1 ok rows; --output cap accepts", run.said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
