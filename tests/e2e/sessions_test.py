"""The mock's log says whose requests came, when, and whether their history is what it had answered."""

import http.client
import json
import unittest

from harness import Case, agentic, mock, read_jsonl, row_of

MS = 1_000_000


class Client:
    """A client of chats on one connection: it keeps the history itself."""

    def __init__(self, url, session):
        self.session = session
        self.connection = http.client.HTTPConnection(url.removeprefix("http://"))
        self.messages = []
        self.asked = 0

    def ask(self, **reply_instead):
        """One more turn. The reply goes into the history, or `content` goes there instead."""
        self.messages.append({"role": "user", "content": f"and {self.asked}"})
        self.connection.request(
            "POST", "/v1/chat/completions",
            json.dumps({"messages": self.messages, "max_tokens": 12}),
            {"X-Request-Id": f"{self.session}-{self.asked}", "X-Session-ID": self.session},
        )  # fmt: skip
        self.asked += 1
        answer = json.loads(self.connection.getresponse().read())
        reply = {"role": "assistant", "content": answer["choices"][0]["message"]["content"]}
        self.messages.append({**reply, **reply_instead})

    def close(self):
        self.connection.close()


class Sessions(Case):
    def sessions_of(self, *flags):
        """The mock's lines of a replay of three sessions of four turns, by session and row."""
        rows = []
        for turn in range(4):
            for session in "abc":
                before = [f"{session}{turn - 1}"] if turn else []
                rows.append((f"{session}{turn}", before, 0))
        trace = self.write("agents.jsonl", agentic(rows))
        log = self.scratch / f"mock{self.runs}.jsonl"
        with mock("--ttft", "3ms", "--itl", "10ms", "--batch-slowdown", "0.5", "--log", log) as server:
            self.replay_well(trace, "--url", server.url, "--header", "X-Session-ID: {session}", *flags)
        sessions = {}
        for line in read_jsonl(log):
            row = row_of(line["request_id"])
            if row is not None:
                sessions.setdefault(line["session"]["X-Session-ID"], {})[row] = line
        self.assertEqual([len(turns) for turns in sessions.values()], [4, 4, 4])
        return [[line for _, line in sorted(turns.items())] for turns in sessions.values()]

    @staticmethod
    def overtaken(turns):
        """Turns that began before the one before them had ended."""
        return sum(b["start_ns"] < a["end_ns"] for a, b in zip(turns, turns[1:]))

    def test_no_turn_begins_before_its_parents_end(self):
        """Proven from the mock's log alone: session, row, begin, first token and end of each."""
        for turns in self.sessions_of("--sessions", "closed"):
            self.assertEqual(self.overtaken(turns), 0)
            for line in turns:
                self.assertLessEqual(line["start_ns"], line["begin_ns"])
                self.assertGreaterEqual(line["begin_ns"] - line["last_byte_ns"], 3 * MS)
                self.assertLessEqual(line["begin_ns"], line["first_due_ns"])
                self.assertLessEqual(line["first_due_ns"], line["token_ns"][0])
                self.assertLessEqual(line["token_ns"][-1], line["end_ns"])
        for turns in self.sessions_of("--sessions", "open"):  # no gap was recorded: all at once
            self.assertEqual(self.overtaken(turns), 3)

    def test_histories_are_checked(self):
        log = self.scratch / "mock.jsonl"
        with mock("--ttft", "0", "--itl", "0", "--check-history", 1000, "--log", log) as server:
            live, recorded = Client(server.url, "live"), Client(server.url, "recorded")
            for _ in range(5):
                live.ask()
                recorded.ask(content="what somebody else had answered")
            thief = Client(server.url, "thief")
            thief.messages = list(live.messages)
            thief.ask()
            for client in (live, recorded, thief):
                client.close()
        found = {line["request_id"]: line["history"] for line in read_jsonl(log)}
        for turn in range(5):
            self.assertEqual(found[f"live-{turn}"], {"known": turn, "elsewhere": 0, "unknown": 0})
            self.assertEqual(found[f"recorded-{turn}"],
                             {"known": 0, "elsewhere": 0, "unknown": turn})  # fmt: skip
        self.assertEqual(found["thief-0"], {"known": 0, "elsewhere": 5, "unknown": 0})


if __name__ == "__main__":
    unittest.main(verbosity=2)
