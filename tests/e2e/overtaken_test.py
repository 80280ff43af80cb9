"""Open replay tells the truth: turns that leave before the turn before them has ended are counted, by
the instants in requests.jsonl, and the screen says what to do."""

import json
import re
import subprocess
import time
import unittest

from harness import Case, DRIFTLESS, SECONDS_MAX, agentic, mock, read_jsonl, waits_of

OPEN = ("--sessions", "open")
CLOSED = ("--sessions", "closed")


def answers_before(rows):
    """The rows whose answers each row waits for."""
    numbers = {name: number for number, (name, _, _) in enumerate(rows)}
    return {
        number: [numbers[name] for name, trigger in waits_of(parents) if trigger == "completion"]
        for number, (_, parents, _) in enumerate(rows)
    }


def chain(session, turns, delays_ms):
    """Turns that each wait for the answer before them, in turn for so long behind it."""
    rows = [(f"{session}0", [], 0)]
    for turn in range(1, turns):
        rows.append((f"{session}{turn}", [f"{session}{turn - 1}"],
                     delays_ms[turn % len(delays_ms)]))
    return rows


class Overtaken(Case):
    def check(self, folder, before):
        """Each record, and the summary's count; returns both."""
        lines = read_jsonl(folder / "requests.jsonl")
        place = {record["row"]: number for number, record in enumerate(lines)}
        for record in lines:
            known = [lines[place[row]] for row in before.get(record["row"], [])]
            wanted = any(not self.had_ended(turn, record, place) for turn in known)
            lost = record["fired_ns"] is None or record["ended_ns"] is None
            vague = not wanted and any(turn["ended_ns"] is None for turn in known)
            if lost or vague or not known:
                wanted = None
            self.assertEqual(record["overtaken"], wanted, record)
        told = [record["overtaken"] for record in lines if record["overtaken"] is not None]
        summary = json.loads((folder / "summary.json").read_text())
        self.assertEqual(summary["follow_up_turns"], len(told))
        self.assertEqual(summary["overtaken_turns"], sum(told) if told else None)
        return {record["row"]: record for record in lines}, summary

    def had_ended(self, turn, record, place):
        """What has no end was open, or nobody knows of it. Segments follow one another, though
        their instants may overlap."""
        if turn["ended_ns"] is None:
            return place[turn["row"]] < place[record["row"]]
        if turn["segment"] != record["segment"]:
            return turn["segment"] < record["segment"]
        return record["fired_ns"] is None or turn["ended_ns"] <= record["fired_ns"]

    def report(self, folder, *flags):
        return subprocess.run([DRIFTLESS, "report", str(folder), *flags], check=True,
                              capture_output=True, text=True, timeout=SECONDS_MAX).stdout

    def said(self, text):
        """The line of the screen, joined; None: there is none."""
        found = re.search(r"^Overtaken +(.*\n(?: +.*\n)*)", text, re.MULTILINE)
        return " ".join(found.group(1).split()) if found else None

    def test_a_slow_server(self):
        """Short gaps are overtaken, long ones are not, and rows that never waited say nothing."""
        rows = [*chain("a", 5, (2000, 20)), *chain("b", 5, (20, 2000)),
                ("c0", [], 0), ("c1", [("c0", "dispatch")], 5),
                ("c2", ["c0", "c1"], 20)]  # fmt: skip
        trace = self.write("t.jsonl", agentic(rows))
        with mock("--ttft", "400ms", "--itl", "5ms") as server:
            run = self.replay_well(trace, "--url", server.url, *OPEN)
            waited = self.replay_well(trace, "--url", server.url, *CLOSED)
            full = self.replay_well(trace, "--url", server.url, *OPEN, "--table", "full")
        records, summary = self.check(run.folder, answers_before(rows))
        self.assertEqual(summary["follow_up_turns"], 9)
        self.assertEqual([records[row]["overtaken"] for row in (1, 3, 7, 9)], [True] * 4)
        self.assertEqual([records[row]["overtaken"] for row in (2, 4, 6, 8)], [False] * 4)
        self.assertIsNone(records[11]["overtaken"])
        self.assertTrue(records[12]["overtaken"])
        self.assertEqual(summary["run"]["trace_dependencies"], 11)
        self.assertEqual(self.said(run.said),
                         "5 of 9 turns were sent before the previous turn had ended; --sessions "
                         "closed lets turns wait for answers")
        self.assertIn("Turns sent before the last ended:        5 of 9\n", full.said)
        self.assertEqual(self.report(run.folder, "--json"),
                         (run.folder / "summary.json").read_text())
        self.assertEqual(self.said(self.report(run.folder)), self.said(run.said))
        _, summary = self.check(waited.folder, answers_before(rows))
        self.assertEqual((summary["follow_up_turns"], summary["overtaken_turns"]), (9, 0))
        self.assertIsNone(self.said(waited.said))

    def test_sessions_without_waits(self):
        """The row before it in its session; the remedy is not possible."""
        header = {"schema": "driftless.trace", "version": 1, "block_size": 0}
        sessions = ("a", "b", "a", None, "a", "b", "b")
        rows = [
            {"at_ns": 30_000_000 * number, "input_length": 100, "output_length": 4,
             **({"session": session} if session else {})}
            for number, session in enumerate(sessions)
        ]  # fmt: skip
        trace = self.write("t.jsonl", "".join(json.dumps(row) + "\n" for row in (header, *rows)))
        with mock("--ttft", "400ms", "--itl", "1ms") as server:
            run = self.replay_well(trace, "--url", server.url)
        _, summary = self.check(run.folder, {2: [0], 4: [2], 5: [1], 6: [5]})
        self.assertEqual(summary["follow_up_turns"], 4)
        self.assertGreaterEqual(summary["overtaken_turns"], 3)
        self.assertEqual(summary["run"]["trace_dependencies"], 0)
        self.assertIn("turns were sent before the previous turn had ended; the trace does not "
                      "record what they waited for; --users N lets each turn of a session wait for the one before",
                      self.said(run.said))

    def test_killed_and_resumed(self):
        """Turns of the second segment come after answers of the first; what was lost is not known.
        Records of before there was the key say nothing."""
        rows = [row for session in "abcdefgh" for row in chain(session, 20, (20, 150))]
        trace = self.write("t.jsonl", agentic(rows))
        with mock("--ttft", "40ms", "--itl", "5ms") as server:
            process, folder = self.start(trace, "--url", server.url, *OPEN)
            while not (folder / "requests.jsonl").read_text().count("\n") >= 30:
                time.sleep(0.01)  # until some rows of each kind have a record
            process.kill()
            process.communicate()
            done = subprocess.run([DRIFTLESS, "replay", "--resume", str(folder)], check=False,
                                  capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        before = answers_before(rows)
        records, summary = self.check(folder, before)
        over = [row for row, turns in before.items() if turns and records[row]["segment"] == 1
                and records[turns[0]]["segment"] == 0]  # fmt: skip
        self.assertGreater(len(over), 0)
        self.assertGreater(summary["overtaken_turns"], 0)
        self.assertEqual(self.report(folder, "--json"), (folder / "summary.json").read_text())
        self.forget_overtaking(folder)
        old = json.loads(self.report(folder, "--json"))
        self.assertEqual((old["follow_up_turns"], old["overtaken_turns"]), (0, None))
        self.assertIsNone(self.said(self.report(folder)))

    def forget_overtaking(self, folder):
        """As records of schema 8 are."""
        path = folder / "requests.jsonl"
        path.write_text(re.sub(r'"overtaken":(true|false|null),', "", path.read_text()))


if __name__ == "__main__":
    unittest.main()
