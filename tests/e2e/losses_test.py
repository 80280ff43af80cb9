"""Packets that are lost on the way, in a network of its own: the rows whose request was lost are
told and tainted, and no other row came to the server late."""

import json
import subprocess
import unittest
from urllib.parse import urlsplit

from harness import DRIFTLESS, SECONDS_MAX, Case, Server, mock, read_jsonl
from own_network import leave_for_own_network, lose

ROWS = 200
LATE_NS = 150_000_000  # TCP sends again after 200 ms at the earliest, or by a probe


class Losses(Case):
    def trace(self):
        rows = [
            {"timestamp": 10 * i, "input_length": 400, "output_length": 3, "hash_ids": [i]}
            for i in range(ROWS)
        ]
        return self.write("trace.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def test_lost_requests_are_told(self):
        reason = leave_for_own_network()
        if reason:
            self.skipTest(reason)
        log = self.scratch / "mock.jsonl"
        with mock("--itl", "1ms", "--log", log) as server:
            reason = lose(urlsplit(server.url).port, 0.06)
            if reason:
                self.skipTest(reason)
            run = self.replay_well(self.trace(), "--url", server.url, "--no-preflight",
                                   "--model", "mock-model")
        zero = run.json("run.json")["clock"]["zero_monotonic_ns"]
        came = {line["row"]: line["start_ns"] - zero for line in read_jsonl(log)}
        records = run.records()
        self.assertEqual(len(records), ROWS)
        lost = [row for row, record in records.items() if "retransmitted" in (record["tainted"] or [])]
        self.assertGreater(len(lost), 0)
        self.assertLess(len(lost), ROWS / 2)
        for row, record in records.items():
            self.assertIsNotNone(record["retransmits"])
            if row in lost:
                self.assertGreater(record["retransmits"], 0)
            else:
                self.assertLess(came[row] - record["fired_ns"], LATE_NS, record)
        summary = run.json("summary.json")
        self.assertEqual(summary["retransmits"]["rows_late"], len(lost))
        self.assertEqual(
            summary["retransmits"]["segments"],
            sum(record["retransmits"] for record in records.values()),
        )
        self.assertEqual(summary["retransmits"]["rows_unknown"], 0)
        if summary["client"]["taken_share_max"] <= 0.1:  # else other lateness is told first
            self.assertIn("the network may have lost a part", " ".join(summary["verdict"]["reasons"]))
        told = subprocess.run(
            [DRIFTLESS, "report", str(run.folder), "--json"],
            capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
        )
        self.assertEqual(told.stdout, (run.folder / "summary.json").read_text())

    def test_over_a_unix_socket_nothing_is_known(self):
        path = self.scratch / "s"
        with Server(DRIFTLESS, "mock", "--listen", f"unix:{path}", "--itl", "1ms"):
            run = self.replay_well(self.trace(), "--url", f"unix:{path}", "--limit", 5)
        self.assertEqual({record["retransmits"] for record in run.records().values()}, {None})


if __name__ == "__main__":
    unittest.main(verbosity=2)
