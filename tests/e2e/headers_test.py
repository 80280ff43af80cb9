"""Heads: what each row says of itself to the server, and what of an answer's head is recorded."""

import json
import re
import unittest

from harness import Case, SAMPLE, id_of, mock, read_jsonl, row_of
from keeper import keeper

FAST = ("--ttft", "1ms", "--itl", "0", "--cache-block", "512")
SOME = ("--limit", 40, "--speed", 50)
WEKA = SAMPLE.parent / "traces" / "weka"


INPUT_REFUSED = 3


class Heads(Case):
    def test_fields_of_answers_are_recorded(self):
        """As the server sent them, under the name that was asked for; refusals have heads, too."""
        with mock(*FAST, "--pod", 'llama "7"', "--fault-row", "429:3", "--fault-row",
                  "refuse:4") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, *SOME, "--record-header",
                                   "X-Request-ID", "--record-header", "Target-Pod",
                                   "--record-header", "X-None")
        run_id = run.json("run.json")["run_id"]
        for row, record in run.records().items():
            said = {"X-Request-ID": id_of(run_id, row), "Target-Pod": 'llama "7"', "X-None": None}
            if row == 4:  # closed before any byte
                said = dict.fromkeys(said)
            self.assertEqual(record["headers"], said, record)
        self.assertEqual(run.records()[3]["outcome"], "http_429")

    def test_aibrix_names_its_pods(self):
        with mock(*FAST, "--pod", "llama-7") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, *SOME, "--api", "aibrix")
            plain = self.replay_well(SAMPLE, "--url", server.url, *SOME)
        for record in run.records().values():
            self.assertEqual(record["headers"], {
                "target-pod": "llama-7", "target-pod-ip": None, "request-id": None
            })
        for record in plain.records().values():
            self.assertEqual(record["headers"], {})

    def truth(self, server_flags, *flags):
        """A run, and the mock's log of it by row."""
        log = self.scratch / f"truth{self.runs}.jsonl"
        with mock(*FAST, *server_flags, "--log", log) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, *SOME, *flags)
        return run, {entry["row"]: entry for entry in read_jsonl(log) if entry["row"] is not None}

    def test_every_row_has_a_trace(self):
        """The one that its record names; another in every row and run; none unless asked for."""
        run, truth = self.truth((), "--traceparent")
        seen = set()
        for row, record in run.records().items():
            said = re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-01", truth[row]["traceparent"])
            self.assertEqual(said[1], record["trace_id"])
            seen.add(said[1])
        again, _ = self.truth((), "--traceparent")
        seen.update(record["trace_id"] for record in again.records().values())
        self.assertEqual(len(seen), 80)
        plain, truth = self.truth(())
        for row, record in plain.records().items():
            self.assertIsNone(record["trace_id"])
            self.assertIsNone(truth[row]["traceparent"])

    def test_ids_are_the_runs(self):
        """X-Request-Id is run and row; no probe has the id of a row."""
        run, truth = self.truth(())
        run_id = run.json("run.json")["run_id"]
        self.assertEqual({entry["request_id"] for entry in truth.values()},
                         {id_of(run_id, row) for row in range(40)})

    def trace(self, *rows):
        """Short rows, 1 ms apart, with these further columns."""
        lines = [
            json.dumps({"timestamp": at, "input_length": 9, "output_length": 1, "hash_ids": [at],
                        **columns})
            for at, columns in enumerate(rows)
        ]
        return self.write(f"trace{self.runs}.jsonl", "\n".join(lines) + "\n")

    BLIND = ("--no-preflight", "--model", "m")

    def test_rows_have_headers_of_their_own(self):
        trace = self.trace({"session_id": "chat 1", "team": "red \u00e4"}, {"team": 7},
                           {"session_id": "chat 1"}, {"session_id": "b", "team": None})
        with keeper() as server:
            run = self.replay_well(trace, "--url", server.url, *self.BLIND, "--keep", "team",
                                   "--format", "mooncake",
                                   "--header", "X-Session: {session}", "--header", "X-All: {{row}}",
                                   "--header", "X-Team: {kept.team}/{row}")
        sessions = {row: record["session"] for row, record in run.records().items()}
        self.assertEqual(sessions, {0: "chat 1", 1: None, 2: "chat 1", 3: "b"})
        teams = {0: "red \u00e4/0", 1: "7/1"}
        self.assertEqual(len(server.kept), 4)
        for _, head, _ in server.kept:
            row = row_of(head["X-Request-Id"])
            self.assertEqual(head.get("X-Session"), sessions[row])
            team = head.get("X-Team")
            self.assertEqual(team and team.encode("latin-1").decode(), teams.get(row))
            self.assertEqual(head["X-All"], "{row}")
        self.assertGreater(run.json("run.json")["end"]["memory"]["row_header_bytes"], 0)

    def test_ids_of_the_users_own(self):
        """Where a row has one; the others keep ours."""
        trace = self.trace({"session_id": "a"}, {})
        with keeper() as server:
            run = self.replay_well(trace, "--url", server.url, *self.BLIND, "--header",
                                   "X-Request-Id: {session}-{row}")
        ids = {head["X-Request-Id"] for _, head, _ in server.kept}
        self.assertEqual(ids, {"a-0", id_of(run.json("run.json")["run_id"], 1)})

    def test_routers_know_who_plays(self):
        """Session, pass, tree, parent and user of each request, as its record has them; twice the
        same. A session without a parent sends no such header."""
        heads = []
        for _ in range(2):
            with keeper() as server:
                run = self.long_enough(
                    lambda seconds: self.replay_well(
                        WEKA, "--url", server.url, *self.BLIND, "--speed", 100, "--users", 1,
                        "--recycle", "--for", f"{seconds}s", "--session-headers", "agentx",
                        "--header", "X-Where: {tree} {pass} {user}"),
                    lambda run: max(one["pass"] for one in
                                    read_jsonl(run.folder / "requests.jsonl")) > 0, 0.4)
            records = {(one["pass"], one["row"]): one
                       for one in read_jsonl(run.folder / "requests.jsonl")}
            seen = {}
            run_id = run.json("run.json")["run_id"]
            for _, head, _ in server.kept:
                name = head["X-Request-Id"]
                if not name.startswith(run_id):
                    continue  # of a run that was too short
                record = records[int(name[9:13] + name[15:18]), row_of(name)]
                session = f"{record['session']}-{record['pass']}"
                for name in ("X-Correlation-ID", "X-Session-ID", "X-Session-Affinity",
                             "X-SMG-Routing-Key", "X-Dynamo-Session-ID"):
                    self.assertEqual(head[name], session)
                parent = None if record["session"] == record["tree"] else record["tree"]
                self.assertEqual(head.get("X-Dynamo-Parent-Session-ID"),
                                 parent and f"{parent}-{record['pass']}")
                self.assertEqual(head["X-Where"],
                                 f"{record['tree']} {record['pass']} {record['user']}")
                seen[record["pass"], record["row"]] = {
                    name: value for name, value in head.items()
                    if name.startswith("X-") and name != "X-Request-Id"}
            self.assertGreater(max(number for number, _ in seen), 0)
            self.assertTrue(any("X-Dynamo-Parent-Session-ID" in head for head in seen.values()))
            heads.append(seen)
        for place in heads[0].keys() & heads[1].keys():
            self.assertEqual(heads[0][place], heads[1][place])

    def test_no_row_begins_another_header(self):
        """Refused with file, line and value before a byte leaves, also of a dry run."""
        trace = self.trace({"session_id": "a"}, {"session_id": "b\r\nX-Evil: 1"},
                           {"session_id": "c\x00"})
        with keeper() as server:
            for flags in (("--url", server.url, *self.BLIND), ("--dry-run",)):
                run = self.replay(trace, *flags, "--header", "X-Session: {session}")
                self.assertEqual(run.code, INPUT_REFUSED)
                for part in (f"{trace.name}:2: session ", r'"b\r\nX-Evil: 1"', ":3: session",
                             "leave {session} out of --header X-Session"):
                    self.assertIn(part, run.complained)
                self.assertFalse(run.folder.exists())
            self.assertEqual(server.kept, [])
            self.replay_well(trace, "--url", server.url, *self.BLIND)  # no harm without the header


if __name__ == "__main__":
    unittest.main(verbosity=2)
