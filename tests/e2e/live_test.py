"""Conversations that are replayed live: each prompt holds what this server has said in this run."""

import http.server
import json
import unittest

from harness import Case, SAMPLE, mock, read_jsonl, row_of
from keeper import served

TALKS = SAMPLE.parent.parent / "golden" / "traces" / "talks"
WORDS = ['quotes " and \\', "line\nbreak\ttab", "caf\u00e9 \u4f60\u597d \U0001f600", "plain", "\u0001 \u007f", ""]


def history(turns):
    """Rows of a conversation with recorded answers: each has all that was said before it."""
    messages = [{"role": "system", "content": "be brief"}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"question {turn} \u00e9"})
        yield list(messages)
        messages.append({"role": "assistant", "content": f"recorded {turn}"})


class Talker(http.server.BaseHTTPRequestHandler):
    """Streams an answer of its own for each request, and keeps what it was asked and said."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802: the name that http.server calls
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        row = row_of(self.headers["X-Request-Id"])
        said = self.server.say(row, body)
        self.server.asked.append((row, body, said))
        events = [{"choices": [{"delta": delta}]} for delta in said["deltas"]]
        events.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        events.append({"choices": [], "usage": said.get("usage", {"prompt_tokens": 9, "completion_tokens": 1})})
        data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
        data += b"data: [DONE]\n\n"
        self.send_response(said.get("status", 200))
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def talker(say):
    return served(Talker, say=say, asked=[])


class Live(Case):
    def lmcache(self, sessions=1, turns=4, gap=0.0, **more):
        rows = [
            {"session_id": f"s{session}", "model": "m", "input": messages, "output_length": 12,
             "pre_gap": gap, **more}
            for session in range(sessions) for messages in history(turns)
        ]  # fmt: skip
        return self.write("talks.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def replay_live(self, trace, say, *flags):
        with talker(say) as server:
            run = self.replay_well(trace, "--url", server.url, "--model", "m", "--no-preflight",
                                   "--sessions", "closed", *flags)
        return {row: (body, said) for row, body, said in server.asked}, run

    def test_prompts_hold_what_the_server_said(self):
        """Text of any kind comes back to the server as it has said it."""

        def say(row, _body):
            text = WORDS[row % len(WORDS)]
            return {"deltas": [{"role": "assistant", "content": ""}, *({"content": c} for c in text)]}

        trace = self.lmcache(sessions=3, turns=6)
        asked, run = self.replay_live(trace, say, "--assistant", "live", "--output", "cap")
        # An empty answer has no words: its conversation ends there.
        records = list(run.records().values())
        for session in range(3):
            said = []
            for turn in range(6):
                row = session * 6 + turn
                record = next(one for one in records if one["row"] == row)
                body = asked[row][0]
                recorded = list(history(6))[turn]
                expected = [dict(one) for one in recorded]
                for one, text in zip([m for m in expected if m["role"] == "assistant"], said):
                    one["content"] = text
                self.assertEqual(body["messages"], expected)
                self.assertEqual(record["live_turns"], turn or None)
                said.append(WORDS[row % len(WORDS)])
        self.assertEqual(run.json("summary.json")["live"]["turns"], 15)
        self.assertEqual(run.json("run.json")["request"]["live"]["turns"], 15)
        self.assertIn("15 turns contain answers of this run", run.said)

    def test_tool_calls_and_reasoning(self):
        deltas = [
            {"role": "assistant", "reasoning_content": "hm"},
            {"tool_calls": [{"index": 0, "id": "c0", "type": "function",
                             "function": {"name": "ls", "arguments": ""}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": '{"d":'}}]},
            {"tool_calls": [{"index": 1, "id": "c1", "type": "function",
                             "function": {"name": "cat", "arguments": "{}"}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": '"/"}'}}]},
        ]  # fmt: skip
        trace = self.lmcache(turns=2)
        calls = [{"id": "c0", "type": "function", "function": {"name": "ls", "arguments": '{"d":"/"}'}},
                 {"id": "c1", "type": "function", "function": {"name": "cat", "arguments": "{}"}}]  # fmt: skip
        expected = {
            "text,tools": {"role": "assistant", "content": None, "tool_calls": calls},
            "text": {"role": "assistant", "content": ""},
            "reasoning,tools": {"role": "assistant", "content": None, "reasoning_content": "hm",
                                "tool_calls": calls},
        }  # fmt: skip
        for kept, message in expected.items():
            asked, _ = self.replay_live(trace, lambda *_: {"deltas": deltas}, "--assistant", "live",
                                        "--live-keep", kept, "--output", "cap")  # fmt: skip
            self.assertEqual(asked[1][0]["messages"][2], message)

    def test_prompts_keep_their_recorded_length(self):
        """What an answer lacked is filled up, and the record says by how much."""
        rows = [{"session_id": "s", "timestamp": 0, "messages": messages, "input_length": length,
                 "output_length": 8, "delay": 1} for messages, length in
                zip(history(3), (20, 40, 60))]  # fmt: skip
        trace = self.write("lengths.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

        def say(row, _body):
            usage = [(20, 5), (40, 12), (60, 8)][row]
            return {"deltas": [{"content": "a"}],
                    "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}  # fmt: skip

        asked, run = self.replay_live(trace, say, "--assistant", "live", "--output", "free")
        self.assertEqual(asked[1][0]["messages"][-1]["content"], "question 1 \u00e9 the the the")
        self.assertEqual(asked[2][0]["messages"][-1]["content"], "question 2 \u00e9")
        self.assertEqual(asked[2][0]["messages"][3]["content"], "question 1 \u00e9 the the the")
        padded = {one["row"]: one["padded_tokens"] for one in run.records().values()}
        self.assertEqual(padded, {0: None, 1: 3, 2: -4})
        live = run.json("summary.json")["live"]
        self.assertEqual((live["filled"], live["filled_tokens"], live["over"], live["over_tokens"]),
                         (1, 3, 1, 4))  # fmt: skip

    def test_an_answer_that_failed_ends_its_conversation(self):
        def say(row, _body):
            return {"deltas": [{"content": "a"}], "status": 500 if row == 1 else 200}

        asked, run = self.replay_live(self.lmcache(sessions=2, turns=4), say, "--assistant", "live",
                                      "--output", "cap")  # fmt: skip
        self.assertEqual(set(asked), {0, 1, 4, 5, 6, 7})
        self.assertEqual(run.json("summary.json")["dropped"], 2)

    def test_the_mock_knows_every_answer(self):
        """Many conversations at once, users, and a server that remembers what it has said."""
        for flags in (("--sessions", "closed"), ("--users", "7", "--user-ramp", "20ms")):
            log = self.scratch / f"mock{self.runs}.jsonl"
            with mock("--itl", "1ms", "--check-history", "100000", "--log", log) as server:
                run = self.replay_well(self.lmcache(sessions=30, turns=6, gap=0.002), "--url", server.url,
                                       "--header", "X-Session-ID: {session}", "--assistant", "live", *flags)
            found = [line["history"] for line in read_jsonl(log) if row_of(line["request_id"]) is not None]
            self.assertEqual(sum(one["known"] for one in found), 30 * 15)
            self.assertEqual(sum(one["elsewhere"] + one["unknown"] for one in found), 0)
            records = list(run.records().values())
            self.assertEqual(sum(one["live_turns"] or 0 for one in records), 30 * 15)
            self.assertEqual({one["outcome"] for one in records}, {"ok"})

    def test_traces_without_answers_are_live_by_themselves(self):
        for name in ("live.jsonl", "multi_turn.jsonl", "sglang.json"):
            with mock("--check-history", "1000", "--log", self.scratch / name) as server:
                run = self.replay_well(TALKS / name, "--url", server.url, "--sessions", "closed",
                                       "--output", "cap")  # fmt: skip
            live = run.json("summary.json")["live"]
            self.assertGreater(live["turns"], 0, name)
            known = sum(line["history"]["known"] for line in read_jsonl(self.scratch / name))
            self.assertEqual(known, sum(one["live_turns"] or 0 for one in run.records().values()))

    def test_texts_of_sessions_are_live_by_themselves(self):
        """As AIPerf sends them: all texts and answers before, then the row's own."""
        texts = [("a", "one two three four"), ("a", "five six"), ("b", "seven"), ("a", "eight")]
        trace = self.scratch / "texts.jsonl"
        trace.write_text("".join(json.dumps({"session_id": session, "text_input": text, "output_length": 5})
                                 + "\n" for session, text in texts))  # fmt: skip
        with mock("--check-history", "1000") as server:
            run = self.replay_well(trace, "--url", server.url, "--users", "2")
        self.assertIn("2 texts are only what is new in their sessions", run.said)
        records = run.records()
        self.assertEqual([records[row]["prompt_tokens"] for row in range(4)],
                         [4, 4 + 5 + 2, 1, 4 + 5 + 2 + 5 + 1])  # fmt: skip

    def test_recorded_conversations_may_be_live(self):
        for name in ("sharegpt.json", "vllm.json", "isb1.json"):
            with mock("--check-history", "1000", "--log", self.scratch / name) as server:
                run = self.replay_well(TALKS / name, "--url", server.url, "--users", "2", "--assistant",
                                       "live", "--default-output", "8", "--output", "cap")  # fmt: skip
            self.assertGreater(run.json("summary.json")["live"]["turns"], 0, name)
            lines = read_jsonl(self.scratch / name)
            self.assertEqual(sum(line["history"]["unknown"] for line in lines), 0)

    def test_what_cannot_be_live_is_refused(self):
        trace = self.lmcache()
        words = {
            ("--sessions", "open"): "add --sessions closed or --users N",
            ("--sessions", "closed", "--api", "openai-completions"): "remove --api",
            ("--users", "1", "--start-within", "0:1"): "remove --start-within",
            ("--sessions", "closed", "--save-prompts", self.scratch / "p"): "remove --save-prompts",
        }
        for flags, said in words.items():
            run = self.replay(trace, "--url", "http://127.0.0.1:9", "--assistant", "live", *flags)
            self.assertEqual(run.code, 2, run.complained)
            self.assertIn(said, run.complained)
        run = self.replay(SAMPLE, "--url", "http://127.0.0.1:9", "--assistant", "live", "--dry-run")
        self.assertEqual(run.code, 2)
        self.assertIn("the trace has no messages", run.complained)
        run = self.replay(TALKS / "live.jsonl", "--url", "http://127.0.0.1:9", "--assistant", "recorded",
                          "--sessions", "closed")  # fmt: skip
        self.assertEqual(run.code, 2)
        self.assertIn("the trace has no answers", run.complained)


if __name__ == "__main__":
    unittest.main()
