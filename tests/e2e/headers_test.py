"""What each row says of itself to the server, in its head and body; and what of an answer's head is
recorded."""

import json
import re
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, id_of, mock, read_jsonl, row_of
from keeper import keeper, kept_bodies

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

    # What breaks texts that are put together by hand.
    HOSTILE = ('"', "\\", '\\"}', "a\nb\r\n\t", "\x00\x01\x02\x1f", "/\x01/", "\u00e4\u2028\U0001f600", "{row}", "{{x}}",
               "{% if %}", '","stream":false,"x":"', "", "x" * 300_000)  # fmt: skip
    MEMBERS = {"alone": "{kept.a.v}", "among": "<{kept.a.v}|{row}>", "n": "{row}", "other": "{kept.a.o}", "same": "{{row}}",
               "in": {"list": ["{session}", "{kept.a.v}", 1], "{row}": None}}  # fmt: skip

    def hostile_rows(self):
        """A trace, and the members that each of its rows has by MEMBERS."""
        values = [*self.HOSTILE, 7, -1.5, True, None, [1, "}"], {"k": '"'}]
        rows = [{"a": {"v": value, **({"o": "o"} if at % 2 else {})},
                 **({"session_id": f"s {at}"} if at % 3 else {})} for at, value in enumerate(values)]  # fmt: skip
        rows.append({})  # without a column
        wanted = {}
        for at, row in enumerate(rows):
            value = row.get("a", {}).get("v")
            text = value if isinstance(value, str) else json.dumps(value)
            session = row.get("session_id")
            members = {"n": at, "same": "{row}", "in": {"list": [one for one in (session, value) if one is not None] + [1],
                                                         "{row}": None}}
            if value is not None:
                members.update(alone=value, among=f"<{text}|{at}>")
            if "o" in row.get("a", {}):
                members["other"] = "o"
            wanted[at] = members
        return self.trace(*rows), wanted

    def test_rows_have_members_of_their_own(self):
        """In bodies, whatever their values are; the prompts are those of a run without."""
        trace, wanted = self.hostile_rows()
        flags = (trace, *self.BLIND, "--format", "mooncake", "--keep", "a.v,a.o", "--extra-body", json.dumps(self.MEMBERS))
        plain = (trace, *self.BLIND, "--format", "mooncake", "--keep", "a.v,a.o")
        with keeper() as server:
            self.replay_well(*plain, "--url", server.url)
            before = kept_bodies(server)
            server.kept.clear()
            run = self.replay_well(*flags, "--url", server.url)
            bodies = kept_bodies(server)
        self.assertEqual(bodies.keys(), wanted.keys())
        for row, members in wanted.items():
            self.assertEqual(bodies[row], {**before[row], **members})
        for row, record in run.records().items():
            self.assertEqual(record["outcome"], "ok", row)
        digests = {re.search("digest.*", self.replay_well(*each, "--dry-run").said)[0] for each in (plain, flags)}
        self.assertEqual(len(digests), 1, digests)

    def test_members_after_a_kill(self):
        """A resumed run sends its rows with the same members, and so does one that is repeated."""
        rows = [{"a": {"v": value}} for value in self.HOSTILE[:11] * 3]
        trace = self.trace(*rows)
        with keeper() as server:
            process, folder = self.start(trace, "--url", server.url, *self.BLIND, "--format", "mooncake", "--speed", 0.01,
                                         "--keep", "a.v", "--extra-body", '{"user": "{kept.a.v}/{row}"}')  # fmt: skip
            process.kill()
            process.communicate()
            first = kept_bodies(server)
            self.assertLess(len(first), len(rows), "killed too late")
            for flags in (("--resume", folder), ("--from", folder, "--out", self.scratch / "again")):
                done = subprocess.run([DRIFTLESS, "replay", *map(str, flags)], capture_output=True, text=True,
                                      timeout=SECONDS_MAX, check=False)  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stderr)
                users = {row: body["user"] for row, body in kept_bodies(server).items()}
                self.assertEqual(users, {at: f"{row['a']['v']}/{at}" for at, row in enumerate(rows)})
                server.kept.clear()

    def test_placeholders_that_are_refused(self):
        """With flag, value and remedy, before anything is sent."""
        trace = self.trace({"a": {"v": 1}})
        for flags, said in (
            (("--extra-body", '{"x": ["{rwo}"]}'), "--extra-body: {rwo} is not one of {row}, {session}"),
            (("--extra-body", '{"x": "{kept.a.v}"}'), "--extra-body: {kept.a.v} is a column that is not kept; add --keep a.v"),
            (("--extra-body", '{"x": "{user}"}'), "--extra-body: {user} is the user that sends a row, but there are no users"),
            (("--keep", "a.w", "--extra-body", '{"x": "{kept.a.w}"}'), "--keep \"a.w\" is not a column of any row; columns are "
             "timestamp, input_length, output_length, hash_ids, a.v"),
        ):  # fmt: skip
            run = self.replay(trace, "--url", "http://127.0.0.1:9", *self.BLIND, "--format", "mooncake", *flags)
            self.assertIn(said, run.complained)
            self.assertIn(run.code, (2, INPUT_REFUSED))
            self.assertFalse(run.folder.exists())

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
