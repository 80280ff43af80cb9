"""Users in front of a server that fails in every way: each failure is a record, ends its tree or is sent again,
and no user is held up by it."""

import json
import unittest

from harness import Case
from raw_server import DONE, OPEN, RawServer, chunk, stream, token, usage

BLIND = ("--no-preflight", "--model", "m")
ASKED = 4
GOOD = stream(token(), token(), token(), token(), usage(64, ASKED), DONE)


def reset(peer):
    peer.hang_up()


def cut(peer):
    """In the middle of the stream."""
    peer.say(OPEN + chunk(token()) + chunk(token()))
    peer.hang_up()


def never_ends(peer):
    peer.say(OPEN)
    peer.say_until_told_to_stop(chunk(token()))


def silent(peer):
    """The head and a token, and then nothing until the client leaves."""
    peer.say(OPEN + chunk(token()))
    peer.connection.recv(1)


TOO_LONG = '{"error": {"message": "This model\'s maximum context length is 32 tokens."}}'
OVERFLOW = (f"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(TOO_LONG)}\r\n\r\n{TOO_LONG}").encode()
# The second turn of each tree: (what the server does, outcome).
FAILURES = {
    "reset before the answer": (reset, "truncated"),
    "cut in the middle": (cut, "truncated"),
    "context overflow": (OVERFLOW, "http_4xx"),
    "empty reply": (stream(usage(64, 0), DONE), "no_tokens"),
    "never ends": (never_ends, "limit_exceeded"),
    "silent": (silent, "timeout_idle"),
}
# A 200 whose content is wrong has ended: its content is read later.
GOES_ON = {"empty reply"}
TURNS = 3


class UsersFailures(Case):
    def setUp(self):
        super().setUp()
        self.trace = self.scratch / "trees.jsonl"
        with open(self.trace, "w", encoding="utf-8") as out:
            for tree in range(len(FAILURES)):
                for turn in range(TURNS):
                    row = {"input_length": 64, "output_length": ASKED, "session_id": f"s{tree}"}
                    row |= {"timestamp": tree} if turn == 0 else {"delay": 1}
                    out.write(json.dumps(row) + "\n")

    def play(self, *flags):
        answers = {}
        for tree, (answer, _) in enumerate(FAILURES.values()):
            answers |= {tree * TURNS: GOOD, tree * TURNS + 1: answer, tree * TURNS + 2: GOOD}
        with RawServer(answers) as server:
            run = self.replay_well(self.trace, "--format", "mooncake", "--url", server.url, *BLIND,
                                   "--users", 2, "--timeout-idle", "500ms", *flags)
        return run

    def test_each_failure_ends_its_tree(self):
        run = self.play()
        records = run.records()
        self.assertEqual(len(records), len(FAILURES) * TURNS)
        for tree, (name, (_, outcome)) in enumerate(FAILURES.items()):
            with self.subTest(name):
                first, failed, last = (records[tree * TURNS + turn] for turn in range(TURNS))
                self.assertEqual(first["outcome"], "ok")
                self.assertEqual(failed["outcome"], outcome, failed["error"])
                self.assertEqual(last["outcome"], "ok" if name in GOES_ON else "not_sent")
        overflow = records[list(FAILURES).index("context overflow") * TURNS + 1]
        self.assertIn("maximum context length", overflow["error"])
        self.assertEqual(run.json("summary.json")["outcomes"]["not_sent"],
                         len(FAILURES) - len(GOES_ON))

    def test_what_fails_is_sent_again_as_often_as_asked(self):
        run = self.play("--on-failure", "retry:1")
        lines = [json.loads(line) for line in (run.folder / "requests.jsonl").read_text().splitlines()]
        for tree, name in enumerate(FAILURES):
            tries = [one["attempt"] for one in lines if one["row"] == tree * TURNS + 1]
            self.assertEqual(sorted(tries), [0] if name in GOES_ON else [0, 1], name)
        self.assertEqual(run.json("summary.json")["retries"], len(FAILURES) - len(GOES_ON))


if __name__ == "__main__":
    unittest.main()
